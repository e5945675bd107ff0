"""Rules that any method may go by: which block comes next, which way it moves, and their names."""
