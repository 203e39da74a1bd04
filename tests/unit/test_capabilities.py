"""The rule that a missing capability is a loud skip, and a failure when it was required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Unprivileged

TEST = """
import pytest

@pytest.mark.needs_{capability}
def test_it():
    {body}
"""


def _pytest(folder: Path, root: Path, body: str, *options: str) -> str:
    for name in ("conftest.py", "capabilities.py"):
        text = (root / "tests" / name).read_text()
        (folder / name).write_text(text)
    probe = 'PROBES["root"] = lambda: "no root here: become root"\n'
    probe += 'PROBES["unprivileged"] = lambda: None\n'
    capabilities = folder / "capabilities.py"
    capabilities.write_text(capabilities.read_text() + probe)
    (folder / "test_it.py").write_text(body)
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *options, "."]
    # What the copy of conftest.py imports beside it stays where it is.
    paths = os.pathsep.join(str(root / name) for name in ("tests", "python"))
    environment = {**os.environ, "PYTHONPATH": paths}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    return ended.stdout


def test_a_missing_capability_skips_with_reason_and_remedy(tmp_path: Path, root: Path) -> None:
    """Without --require the test is skipped and the summary says what to do."""
    out = _pytest(tmp_path, root, TEST.format(capability="root", body="assert True"))
    assert "1 skipped" in out
    assert "needs root: no root here: become root" in out


def test_a_required_capability_that_is_missing_fails(tmp_path: Path, root: Path) -> None:
    """With --require the same test is not skipped."""
    body = TEST.format(capability="root", body="assert True")
    out = _pytest(tmp_path, root, body, "--require=root")
    assert "skipped" not in out
    assert "1 error" in out or "1 failed" in out


def test_a_skip_from_inside_fails_too_when_required(tmp_path: Path, root: Path) -> None:
    """A test cannot get around --require by skipping itself."""
    body = TEST.format(capability="unprivileged", body='pytest.skip("not today")')
    assert "1 skipped" in _pytest(tmp_path, root, body)
    assert "1 failed" in _pytest(tmp_path, root, body, "--require=unprivileged")


def test_an_unknown_capability_is_refused_with_the_known_ones(tmp_path: Path, root: Path) -> None:
    """A typing error in --require would otherwise require nothing."""
    command = [sys.executable, "-m", "pytest", "tests/tidy", "--require=postgres"]
    finished = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert finished.returncode == 4
    assert "unknown postgres: known are browser, cgroup, drive, postgresql" in finished.stderr


@pytest.mark.needs_unprivileged
def test_the_unprivileged_user_can_run_stithy(unprivileged: Unprivileged) -> None:
    """Also where the project lies below a directory that only root may enter."""
    finished = subprocess.run(unprivileged.stithy("--version"), capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    identity = [*unprivileged.prefix, "id", "-u"]
    assert int(subprocess.run(identity, capture_output=True, text=True).stdout) != 0
