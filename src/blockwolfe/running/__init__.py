"""The loop around any method: budgets, certificates, checkpoints, events, progress."""
