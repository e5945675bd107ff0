"""The datasets of the papers, one file each, and generated ones."""
