"""Kernels between positions: their values, whether they are kernels at all, rows kept in memory."""
