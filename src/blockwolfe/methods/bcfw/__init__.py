"""Block-coordinate Frank-Wolfe: settings, sampling, steps, cache, visits, passes."""
