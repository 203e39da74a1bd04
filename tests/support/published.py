"""All that can be made of a run's results: reports, a comparison, exports."""

import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from stithy.cli.app import run
from support.reported import undrawn

FORMATS = ("html", "md", "json", "pdf")
TEXTS = FORMATS[:3]
"""The formats whose file a test can read."""

EXPORTS = ("csv", "bencher", "go-bench", "openmetrics")


def publish(
    out: Path, capsys: pytest.CaptureFixture[str], *compared_by: str, draws: bool = False
) -> Mapping[str, str]:
    """Report the run in `out` in every format, hold it against a copy of itself, and export it.

    `draws`: its figures, too. Return the texts by format, those of exports by their names, and that
    of `compare`.
    """
    again = str(shutil.copytree(out, out.with_name("again")))
    commands = {
        "report": ["report", str(out), "--format", ",".join(FORMATS)],
        "compare": ["compare", str(out), again, *compared_by],
        **{name: ["export", str(out), "--to", name] for name in EXPORTS},
    }
    capsys.readouterr()
    shown = {}
    with nullcontext() if draws else undrawn():
        for name, words in commands.items():
            assert run(words) == 0, name
            shown[name] = capsys.readouterr().out
            assert shown[name], name
    return shown | {name: (out / f"report.{name}").read_text() for name in TEXTS}
