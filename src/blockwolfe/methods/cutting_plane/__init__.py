"""Cutting planes: one slack for all examples or one for each, and the bundle method."""
