"""Writing the report: the formats that were asked for, with images that are always the same."""

import json
from pathlib import Path

import pytest

from stithy.errors import UserError
from stithy.report.write import formats_named, write_report
from support.sample_run import Shape, build_run

SHORT = Shape(users=(1,), duration_s=3, series=False)


def test_formats_are_named_once_each_in_their_order() -> None:
    """Spaces after commas are fine."""
    assert formats_named("pdf, html,pdf") == ("pdf", "html")


@pytest.mark.parametrize(("text", "meant"), [("pdff", "pdf"), ("html,mdd", "md")])
def test_an_unknown_format_is_refused_with_what_there_is(text: str, meant: str) -> None:
    """And with the one that may be meant."""
    with pytest.raises(UserError, match="no format is called") as caught:
        formats_named(text)
    assert caught.value.where == f"--format {text}"
    assert f"did you mean {meant}?" in caught.value.remedy
    assert "html, json, md, pdf" in caught.value.remedy


def test_only_what_was_asked_for_is_written(tmp_path: Path) -> None:
    """Beside it, as ever, figures and tables."""
    build_run(tmp_path, SHORT)
    assert write_report(tmp_path, ("md", "json")) == (
        tmp_path / "report.md",
        tmp_path / "report.json",
    )
    assert not (tmp_path / "report.html").exists()
    assert (tmp_path / "report" / "tables" / "summary.csv").exists()
    told = json.loads((tmp_path / "report.json").read_text())
    assert told["version"] == 1
    assert told["answer"]["headline"]
    assert told["summary"][0]["users"] == 1


def test_images_are_always_the_same(tmp_path: Path) -> None:
    """Made again from the same results."""
    build_run(tmp_path, SHORT)
    write_report(tmp_path, ())
    image = tmp_path / "report" / "figures" / "nopm-by-users.png"
    first = image.read_bytes()
    assert first.startswith(b"\x89PNG")
    write_report(tmp_path, ())
    assert image.read_bytes() == first
