"""A varied profile: assumed numbers a share off, all others as they were, and a profile still."""

import tomllib
from pathlib import Path

import pytest

from stithy.drives.varied import ORDERED, assumed_numbers, vary

SHIPPED = sorted((Path(__file__).resolve().parents[3] / "crates/drive/profiles").glob("*.toml"))
SHARE = 0.25


def numbers(text: str) -> dict[str, float]:
    """The plain numbers of a profile by their paths."""
    return {
        f"{name}.{key}" if key else name: number
        for name, table in tomllib.loads(text).items()
        for key, number in (table.items() if isinstance(table, dict) else [("", table)])
        if isinstance(number, int | float) and not isinstance(number, bool)
    }


@pytest.mark.parametrize("worse", [True, False])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_differs_in_its_assumed_numbers_alone(path: Path, worse: bool) -> None:
    """By a quarter at most, in the right direction; sources and marks stay with their numbers."""
    text = path.read_text()
    varied = vary(text, SHARE, worse=worse)
    before, after = numbers(text), numbers(varied.text)
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {each.key for each in varied.changes if not isinstance(each.was, list)}
    assert changed <= set(assumed_numbers(text))
    assert "capacity_bytes" not in changed
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


HEAD = 'version = 1\nname = "x"\ntitle = "a drive"\ncapacity_bytes = 1000\nchannels = 3\n'
SOLID = (
    HEAD + "[read]\np50_us = 100\np99_us = 110\nbytes_per_s = 8\n"
    "[write]\nload_shares = [0, 1]\nload_us = [[4096, 1, 100, 200]]\n"
    "[flush]\ncost_us = 0\nquantiles_us = [[0, 8], [1, 16]]\n"
    "[provenance]\nassumed = {}\n"
)


def test_a_number_goes_no_further_than_one_with_a_source_allows() -> None:
    """An assumed median stays below a published 99th percentile."""
    varied = vary(SOLID.replace("{}", '["read.p50_us"]'), SHARE, worse=True)
    [change] = varied.changes
    assert (change.key, change.was, change.now) == ("read.p50_us", 100, 110)


def test_lists_are_varied_in_their_times_alone_and_counts_stay_whole() -> None:
    """Shares, sizes and depths say of what; 0 has no share, and 3 channels become 2."""
    text = SOLID.replace("{}", '["channels", "write", "flush"]')
    profile = tomllib.loads(vary(text, SHARE, worse=True).text)
    assert profile["write"] == {"load_shares": [0, 1], "load_us": [[4096, 1, 125, 250]]}
    assert profile["flush"] == {"cost_us": 0, "quantiles_us": [[0, 10], [1, 20]]}
    assert profile["channels"] == 2


def test_a_varied_profile_says_what_it_is() -> None:
    """By name and title, wherever it is shown, and with each number in its note."""
    varied = vary(SOLID.replace("{}", '["channels"]'), SHARE, worse=False)
    profile = tomllib.loads(varied.text)
    assert profile["name"] == "x-25-better"
    assert profile["title"] == "a drive, every assumed number 25 % better"
    assert profile["provenance"]["note"] == "Varied from x, 25 % better: channels 4 instead of 3."


def test_a_profile_without_assumptions_is_not_varied() -> None:
    """There is nothing to vary."""
    text = SOLID.replace("{}", "[]")
    assert assumed_numbers(text) == ()
    assert vary(text, SHARE, worse=True).changes == ()
