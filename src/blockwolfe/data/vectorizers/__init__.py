"""Tokens, arcs and word pairs made into sparse rows of features."""
