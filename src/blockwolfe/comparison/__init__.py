"""Several methods on one problem, under one budget."""
