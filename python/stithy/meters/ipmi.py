"""The power reading of a server's management controller: IPMI DCMI, by `ipmitool`.

Only the instantaneous reading is used: minimum, maximum and mean are since the controller's reset.
"""

import re
from pathlib import Path
from typing import Any

from pydantic import Field

from stithy.collectors.collector import Scope
from stithy.hosts.runner import Command
from stithy.meters.meter import LiveGauge, LiveMeter, Meter, MeterKeys, Unreadable, run_program
from stithy.needs import Package, ProgramNeed

LOCAL = "local"


class IpmiKeys(MeterKeys):
    """The power reading of a management controller."""

    ipmi: str = Field(
        min_length=1,
        pattern=r"^[^\s-]\S*$",
        description="`local` (needs root), or the address of the controller.",
        examples=[LOCAL],
    )
    user: str | None = Field(
        default=None,
        min_length=1,
        json_schema_extra={"default": "none"},
        description="The user at that address.",
        examples=["reader"],
    )
    password_file: Path | None = Field(
        default=None,
        strict=False,
        json_schema_extra={"default": "none"},
        description="The file with that user's password, which Stithy does not read itself.",
        examples=["/etc/stithy/bmc"],
    )


def parse_reading(text: str) -> float:
    """Read the watts that `ipmitool dcmi power reading` prints; raises Unreadable.

    `Instantaneous power reading:                   173 Watts`, and at last
    `Power reading state is:                   activated`.
    """
    if not re.search(r"reading state is:\s*activated", text):
        raise Unreadable("the controller does not measure power now")
    found = re.search(r"Instantaneous power reading:\s*(\d+) Watts", text)
    if found is None:
        raise Unreadable("ipmitool printed no instantaneous power")
    return float(found[1])


def make_command(keys: IpmiKeys) -> Command:
    """Make the words that ask the controller."""
    way = [] if keys.ipmi == LOCAL else ["-I", "lanplus", "-H", keys.ipmi]
    way += ["-U", keys.user] if keys.user else []
    way += ["-f", str(keys.password_file)] if keys.password_file else []
    return Command(["ipmitool", *way, "dcmi", "power", "reading"])


class Ipmi(Meter):
    """IPMI DCMI by ipmitool."""

    name = "ipmi"
    keys = IpmiKeys
    sees = "the whole server, with the losses of its power supply"
    misses = "storage with a power supply of its own"
    resolution = "1 W"
    of_server = True
    needs = (
        ProgramNeed(name="ipmitool", why="watts by a management controller",
                    package=Package("ipmitool", "ipmitool")),
    )  # fmt: skip

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        command = make_command(keys)
        return LiveGauge(lambda: parse_reading(run_program(command)))


PLUGINS = (Ipmi(),)
