"""Restore methods, a module each: what it is called, which studies may have it, what it costs."""
