"""What a solver returns: result, status, trace, summary."""
