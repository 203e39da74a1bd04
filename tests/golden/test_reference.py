"""What is written from the model of the study file and from the tables is kept, and current."""

import json
import re
from collections.abc import Callable

import pytest

from conftest import ROOT
from reference.parts import collectors_page, profiles_page
from reference.results import comparability_page, tables_page
from reference.study import reference_page, study_schema
from support import golden

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/results.md": tables_page,
    "docs/reference/collectors.md": collectors_page,
    "docs/reference/comparability.md": comparability_page,
    "docs/reference/io-profiles.md": profiles_page,
    "docs/reference/study.md": lambda: reference_page((ROOT / "studies/demo.yaml").read_text()),
    "studies/study.schema.json": lambda: (
        json.dumps(study_schema(), indent=2, ensure_ascii=False) + "\n"
    ),
}
"""Every column, metric, fact and key, with all that is declared of it."""


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_the_reference_is_current(path: str, accept_golden: bool) -> None:
    """Whoever changes a declaration changes its page."""
    golden.same(ROOT / path, PAGES[path](), accept_golden)


def test_every_section_that_the_study_file_announces_is_there_once() -> None:
    """No table is empty."""
    page = PAGES["docs/reference/study.md"]()
    titles = re.findall("^## (.+)", page, re.MULTILINE)
    announced = set(re.findall("a section: `(.+?)`", page))
    assert announced - {title.split("`")[1] for title in titles if "`" in title} == set()
    assert len(titles) == len(set(titles))
    assert "| --- |\n\n" not in page
