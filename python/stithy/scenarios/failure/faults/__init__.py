"""The faults, by what they break."""
