"""A search for the most users within a limit: what is known, which level is next, how it ends."""
