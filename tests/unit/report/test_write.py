"""Writing the report: the formats that were asked for, with images that are always the same."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stithy.errors import InfrastructureError, UserError
from stithy.report.write import formats_named
from support.reported import write_report
from support.sample_run import Shape, build_run

SHORT = Shape(users=(1,), duration_s=3, series=False)


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
    assert "not comparable" in told["provenance"]
    assert "ramp-up" in told["footer"]
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


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_report_that_is_not_finished_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    """A disk that fills up, or a person who stops it, in the middle of the figures."""
    build_run(tmp_path, SHORT)
    write_report(tmp_path, ("md",))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def failing(*_: object) -> bytes:
        raise failure

    monkeypatch.setattr("stithy.report.write.png", failing)
    expected = InfrastructureError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_report(tmp_path, ("md",))
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_reports_at_the_same_time_are_one_after_the_other(tmp_path: Path) -> None:
    """Two of them; what is there in the end is whole."""
    build_run(tmp_path, SHORT)
    alone = {path.name for path in _written(tmp_path)}
    with ThreadPoolExecutor(2) as both:
        made = [both.submit(write_report, tmp_path, ("md",)) for _ in range(2)]
    assert [each.result() for each in made] == [(tmp_path / "report.md",)] * 2
    assert {path.name for path in (tmp_path / "report").rglob("*") if path.is_file()} == alone


def _written(root: Path) -> list[Path]:
    write_report(root, ())
    return [path for path in (root / "report").rglob("*") if path.is_file()]
