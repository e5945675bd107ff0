"""Solvers: settings, the one block loop, stopping."""
