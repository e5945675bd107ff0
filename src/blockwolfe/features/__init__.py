"""Feature maps: how parts meet weights."""
