"""The report in Markdown: every cell by the column of its table, every other line as a sentence."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from recompute import asked, between, work
from recompute.files import Files, Row
from recompute.levels import told
from recompute.printed import shown
from recompute.tables import candidate, device_of, of_type, question, summary

Say = Callable[[str, str, Row], None]
Compare = Callable[[str, str, Any], None]

CANDIDATE = {"NOPM": "nopm", "p95": "p95_s", "p99": "p99_s", "Cost": "cost_amount"}
DEVICE = {
    "Requests per second": "per_s", "Mean latency": "mean_s", "Mean of the profile": "asked_s",
    "p99": "p99_s",
}  # fmt: skip
WORK = {
    "Windows": "windows", "Log": "log_bytes", "Device reads": "device_reads",
    "Server CPU": "server_cpu_s", "Buffer hit ratio": "hit_share",
}  # fmt: skip
SEARCH = {
    "of its windows from": "low", "to": "high", "Valid windows": "valid", "of windows": "windows",
    "Answers, fewest": "answers_least",
}  # fmt: skip
RUNS = {
    "Ratio": "ratio", "from": "low", "to (95 %)": "high", "Windows before": "windows_base",
    "Windows": "windows_other", "Drift of the machine, at least": "drift_share",
    "p-value, adjusted": "chance_share",
}  # fmt: skip
SUMMARY = {"NOPM ": "nopm:", "p95 ": "p95:"}


def walk(files: Files, text: str, say: Say, compare: Compare) -> None:
    """Hand on each number: those of tables with what they must be, the others with their line."""
    study = (files.root / "study.yaml").read_text().rstrip()
    before, _, after = text.partition("<details>")
    quoted, _, rest = after.partition("</details>")
    if quoted and study not in quoted:
        say("study", "999 of the study file are others than it has", {})
    first = dict(question(files))
    other = {**first, "metric": "p95" if first.get("metric") in ("NOPM", "TPM") else "NOPM"}
    headings: list[str] = []
    for line in (before + rest).splitlines():
        cells = re.split(r" ?(?<!\\)\| ?", line)[1:-1] if line.startswith("|") else []
        plain = re.sub(r"\\(.)", r"\1", line)
        if not cells:
            headings = []
            say("line", plain, other if line.startswith("- ") else first)
        elif not headings:
            # Of several candidates each has a column of this name.
            headings = [each + " " * cells[:at].count(each) for at, each in enumerate(cells)]
            for heading in headings:
                say("heading", heading, {})
        elif set(line) - set("|-: "):
            _row(files, dict(zip(headings, cells, strict=True)), say, compare)


def _row(files: Files, row: dict[str, str], say: Say, compare: Compare) -> None:
    place = next(iter(row.values()))
    at = int(place.replace(",", "")) if re.fullmatch(r"[\d,]+", place) else None
    if "Operation" in row:
        expected = device_of(files, {"candidate": place, "operation": row["Operation"]})
        known = {name: expected[column] for name, column in DEVICE.items() if name in row}
    elif "Windows before" in row:
        known = _of_runs(files, row)
    elif "Valid windows" in row:
        known = _searched(files, row)
    elif "Left side" in row:
        found = asked.threshold(files, {"threshold": row["Threshold"].replace("\\", "")}) or {}
        known = {"Left side": found.get("left"), "Right side": found.get("right"),
                 "Threshold": found.get("constants")}  # fmt: skip
    elif "Transaction" in row:
        known = _of_type(files, row)
    elif "Device reads" in row:
        users = int((row.get("Users") or row["Connections"]).replace(",", ""))
        expected = work.of_level(files, {"candidate": place, "users": users})
        known = {name: expected.get(column) for name, column in WORK.items()}
        known |= {name: users for name in ("Users", "Connections") if name in row}
    elif "Candidate" in row:
        expected = dict(candidate(files, {"candidate": place, "users": files.told_level}))
        known = {name: expected.get(column) for name, column in CANDIDATE.items() if name in row}
        known |= {name: expected["cost_per_nopm"] for name in row if name.endswith(" per NOPM")}
    elif "Users" in row and any(name.startswith("NOPM ") for name in row):
        known = dict(_summary(files, at or 0, list(row)))
    else:
        known = {next(iter(row)): at if at in files.levels else None} if at is not None else {}
    for name, cell in row.items():
        if name in known and (any(shown(cell)) or _is_known(known[name])):
            compare(f"{place}:{name}", cell, known[name])
        else:
            if "Observation" in row:
                say(f"{place}:{name}", cell.replace("\\", ""), _gathered(files, row))
                continue
            of = name.removeprefix("Limited ") if name.startswith("Limited ") else place
            level = {"users": at} if at is not None and name != "Candidate" else {}
            say(f"{place}:{name}", cell.replace("\\", ""), {**level, "candidate": of})


def _is_known(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return bool(values) and None not in values


def _searched(files: Files, row: dict[str, str]) -> dict[str, Any]:
    """A level that a search looked at; what its limit is of stands above the third column."""
    name, users, value, *_ = row
    at = int(row[users].replace(",", ""))
    expected = asked.searched(files, {"candidate": row[name], "users": at}) or {}
    known = {heading: expected.get(column) for heading, column in SEARCH.items()}
    return {**known, users: at if expected else None, value: expected.get("value")}


def _of_runs(files: Files, row: dict[str, str]) -> dict[str, Any]:
    """A change to another run, whichever of them it is; values stand below the runs' names."""
    metric, name, users, base, other, *_ = row
    at = int(row[users].replace(",", ""))
    rows = [
        found for number, _ in enumerate(files.others, start=1)
        if (found := between.run_of(
            files, number, {"metric": row[metric], "candidate": row[name], "users": at}
        ))
    ]  # fmt: skip
    known = {heading: [each[column] for each in rows] for heading, column in RUNS.items()}
    ends = {base: [each["base"] for each in rows], other: [each["other"] for each in rows]}
    return {**known, **ends, users: [at] if rows else None}


def _of_type(files: Files, row: dict[str, str]) -> dict[str, Any]:
    """Two candidates, then their ratio with its bounds; of more a row each."""
    first, *others = files.candidates
    name = row.get("Candidate", others[0])
    keys = {"transaction": row["Transaction"], "percentile": row["Percentile"]}
    found = of_type(files, {**keys, "a": first, "b": name, "users": files.told_level})
    columns = ("a_s", "b_s", "ratio", "low", "high")
    shown_in = [each for each in row if each not in ("Transaction", "Percentile", "Candidate")]
    return {each: found[column] for each, column in zip(shown_in, columns, strict=False)}


def _gathered(files: Files, row: dict[str, str]) -> Row:
    """The row of the reasons whose windows are these."""
    for each in told(files, "reasons-gathered"):
        if each["sentence"].replace("`", "") == row["Observation"].replace("\\", "").replace(
            "`", ""
        ):
            return each
    return {}


def _summary(files: Files, users: int, names: list[str]) -> Iterator[tuple[str, Any]]:
    """What stands below each heading; bounds are those of the ratio before them."""
    expected, last = summary(files, {"users": users}), ""
    for name in names:
        for words, column in SUMMARY.items():
            if name.startswith(words):
                yield name, expected[column + name.removeprefix(words)]
        if " ÷ " in name:
            last = name.partition(" ÷ ")[0]
            yield name, expected[f"ratio:{last}"]
        if name.strip() == "from":
            yield name, expected[f"low:{last}"]
        if name.startswith("to"):
            yield name, expected[f"high:{last}"]
    yield "Users", users
