"""A file of time and watts that another program writes while the run goes on."""

import csv
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, Field

from stithy.errors import give_reason
from stithy.meters.meter import Meter, MeterKeys, Unreadable, require_watts
from stithy.units import make_rule_error

UNIX = "unix"


def _check_zone(name: str) -> str:
    if name != UNIX and name not in available_timezones():
        raise make_rule_error("not a time zone", "`unix`, `UTC`, or a name such as Europe/Berlin")
    return name


class FileKeys(MeterKeys):
    """A file of time and watts (CSV), to which a program adds rows while windows run."""

    file: Path = Field(
        strict=False, description="The file, with a head line.", examples=["/var/log/watts.csv"]
    )
    timezone: Annotated[str, AfterValidator(_check_zone)] = Field(
        description="Of its times: `unix` for Unix seconds, or a zone of times without an offset.",
        examples=["Europe/Berlin"],
    )
    time: str = Field(default="time", description="The column of the time.", examples=["time"])
    watts: str = Field(default="watts", description="The column of watts.", examples=["watts"])


def list_rows(keys: FileKeys) -> Iterator[tuple[float, float]]:
    """List Unix time and watts of each row; raises Unreadable with the line of what is wrong.

    The last row is left out where its line has no end yet.
    """
    try:
        text = keys.file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = give_reason(error) if isinstance(error, OSError) else "not UTF-8"
        raise Unreadable(f"{keys.file}: {why}") from error
    rows = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())
    if lacking := {keys.time, keys.watts} - {*(rows.fieldnames or ())}:
        raise Unreadable(f"{keys.file}:1: no column {' and '.join(sorted(lacking))}")
    last_s = -math.inf
    for row in rows:
        try:
            at_s, watts = _parse_time_s(row[keys.time], keys.timezone), float(row[keys.watts])
        except (TypeError, ValueError) as error:
            given = f"{row[keys.time]}, {row[keys.watts]}"
            right = "a single moment and a number are needed"
            raise Unreadable(f"{keys.file}:{rows.line_num}: {given}: {right}") from error
        if not at_s > last_s:
            raise Unreadable(f"{keys.file}:{rows.line_num}: its time is not after the row before")
        last_s = at_s
        yield at_s, require_watts(watts)


def _parse_time_s(text: str, zone: str) -> float:
    if zone == UNIX:
        return float(text)
    time = datetime.fromisoformat(text)
    if time.tzinfo is not None:
        return time.timestamp()
    early, late = (time.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    if early.utcoffset() != late.utcoffset():
        raise ValueError(text)  # an hour that clocks have twice, or not at all
    return early.timestamp()


class RecordFile(Meter):
    """A file of time and watts."""

    name = "file"
    keys = FileKeys
    sees = "what its writer measures"
    misses = "anything else; the clock of its writer may be off"
    resolution = "as written"
    is_record = True

    def read_record(self, keys: Any, from_s: float, to_s: float) -> list[tuple[float, float]]:
        """Read the rows of this time."""
        return [row for row in list_rows(keys) if from_s <= row[0] < to_s]


PLUGINS = (RecordFile(),)
