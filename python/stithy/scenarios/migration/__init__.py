"""Migration: the database moves to other storage while its users work."""
