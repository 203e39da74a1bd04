"""A second way from a run's rawest files to its numbers, without any of the product's code."""
