"""The parts of a page that are words and tables: one thing each, made of the context."""
