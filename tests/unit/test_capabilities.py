"""The rule that a missing capability is a loud skip, and a failure when it was required."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TEST = "import pytest\n\n\n@pytest.mark.needs_{}\ndef test_it():\n    {}\n"
PROBES = """
PROBES["root"] = lambda: "no root here: become root"
PROBES["unprivileged"] = lambda: None
"""


@pytest.mark.parametrize(("needs", "body", "required", "shown"), [
    ("root", "assert True", "", "needs root: no root here: become root"),
    ("root", "assert True", "root", "1 error"),
    ("unprivileged", 'pytest.skip("not today")', "", "1 skipped"),
    ("unprivileged", 'pytest.skip("not today")', "unprivileged", "1 failed"),
    ("root\n@pytest.mark.needs_unprivileged", "assert True", "unprivileged", "1 skipped"),
    ("root", "assert True", "postgres", "unknown postgres: known are browser, ceph, cgroup"),
])  # fmt: skip
def test_a_missing_capability_is_a_skip_or_where_required_a_failure(
    tmp_path: Path, root: Path, needs: str, body: str, required: str, shown: str
) -> None:
    """With reason and remedy; a test cannot get around it by skipping itself.

    What is left out is noted with its reason, for the last lines of `make test`.
    """
    for name, more in (("conftest.py", ""), ("capabilities.py", PROBES)):
        (tmp_path / name).write_text((root / "tests" / name).read_text() + more)
    long = "\n\n@pytest.mark.long\ndef test_long():\n    assert True\n"
    (tmp_path / "test_it.py").write_text(TEST.format(needs, body) + long)
    # What the copy of conftest.py imports beside it stays where it is.
    paths = os.pathsep.join(str(root / name) for name in ("tests", "python"))
    command = [sys.executable, "-m", "pytest", "-ra", "-pno:cacheprovider", "-mnot long"]
    ended = subprocess.run(
        [*command, f"--require={required}", "."], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": paths, "STITHY_LEFT_OUT": "left-out",
             "PYTEST_XDIST_WORKER": "gw0"},
    )  # fmt: skip
    assert shown in ended.stdout + ended.stderr
    assert (ended.returncode == 0) == ("skipped" in shown or not required)
    if body == "assert True" and not required:
        long, skipped = (tmp_path / "left-out").read_text().splitlines()
        assert long == "long, run by `make test-all`: test_it.py"
        assert skipped == f"skipped: {shown}: test_it.py"
