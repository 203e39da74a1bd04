"""The summary in Markdown: the answer and what it rests on, with every text escaped."""

from pathlib import Path

from stithy.report.context import context_of
from stithy.report.formats.md import make
from stithy.report.page import build
from stithy.results.read import read_run
from support.sample_run import Shape, build_run, window_id

HOSTILE = "<script>alert(1)</script> [a](http://b) | `c` @d #1 \u202e😀"


def _summary(root: Path, shape: Shape) -> str:
    build_run(root, shape)
    return make(build(context_of(read_run(root))), {}).decode()


def test_names_with_markup_stay_texts(tmp_path: Path) -> None:
    """Question, candidates and messages of a server may hold anything; none of it is markup."""
    bad = {window_id("plain", 1, 0): {"errors": 1, "error_text": HOSTILE}}
    name = HOSTILE.replace("/", "⁄")  # the id of a window becomes a folder
    shape = Shape(
        question=HOSTILE, candidates=("plain", name), users=(1, 4), duration_s=3, series=False,
        changes=bad,
    )  # fmt: skip
    written = _summary(tmp_path, shape)
    outside = written[: written.index("<details>")]
    assert "<script" not in outside.replace("\\<", "")
    assert "](" not in outside.replace("\\](", "").replace("\\]", "")
    assert "\u202e" not in written
    assert "@d" not in outside
    widths = {line.replace("\\|", "").count("|") for line in outside.splitlines() if "NOPM" in line}
    assert widths & {7}


def test_a_run_without_a_manifest_is_told(tmp_path: Path) -> None:
    """What is not known is left out, and said."""
    run = build_run(tmp_path, Shape(users=(1,), duration_s=3, series=False))
    run.manifest.write_text("{")
    written = make(build(context_of(read_run(tmp_path))), {}).decode()
    assert written.startswith("# Report of a run\n")
    assert "The manifest could not be read" in written
    assert "To repeat it" not in written
