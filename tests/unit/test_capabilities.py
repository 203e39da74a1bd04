"""The rule that a missing capability is a loud skip, and a failure when it was required."""

import os
from pathlib import Path

import pytest

from support.forked import Forked

ROOT = "@pytest.mark.needs_root\ndef test_root():\n    assert True\n"
SKIPS = '@pytest.mark.needs_unprivileged\ndef test_skips():\n    pytest.skip("not today")\n'
NOISY = SKIPS.replace("not today", "needs quiet: others work").replace("_skips", "_noise")
BOTH = f"@pytest.mark.needs_unprivileged\n{ROOT}"
LONG = "@pytest.mark.long\ndef test_long():\n    assert True\n"
PROBES = """
PROBES["root"] = lambda: "no root here: become root"
PROBES["unprivileged"] = lambda: None
"""


@pytest.mark.parametrize(("tests", "required", "shown"), [
    ((ROOT, SKIPS), "", "2 skipped"),
    ((ROOT,), "root", "1 error"),
    ((SKIPS, BOTH, NOISY), "unprivileged", "1 failed, 2 skipped"),
    ((NOISY,), "unprivileged,quiet", "1 failed"),
    ((ROOT,), "postgres", "unknown postgres: known are browser, ceph, cgroup"),
])  # fmt: skip
def test_a_missing_capability_is_a_skip_or_where_required_a_failure(
    tmp_path: Path,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    tests: tuple[str, ...],
    required: str,
    shown: str,
) -> None:
    """With reason and remedy; a test cannot get around it by skipping itself.

    What is left out is noted with its reason, for the last lines of `make test`.
    """
    for name, more in (("conftest.py", ""), ("capabilities.py", PROBES)):
        (tmp_path / name).write_text((root / "tests" / name).read_text() + more)
    (tmp_path / "test_it.py").write_text("\n\n".join(("import pytest\n", *tests, LONG)))
    monkeypatch.chdir(tmp_path)
    words = ["-ra", "-pno:cacheprovider", "-mnot long", f"--require={required}", "."]
    environment = {**os.environ, "STITHY_LEFT_OUT": "left-out", "PYTEST_XDIST_WORKER": "gw0"}
    ended = Forked(words, "import pytest\nraise SystemExit(pytest.console_main())", environment)
    printed = "".join(ended.communicate())
    assert shown in printed
    assert (ended.returncode == 0) == (not required)
    if not required:
        problem = "needs root: no root here: become root"
        assert problem in printed
        assert (tmp_path / "left-out").read_text().splitlines() == [
            "long, run by `make test-all`: test_it.py",
            f"skipped: {problem}: test_it.py", "skipped: not today: test_it.py",
        ]  # fmt: skip
