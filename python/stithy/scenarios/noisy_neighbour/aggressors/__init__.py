"""What the neighbour may do, an aggressor in each file; `aggressor.py` is their interface."""
