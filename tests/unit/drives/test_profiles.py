"""Drive profiles: shipped, from files, varied; and traces of what drives were asked."""

import struct
import tomllib
from pathlib import Path

import polars as pl
import pytest

from fakes.program import EndingRunner
from stithy.drives import profiles
from stithy.drives.profiles import (
    ORDERED,
    check_profile,
    find_profile,
    list_assumed_numbers,
    make_varied,
)
from stithy.errors import PreconditionError, UserError
from stithy.fio.traces import DRIVE_OPERATIONS, read_trace, write_parquet
from stithy.wire.drive.jobs import CheckProfileJob
from stithy.wire.drive.messages import parse_drive_message
from support.examples import wire_example
from support.heard import parse_drive_job

ROOT = Path(__file__).resolve().parents[3]


def _program(name: str = "check-profile-summary") -> EndingRunner:
    """Answers its job with this message."""
    message = parse_drive_message(wire_example(f"drive/message.{name}"))
    return EndingRunner(stdout=message.model_dump_json())


def test_all_problems_of_a_file_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with file, line, key, value and remedy, and the line itself."""
    monkeypatch.setattr(profiles, "find_program", lambda name: Path("/bin") / name)
    path, runner = tmp_path / "mine.toml", _program()
    path.write_text("".join(f"line {number}\n" for number in range(1, 100)))
    found = find_profile(str(path), scale=8, runner=runner)
    asked = CheckProfileJob(file=str(path), text=found.text, scale=8)
    assert [parse_drive_job(each) for each in runner.inputs] == [asked]
    shown = _program("check-profile-summary.problems")
    with pytest.raises(UserError, match="in this drive profile: fix the file") as caught:
        check_profile(path.read_text(), "mine.toml", runner=shown)
    parts = caught.value.parts()
    assert all(part.where.startswith("mine.toml") for part in parts)
    quoted = [part for part in parts if part.excerpt]
    assert quoted
    assert all(part.excerpt.endswith(f"line {part.where.split(':')[1]}") for part in quoted)
    for content, words in ((b"\xff\xfe", "not UTF-8"), (b"#" * 2**21, "larger than any")):
        path.write_bytes(content)
        with pytest.raises(UserError, match=words):
            find_profile(str(path), runner=_program())
    with pytest.raises(UserError, match="this is a directory"):
        find_profile(str(tmp_path), runner=_program())


def _numbers(text: str) -> dict[str, float]:
    return {
        f"{name}.{key}" if key else name: number
        for name, table in tomllib.loads(text).items()
        for key, number in (table.items() if isinstance(table, dict) else [("", table)])
        if isinstance(number, int | float) and not isinstance(number, bool)
    }


PROFILES = sorted((ROOT / "crates/drive/profiles").glob("*.toml"))


@pytest.mark.parametrize("worse", [True, False])
@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_varied_profile_differs_in_its_assumed_numbers_alone(path: Path, worse: bool) -> None:
    """By a quarter at most, in the right direction; sources and marks stay with their numbers."""
    text = path.read_text()
    varied = make_varied(text, 0.25, worse=worse)
    before, after = _numbers(text), _numbers(varied.text)
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {change.key for change in varied.changes if not isinstance(change.was, list)}
    assert changed <= set(list_assumed_numbers(text)) - {"capacity_bytes"}
    for key in changed:
        grows = key.endswith(("_us", "_ms")) == worse
        far = before[key] * (1.25 if grows else 0.75)
        rounding = 0.5 if key == "channels" else 1e-6 * far
        assert (after[key] > before[key]) == grows
        assert abs(after[key] - before[key]) <= abs(far - before[key]) + rounding
    for low, high in ORDERED:
        assert low not in after or high not in after or after[low] <= after[high]
    was, now = tomllib.loads(text)["provenance"], tomllib.loads(varied.text)["provenance"]
    assert (now["assumed"], now["source"]) == (was["assumed"], was["source"])


def test_what_is_varied_stays_a_profile_and_says_what_it_is() -> None:
    """No median beyond a published 99th percentile; of lists the times alone; counts stay whole."""
    text = (
        'version = 1\nname = "x"\ntitle = "a drive"\ncapacity_bytes = 1000\nchannels = 3\n'
        "[read]\np50_us = 100\np99_us = 110\nbytes_per_s = 8\n"
        "[write]\nload_shares = [0, 1]\nload_us = [[4096, 1, 100, 200]]\n"
        "[flush]\ncost_us = 0\nquantiles_us = [[0, 8], [1, 16]]\n"
        "[provenance]\nassumed = {}\n"
    )
    [change] = make_varied(text.replace("{}", '["read.p50_us"]'), 0.25, worse=True).changes
    assert (change.key, change.was, change.now) == ("read.p50_us", 100, 110)
    worse = make_varied(text.replace("{}", '["channels", "write", "flush"]'), 0.25, worse=True)
    profile = tomllib.loads(worse.text)
    assert profile["write"] == {"load_shares": [0, 1], "load_us": [[4096, 1, 125, 250]]}
    assert profile["flush"] == {"cost_us": 0, "quantiles_us": [[0, 10], [1, 20]]}
    assert profile["channels"] == 2
    better = tomllib.loads(make_varied(text.replace("{}", '["channels"]'), 0.25, worse=False).text)
    assert (better["name"], better["channels"]) == ("x-25-better", 4)
    assert better["title"] == "a drive, every assumed number 25 % better"
    assert better["provenance"]["note"] == "Varied from x, 25 % better: channels 4 instead of 3."
    assert make_varied(text.replace("{}", "[]"), 0.25, worse=True).changes == ()


HEAD = struct.pack("<8sIIIIQQ64s24x", b"STITHYDT", 1, 128, 32, 4096, 2_500_000_000, 2**34, b"data")


def _record(kind: int, numbers: tuple[int, int, int], length: int = 0, flags: int = 0) -> bytes:
    return struct.pack("<QQQIHBB", *numbers, length, 3, kind, flags)


def _written(folder: Path, *records: bytes) -> Path:
    path = folder / "data.trace"
    path.write_bytes(HEAD + b"".join(records))
    return path


def test_requests_of_a_trace_are_read_as_they_were_answered(tmp_path: Path) -> None:
    """Times become seconds, lengths bytes, flags truths; Parquet has the same rows and facts."""
    path = _written(
        tmp_path,
        _record(1, (1_000_000_000, 8192, 80_000), length=8, flags=1),
        _record(2, (1_500_000_000, 0, 15_000_000_000), flags=6),
        _record(254, (0, 2, 7)),
    )
    trace = write_parquet(path, tmp_path / "data.parquet")
    assert (trace.drive, trace.sector_bytes, trace.size_bytes) == ("data", 4096, 2**34)
    assert (trace.started_at_s, trace.lost, trace.is_complete) == (2.5, 7, True)
    rows = trace.requests.to_dict(as_series=False)
    assert rows.pop("latency_s") == pytest.approx([8e-5, 15.0])
    assert rows == {
        "arrived_s": [1.0, 1.5], "operation": ["write", "flush"], "offset_bytes": [8192, 0],
        "length_bytes": [4096, 0], "depth": [3, 3], "is_error": [True, False],
        "is_late": [False, True], "is_unpaced": [False, True],
    }  # fmt: skip
    assert trace.requests["operation"].dtype == pl.Enum(DRIVE_OPERATIONS)
    assert trace.requests.equals(pl.read_parquet(tmp_path / "data.parquet"))
    kept = pl.read_parquet_metadata(tmp_path / "data.parquet")
    assert (kept["drive"], kept["lost"], kept["is_complete"]) == ("data", "7", "true")


def test_what_a_trace_lacks_is_told(tmp_path: Path) -> None:
    """A gap is no request; a file cut short knows its gaps; what is no trace is refused."""
    read, gap = _record(0, (5, 0, 5), length=8), _record(255, (2_000_000_000, 2048, 0))
    for records, expected in (
        ((read, gap, read, _record(254, (0, 2, 3000))), (2, 3000, True)),
        ((read, gap, read, read[:7]), (2, 2048, False)),
        ((), (0, 0, False)),
    ):
        trace = read_trace(_written(tmp_path, *records))
        assert (len(trace.requests), trace.lost, trace.is_complete) == expected
        assert "operation" in trace.requests.columns
    other = tmp_path / "other"
    other.write_bytes(b"nothing of the kind" * 20)
    with pytest.raises(UserError, match="not the trace of a drive"):
        read_trace(other)
    other.write_bytes(HEAD[:8] + struct.pack("<I", 2) + HEAD[12:])
    with pytest.raises(UserError, match="version 2"):
        read_trace(other)
    with pytest.raises(PreconditionError, match="cannot be read"):
        read_trace(tmp_path / "nowhere")
