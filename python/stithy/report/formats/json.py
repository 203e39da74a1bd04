"""The report for programs: of each section its facts, tables and figures, with all digits."""

import json
from typing import Any

from stithy.report.blocks import Grid, Picture, Section
from stithy.report.formats import ReportFormat
from stithy.report.page import Page
from stithy.report.words.loads import describe_provenance

VERSION = 3
"""Of this file. 2: by sections; 3: sentences with their values."""


class JsonFormat(ReportFormat):
    """The report for programs."""

    name = "json"

    def make(self, page: Page, drawings: dict[str, str]) -> bytes:
        """The run, and its sections by their keys; what is missing is null."""
        del drawings  # figures are files of their own
        document = {
            "version": VERSION,
            **_describe_run(page),
            "sections": {section.key: _describe_section(section) for section in page.sections},
        }
        return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _describe_section(section: Section) -> dict[str, Any]:
    grids = [
        block.table for block in section.blocks if isinstance(block, Grid) and not block.screen
    ]
    figures = [each.figure for each in section.blocks if isinstance(each, Picture)]
    return {
        "heading": section.contents or section.heading,
        "facts": dict(section.facts),
        "statements": [
            {"text": statement, "row": row, "values": values}
            for statement, row in section.list_statements()
            if (values := list(statement.list_facts()))
        ],
        "tables": {grid.name: grid.frame.to_dicts() for grid in (*grids, *section.data)},
        "figures": {figure.name: figure.title for figure in figures},
    }


def _describe_run(page: Page) -> dict[str, Any]:
    manifest = page.context.manifest
    return {
        "question": manifest.question if manifest else None,
        "label": page.context.label,
        "footer": page.context.footer,
        "provenance": describe_provenance(manifest),
        "started_at_s": manifest.started_at_s if manifest else None,
        "stithy_version": manifest.stithy_version if manifest else None,
        "seed": manifest.seed if manifest else None,
        "comparability_key": manifest.comparability_key if manifest else None,
        "candidates": list(page.context.evidence.candidates),
    }


PLUGINS = (JsonFormat(),)
