"""Sections of the report: instances of `stithy.report.blocks.SectionKind`."""
