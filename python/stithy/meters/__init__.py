"""Meters: what tells watts, a file each."""
