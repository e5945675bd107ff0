"""Steps over all outputs of a block at once, where a block is a simplex of single labels."""
