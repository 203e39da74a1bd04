"""A reader never takes an emulated drive for a real one."""

from pathlib import Path

import pytest

from stithy.report.context import context_of
from stithy.report.page import Page, build, render
from stithy.report.parts.answer import main_findings
from stithy.report.words.drives import profiles
from stithy.results.read import read_run
from support.sample_run import Shape, build_run


def page_of(root: Path, **drives: float) -> Page:
    """The page of a run whose candidates of these names are emulated."""
    build_run(root, Shape(candidates=("disk", "memory"), users=(1, 4), drives=drives))
    return build(context_of(read_run(root)))


def html(page: Page) -> str:
    """The page without the time that drawing takes."""
    html = render(page, {figure.name: "<svg></svg>" for figure in page.figures})
    return html.replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture(scope="module")
def emulated(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A run on one emulated drive and one directory."""
    return page_of(tmp_path_factory.mktemp("emulated") / "run", disk=0.02)


def test_every_figure_names_the_emulated_drive_its_profile_and_scale(emulated: Page) -> None:
    """In its last line, which stays with it wherever it is copied to."""
    assert emulated.figures
    for figure in emulated.figures:
        assert figure.footer.startswith("EMULATED drives: disk = sample-ssd at scale 1/8 · ")


def test_the_answer_and_the_method_tell_what_is_emulated_and_assumed(emulated: Page) -> None:
    """At the top, and with the names of the assumed numbers at the end."""
    assert (
        "disk (sample-ssd at scale 1/8) is an emulated drive: it takes the times that its profile "
        "describes, but for what is told under Validity, where it took other times."
        in emulated.answer.support
    )
    text = html(emulated)
    assert "Assumed are write and flush; its other numbers name their source." in text
    assert "It is a scale model of 1/8" in text
    assert "The drive profile sample-ssd" in text
    assert "<b>no</b>" not in text


def test_the_first_screen_says_how_many_numbers_are_assumed(emulated: Page) -> None:
    """Two of the five that decide; a whole table may be assumed, and capacity decides nothing."""
    told = "Of the numbers that set a drive's times and rates, 2 of 5 of sample-ssd are assumed"
    assert any(text.startswith(told) for text in emulated.answer.flawed)


def test_drives_that_took_their_times_are_told_without_a_but(tmp_path: Path) -> None:
    """One on time, and two; what is claimed of them is never more than was seen."""
    (one,) = [each for each in page_of(tmp_path / "one", disk=0.0).answer.support if "emul" in each]
    assert one.endswith("it takes the times that its profile describes.")
    both = page_of(tmp_path / "both", disk=0.0, memory=0.02).answer.support[0]
    assert "are emulated drives: they take the times that their profiles describe, but" in both
    assert both.endswith("told under Validity, where they took other times.")


def test_the_candidates_are_shown_with_their_drives(emulated: Page) -> None:
    """Profile, scale, transport and its time, but not the profile's whole text."""
    [candidates] = [table for table in emulated.facts if table.name == "facts-candidates"]
    known = {str(row["fact"]): str(row["value:disk"]) for row in candidates.frame.to_dicts()}
    assert known["emulated drive of the data"] == "sample-ssd at scale 1/8: an SSD for samples"
    [drives] = [table for table in emulated.facts if table.name == "facts-drives"]
    [row] = drives.frame.to_dicts()
    assert (row["candidate"], row["transport_s"]) == ("disk", 12e-6)
    assert row["assumed"] == "write, flush"


def test_what_the_drive_did_is_told_by_window_and_operation(emulated: Page) -> None:
    """With its lateness."""
    frame = emulated.tables["drives"].frame
    assert frame.height == 2 * 4
    assert frame.filter(frame["operation"] == "all")["late_share"].to_list() == [0.02, 0.02]
    assert "late with 2.0 %" in html(emulated)


def test_windows_of_a_late_drive_support_no_claim(tmp_path: Path) -> None:
    """They are drawn hollow, with the reason."""
    page = page_of(tmp_path / "run", disk=0.3)
    assert [each.valid for each in page.context.evidence.windows if each.candidate == "disk"] == [
        False,
        False,
    ]
    assert "The instrument failed" in html(page)


def test_without_emulated_drives_nothing_is_said_of_them(tmp_path: Path) -> None:
    """Neither in a figure nor in the method."""
    page = page_of(tmp_path / "run")
    assert not any("EMULATED" in figure.footer for figure in page.figures)
    assert "emulated" not in html(page).lower().split('<section id="repeat">')[0]


def test_a_single_assumed_number_is_singular(emulated: Page) -> None:
    """One is assumed, several are."""
    manifest = emulated.context.manifest
    assert manifest is not None
    first, *rest = manifest.candidates
    [drive] = first.drives
    one = first.model_copy(update={"drives": (drive.model_copy(update={"assumed": ("flush",)}),)})
    told = profiles(manifest.model_copy(update={"candidates": (one, *rest)}))
    assert "Assumed is flush; its other numbers" in told[0].words


def test_what_a_terminal_shows_at_the_end_names_emulated_drives(emulated: Page) -> None:
    """Findings are copied from there, too."""
    first, *_ = main_findings(emulated.context)
    assert first == "EMULATED drives: disk = sample-ssd at scale 1/8."
