"""A page shown in the person's own browser."""

import webbrowser
from pathlib import Path

import pytest

from stithy.cli.talk.browser import opened


def _desktop(program: Path, body: str, patch: pytest.MonkeyPatch) -> Path:
    """A program that the desktop would start; where it writes what it was called with."""
    told = program.with_suffix(".told")
    program.write_text(f'#!/bin/sh\necho "$@" > "{told}"\necho talk\n{body}\n')
    program.chmod(0o755)
    browser = webbrowser.BackgroundBrowser(str(program))
    patch.setattr(webbrowser, "get", lambda: browser)
    return told


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
@pytest.mark.parametrize(
    ("body", "opens"),
    [("exit 0", True), ("exit 3", False), ("exec /bin/sleep 2", True)],
    ids=["it hands over and ends", "it fails", "it stays"],
)
def test_a_program_of_the_desktop_has_opened_the_page_unless_it_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    body: str,
    opens: bool,
) -> None:
    """That it has ended is no failure; and nothing that it says gets among the command's output."""
    told = _desktop(tmp_path / "xdg-open", body, monkeypatch)
    page = tmp_path / "a page.html"
    assert opened(page, patience_s=1.0 if "sleep" in body else 30.0) is opens
    assert told.read_text().strip() == page.as_uri()
    assert capfd.readouterr() == ("", "")


def test_a_program_that_cannot_be_started_has_opened_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have gone since Python found it."""
    browser = webbrowser.BackgroundBrowser(str(tmp_path / "gone"))
    monkeypatch.setattr(webbrowser, "get", lambda: browser)
    assert not opened(tmp_path / "page.html")
