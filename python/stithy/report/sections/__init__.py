"""Sections of the report: instances of `stithy.report.section.SectionKind`."""
