"""How outputs of each kind of task are shown, named and measured."""
