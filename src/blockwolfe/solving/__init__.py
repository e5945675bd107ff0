"""`solve`: a structured SVM at one lambda, to a certified gap."""
