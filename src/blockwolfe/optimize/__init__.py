"""The general form: a smooth convex function over a product of sets with linear oracles."""
