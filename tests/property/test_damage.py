"""Whatever became of the results: a report tells what is missing, and no wrong number.

Each file of a run, damaged in each way: what is still shown was shown before, and of a window whose
validity nobody can know nothing is claimed. A program that ends with a traceback tells nothing.
"""

import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stithy.cli.app import run as stithy
from stithy.errors import InvalidMeasurement
from stithy.point import Point
from stithy.registry import plugins
from stithy.report.context import Context
from stithy.report.exports import ExportFormat
from stithy.report.formats import ReportFormat
from stithy.report.formats.html import render
from stithy.report.page import Page
from stithy.report.sections.answer import answer
from stithy.results.layout import CHECKSUMS, RunDirectory
from support.drawn import context_built
from support.points import at
from support.sample_run import Shape, build_run, window_id
from support.sample_thresholds import thresholds

Damage = Callable[[Path], object]


def _cut(share: float) -> Damage:
    return lambda path: path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])


def _without_its_end(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    """One bit of the file, drawn from its name."""
    draw = random.Random(path.name)
    content = bytearray(path.read_bytes())
    content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(bytes(content))


def _scattered(path: Path) -> None:
    """A hundredth of all bytes is another one."""
    draw = random.Random(path.name)
    content = bytearray(path.read_bytes())
    for place in draw.sample(range(len(content)), max(1, len(content) // 100)):
        content[place] = draw.randrange(256)
    path.write_bytes(bytes(content))


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path)


def _encoded(path: Path) -> None:
    """As an editor saves a text; of what is no text every byte becomes two."""
    path.write_bytes(path.read_bytes().decode("latin-1").encode("utf-16"))


DAMAGES: Mapping[str, Damage] = {
    "gone": Path.unlink,
    "empty": _cut(0),
    "half": _cut(0.5),
    "without its last byte": _without_its_end,
    "one bit other": _flip,
    "other bytes here and there": _scattered,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "a folder": _folder,
    "a link to itself": _loop,
    "another encoding": _encoded,
}


@contextmanager
def damaged(path: Path, damage: Damage) -> Iterator[None]:
    """Inside, the file is damaged; afterwards it is what it was."""
    content = path.read_bytes()
    damage(path)
    try:
        yield
    finally:
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.write_bytes(content)


SHAPE = Shape(
    users=(4,), ramp_up_s=1, duration_s=3, ledger=True, drives={"disk": 0.0},
    thresholds=thresholds("memory.nopm_at_4 >= 1"),
)  # fmt: skip
WINDOW = window_id("disk", 4, 0)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run in which everything is whole."""
    return build_run(tmp_path_factory.mktemp("damage") / "run", SHAPE)


@pytest.fixture(scope="module")
def whole(run: RunDirectory) -> Context:
    """What it says."""
    return context_built(run.root)


def _numbers(context: Context) -> dict[tuple[str, Point, str], float]:
    """What a report tells of each candidate and level."""
    evidence = context.evidence
    return {
        (name, point, value): found
        for name in evidence.candidates
        for point in evidence.points
        for value in (
            "headline_per_min",
            "tpm",
            "response_p50_s",
            "response_p95_s",
            "response_p99_s",
        )
        if (found := evidence.level_value(name, point, value)) is not None
    }


def _valid(context: Context) -> set[str]:
    return {window.id for window in context.evidence.windows if window.valid}


@pytest.mark.parametrize("how", DAMAGES)
def test_of_a_damaged_file_no_number_is_told(run: RunDirectory, whole: Context, how: str) -> None:
    """It is named, nothing becomes valid by its want, and all else stays as it was.

    Without its checksum nobody can know whether a file is what was written.
    """
    before, window = _numbers(whole), run.window(WINDOW).root
    paths = [run.manifest, run.study, *(run.root / "tables").iterdir(), *window.iterdir()]
    for path in sorted({*paths, run.root / CHECKSUMS}):
        with damaged(path, DAMAGES[how]):
            after = context_built(run.root)
        named = [each.path for each in after.run.problems]
        if path.name == CHECKSUMS:
            assert {each.parent for each in named} <= {path.parent}
        else:
            assert named == [path], (path.name, how)
        assert all(each.text and "\n" not in each.text for each in after.run.problems)
        assert _valid(after) <= _valid(whole), path.name
        assert _numbers(after).items() <= before.items(), path.name


def test_a_window_supports_no_claim_without_what_could_make_it_invalid(run: RunDirectory) -> None:
    """Broken conditions or lost work may have stood there; a strip or a label is no proof."""
    judged = {}
    for path in sorted(run.window(WINDOW).root.glob("*.parquet")):
        with damaged(path, DAMAGES["half"]):
            judged[path.stem] = WINDOW in _valid(context_built(run.root))
    assert {name for name, is_valid in judged.items() if is_valid} == {"seconds"}


def test_a_log_that_was_cut_at_any_line_is_found_out(tmp_path: Path) -> None:
    """Its lines know nothing of each other: the transactions that were answered are the proof.

    Then the median window answers, and none where a log is gone.
    """
    shape = Shape(candidates=("disk",), users=(4,), repeat=2, ramp_up_s=1, duration_s=3, logs=True)
    path = build_run(tmp_path, shape).window(WINDOW).root / "hammer.response.hlog"
    whole = context_built(tmp_path)
    assert whole.evidence.merged
    assert whole.run.problems == ()
    content = path.read_text().splitlines(keepends=True)
    for count in (*range(len(content)), None):
        path.unlink()
        if count is not None:
            path.write_text("".join(content[:count]))
        cut = context_built(tmp_path)
        assert cut.evidence.merged == {}
        assert cut.evidence.level_value("disk", at(4), "response_p50_s") is not None
        assert [each.path for each in cut.run.problems] == [path]


@pytest.mark.parametrize(("piece", "arguments", "code", "words"), [
    ("manifest", "report {} --format md,json", 5, "thresholds were met is not known"),
    ("manifest", "compare {} {}", 2, "its manifest cannot be read"),
    ("manifest", "export {} --to csv", 0, "1 file is missing or damaged"),
    ("window", "compare {} {}", 0,
     "1 file of the results is missing or damaged, and 1 window with it; its report"),
    ("window", "export {} --to bencher", 0, "memory"),
])  # fmt: skip
def test_commands_end_with_the_exit_code_of_what_is_wrong(
    run: RunDirectory, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    piece: str, arguments: str, code: int, words: str,
) -> None:  # fmt: skip
    """A run without a manifest can be neither judged nor compared; what is there is exported."""
    other = build_run(tmp_path / "other", SHAPE).root
    path = run.manifest if piece == "manifest" else run.window(WINDOW).table("window")
    with damaged(path, DAMAGES["half" if piece == "manifest" else "zeros"]):
        assert stithy(arguments.format(run.root, other).split()) == code
    shown = "".join(capsys.readouterr())
    assert words in shown
    assert "bencher" not in arguments or "disk" not in shown.replace(str(run.root), "")
    assert not any(each in shown for each in ("a bug in Stithy", "Traceback"))


NOBODY = frozenset({window_id("disk", 4, 0), window_id("memory", 4, 0)})
NOTHING: dict[str, Any] = {
    "every window invalid": {"changes": {each: {"errors": 1} for each in NOBODY}},
    "no window": {"left_out": NOBODY},
    "one candidate": {"candidates": ("disk",)},
    "one candidate without windows": {"candidates": ("disk",), "left_out": NOBODY},
    "no numbers": {"changes": {each: {"missing_because": "ended"} for each in NOBODY}},
}


@pytest.mark.parametrize("what", NOTHING)
def test_a_run_that_answers_nothing_is_reported_all_the_same(tmp_path: Path, what: str) -> None:
    """With every format and export that can tell of it; an export may be refused."""
    build_run(tmp_path, Shape(users=(4,), ramp_up_s=1, duration_s=2, **NOTHING[what]))
    context = context_built(tmp_path)
    page = Page(context)
    assert answer(context).headline
    render(page, dict.fromkeys((figure.name for figure in page.figures), "<svg></svg>"))
    for name in ("md", "json"):
        plugins(ReportFormat)[name].make(page, {})
    for export in plugins(ExportFormat).values():
        with suppress(InvalidMeasurement):
            assert "".join(export.export(context).pieces)
