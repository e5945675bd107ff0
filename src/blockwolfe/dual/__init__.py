"""The dual point and its algebra: corners, directions, line search, growth, rescaling."""
