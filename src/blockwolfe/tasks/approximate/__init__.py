"""Approximate oracles: a wrapper for any task, and the ways in which outputs may be found."""
