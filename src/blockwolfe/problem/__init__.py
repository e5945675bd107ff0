"""The problem as blocks: state, certificate, checks."""
