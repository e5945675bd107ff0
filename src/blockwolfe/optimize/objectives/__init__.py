"""Smooth convex functions, and the same at a point that moves."""
