"""Block I/O: what storage can do before a database uses it."""
