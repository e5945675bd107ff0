"""Methods without a dual point: subgradient steps on all blocks or on one, and the perceptron."""
