"""The ways to back it up: one that is right, and one that is not."""
