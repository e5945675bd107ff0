"""What a reader sees: displays for matplotlib, the HTML page, and outputs of each kind of task."""
