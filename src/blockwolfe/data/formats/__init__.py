"""Kinds of files with examples: each is read for training and prediction, and written back."""
