"""Displays in the manner of scikit-learn: each holds data, and `plot` draws it later."""
