"""What is written from the model of the study file is kept with it, and current."""

import json
from pathlib import Path

from stithy.study.keys import reference_page, study_schema
from support import golden


def test_the_json_schema_is_current(root: Path, accept_golden: bool) -> None:
    """Editors complete what the model accepts."""
    text = json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"
    golden.same(root / "studies" / "study.schema.json", text, accept_golden)


def test_the_reference_page_is_current(root: Path, accept_golden: bool) -> None:
    """The page tells every key with its meaning, bounds, default and example."""
    page = reference_page((root / "studies" / "demo.yaml").read_text())
    golden.same(root / "docs" / "reference" / "study.md", page, accept_golden)
