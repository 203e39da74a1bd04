"""Drives measured: what a device or a file really does, and the profile that follows from it."""
