"""Formats of the report: instances of `ReportFormat`, a module each."""

from typing import TYPE_CHECKING

from stithy.registry import Family, Plugin

if TYPE_CHECKING:
    from stithy.report.page import Page


class ReportFormat(Plugin):
    """A format; `name` is what the command line calls it and how its file ends."""

    family = Family(package="report.formats")

    def make(self, page: "Page", drawings: dict[str, str]) -> bytes:
        """Make the file from the page and its figures' SVG by name; equal input, equal bytes."""
        raise NotImplementedError
