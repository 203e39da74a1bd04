"""The rules, one module a subject; each module lists its own in `RULES`."""
