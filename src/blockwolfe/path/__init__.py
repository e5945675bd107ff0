"""The regularisation path: one solve for every lambda, and choosing lambda with it."""
