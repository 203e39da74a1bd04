"""Collectors sample one source each, once a second."""
