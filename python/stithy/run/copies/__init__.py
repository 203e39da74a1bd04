"""The databases on volumes: loaded once, kept as master copy, put back before each window."""
