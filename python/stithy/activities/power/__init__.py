"""Power: what is declared of it, and its section of the report."""
