"""A study turned into ordered steps with their cost; never changes the machine."""
