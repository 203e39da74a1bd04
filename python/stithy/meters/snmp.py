"""Power distribution units by SNMP, with net-snmp's `snmpget`.

Version, community and passwords are those of its own `snmp.conf`, so that none is in a study.
"""

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from stithy.collectors.collector import Scope
from stithy.hosts.runner import Command
from stithy.meters.meter import LiveGauge, LiveMeter, Meter, MeterKeys, Unreadable, run_program
from stithy.needs import Package, ProgramNeed


class SnmpKeys(MeterKeys):
    """An object of a device that speaks SNMP."""

    snmp: str = Field(
        pattern=r"^[^\s-]\S*$",
        description="The address of the device. `snmp.conf` says version and community.",
        examples=["pdu-1"],
    )
    oid: str = Field(
        pattern=r"^\.?\d+(\.\d+)+$",
        description="The object, in numbers.",
        examples=["1.3.6.1.4.1.318.1.1.26.4.3.1.5.1"],
    )
    watts_per_count: Annotated[float, Field(gt=0, le=1e6)] = Field(
        strict=False,
        description="Watts of one count, by the device's MIB: 10 for hundredths of a kilowatt.",
        examples=[10],
    )


def parse_answer(text: str, watts_per_count: float) -> float:
    """Read what `snmpget -Oqvet` prints, such as `42`; a negative number is not supported there."""
    try:
        count = float(text)
    except ValueError as error:
        raise Unreadable(f"snmpget printed no number: {' '.join(text.split())[:80]}") from error
    if count < 0:
        raise Unreadable(f"the device does not support this object: {text.strip()}")
    return count * watts_per_count


def read_object(keys: SnmpKeys) -> float:
    """Ask once, without a second try."""
    words = ["snmpget", "-Oqvet", "-r", "0", "-t", "2", keys.snmp, keys.oid]
    return parse_answer(run_program(Command(words)), keys.watts_per_count)


class Snmp(Meter):
    """A power distribution unit by SNMP."""

    name = "snmp"
    keys = SnmpKeys
    sees = "what is plugged in there"
    misses = "a second power supply on another outlet"
    resolution = "one count of the object"
    needs = (
        ProgramNeed(name="snmpget", why="watts by SNMP",
                    package=Package("snmp", "net-snmp-utils")),
    )  # fmt: skip

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        return LiveGauge(partial(read_object, keys))


PLUGINS = (Snmp(),)
