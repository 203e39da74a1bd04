"""A run that was cut off goes on: from its journal and its results alone."""
