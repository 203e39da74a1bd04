"""A study with a primary question, on a real server: how many blocks it takes no test can say."""

from pathlib import Path

import pytest

from stithy.results.layout import RunDirectory
from support.html_page import page_text
from support.running import Stithy, entries, manifest, write_study

pytestmark = pytest.mark.needs_postgresql


@pytest.mark.long
def test_a_null_study_goes_on_until_its_question_is_decided(stithy: Stithy, place: Path) -> None:
    """On two volumes that are alike; what is not measured is written down as left out.

    Long: up to twelve windows. tests/unit/cli/test_deciding.py does the same with fakes.
    """
    candidates = {"a": place / "a", "b": place / "b"}
    load = {"repeat": "", "pace": "", "ramp_up": "1 s"}
    study = write_study(place / "study.yaml", candidates, users=[1], duration="1 s", load=load)
    with study.open("a") as file:
        file.write("primary: {blocks: 5, margin: 50%}\n")
    out = place / "out"
    ended = stithy.run_well("run", study, "--out", out, "--null")
    plan = manifest(out)["plan"]
    assert (plan["null"], plan["question"]["candidates"]) == (True, ["a", "a-again"])
    there = {path.name for path in RunDirectory(out).windows.iterdir()}
    # On a busy machine some are invalid, and their blocks are measured once more.
    measured = there - set(plan["further"])
    assert there - measured == set(plan["further"])
    assert measured | set(plan["skipped"]) == set(plan["windows"])
    assert not measured & set(plan["skipped"])
    assert len(measured) in (8, 10)
    looks = entries(out, "interim-analysis")
    assert looks
    assert looks[-1].facts["decided"] or len(measured) == 10
    assert "NULL STUDY" in page_text(RunDirectory(out).page)
    assert "interim analysis: " in ended.stderr
    assert not any((place / name).exists() for name in ("a", "a-again", "b"))
    stithy.assert_nothing_left(out)
