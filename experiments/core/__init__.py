"""What all experiments share: figures, runs, tables, optima, pictures, pages."""
