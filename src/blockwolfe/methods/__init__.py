"""Methods: what one is, the registry of all, and a file or folder for each family."""
