"""How things are said on every page: numbers, quantities, names; knows no run."""
