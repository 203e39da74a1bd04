"""Durability: power cuts under load, and whether anything acknowledged was lost."""
