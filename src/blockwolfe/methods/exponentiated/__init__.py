"""Methods on Gibbs distributions over outputs: exponentiated gradient steps."""
