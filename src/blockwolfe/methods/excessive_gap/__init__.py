"""Nesterov's excessive gap technique, on the primal smoothed by entropy."""
