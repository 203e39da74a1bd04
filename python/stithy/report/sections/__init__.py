"""Sections of the report, a module each: `NAME`, `sections(page)`, and where it has tables
`tables(context)`.

`sections` yields a `Section`, or nothing where the run has nothing for it. The page, its contents
and print follow. Every table is also a file beside the report, whether a section shows it or not.
"""
