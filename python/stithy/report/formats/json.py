"""The report's answer for programs: what is on its first screen, with all digits."""

import json
from typing import Any

from stithy.report.page import Page
from stithy.report.parts import sensitivity
from stithy.report.parts.other_runs import as_values
from stithy.report.words.loads import provenance

NAME = "json"

VERSION = 1
"""Of this file. 1: the first."""


def make(page: Page, drawings: dict[str, str]) -> bytes:
    """The answer, the levels, verdicts, thresholds and reasons; what is missing is null."""
    del drawings  # figures are files of their own
    tables = ("summary", "verdicts", "orders", "work", "thresholds", "search", "reasons", "missing")
    document = {
        "version": VERSION,
        **_run(page),
        "answer": {
            "headline": page.answer.headline,
            "detail": page.answer.detail,
            "flaws": page.answer.flawed,
            "findings": page.answer.others,
            "support": page.answer.support,
        },
        # `candidates` are their names.
        "candidates_at_level": page.tables["candidates"].frame.to_dicts(),
        **{name: page.tables[name].frame.to_dicts() for name in tables},
        **({"sensitivity": shown} if (shown := sensitivity.as_values(page.context)) else {}),
        **({"runs": as_values(page.pairs)} if page.pairs else {}),
    }
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _run(page: Page) -> dict[str, Any]:
    manifest = page.context.manifest
    return {
        "question": manifest.question if manifest else None,
        "label": page.context.label,
        "footer": page.context.footer,
        "provenance": provenance(manifest),
        "started_at_s": manifest.started_at_s if manifest else None,
        "stithy_version": manifest.stithy_version if manifest else None,
        "seed": manifest.seed if manifest else None,
        "comparability_key": manifest.comparability_key if manifest else None,
        "candidates": list(page.context.evidence.candidates),
    }
