"""A family of checks of a window in each file, with their flags."""
