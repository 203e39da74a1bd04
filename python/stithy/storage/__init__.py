"""Storage candidates: providers make volumes for databases."""
