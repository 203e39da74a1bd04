"""Formats of the report: one module each, with `NAME` and `make(page, drawings)`.

`NAME` is what the command line calls it and how its file ends. `make` gives the file's bytes from
the `Page` and the figures' SVG by name; the same of both give the same bytes.
"""
