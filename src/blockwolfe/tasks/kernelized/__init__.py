"""Tasks whose node inputs meet weights through a kernel."""
