"""One file a restore method: what it is called, which studies may have it, what it does."""
