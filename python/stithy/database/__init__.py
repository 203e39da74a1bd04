"""Database engines and their running instances."""
