"""One file a family of figures."""
