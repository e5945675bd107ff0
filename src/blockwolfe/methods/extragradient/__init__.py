"""Dual extragradient: the structured SVM as a saddle point, on means of outputs."""
