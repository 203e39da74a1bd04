"""Texts captured from real machines: a head of `# ` lines tells their origin."""

from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "data"


def captured(name: str) -> str:
    """The text of a file under tests/data, without its head."""
    lines = (DATA / name).read_text().splitlines(keepends=True)
    assert lines[0].startswith("# command: "), f"{name} does not tell where it comes from"
    body = next(number for number, line in enumerate(lines) if not line.startswith("# "))
    return "".join(lines[body:])
