"""Sections of the report, a module or folder each. `NAME` and `sections(page)`; and where it has
them `tables(page)`, `draw(page)` and `claims(page)`, and `NEEDS`, as a figure may.

`sections` yields a `Section`, or nothing where the run has nothing for it. Every format follows.
`tables` yields its tables: each is also a file beside the report, whether a section shows it or
not. `draw` yields figures of its own, made without `page.tables`, because a table may name them.
`claims` yields the names of figures of other sections that stand in this one. `page.drawn_in(NAME)`
has all figures of a section: its own, those of families that name it, and those that it claims.
"""
