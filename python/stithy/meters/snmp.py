"""Power distribution units by SNMP, with net-snmp's `snmpget`.

Version 2c with a community that the study names; without one, version, community and passwords are
those of its own `snmp.conf`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from pydantic import Field

from stithy.hosts.runner import Command
from stithy.meters.meter import Plug, SecretKeys, Unreadable, run_program
from stithy.needs import Package, ProgramNeed
from stithy.secrets import VARIABLE, Secret


class SnmpKeys(SecretKeys):
    """An object of a device that speaks SNMP."""

    snmp: str = Field(
        pattern=r"^[^\s-]\S*$",
        description="The address of the device. Without a community `snmp.conf` says how to ask.",
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
    password_env: str | None = Field(
        default=None,
        alias="community_env",
        pattern=VARIABLE,
        json_schema_extra={"default": "as snmp.conf says"},
        description="Environment variable that holds its community; it is asked by version 2c.",
        examples=["PDU_COMMUNITY"],
    )
    password_file: str | None = Field(
        default=None,
        alias="community_file",
        json_schema_extra={"default": "as snmp.conf says"},
        description="File that holds it instead; its owner alone may read it.",
        examples=["~/.stithy-pdu"],
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


@contextmanager
def supply_community(community: Secret) -> Iterator[str]:
    """Inside, `snmpget` finds a community in this folder; it lies in memory, and ends with us.

    Everybody sees the arguments of a program.
    """
    text = community.reveal().replace("\\", "\\\\").replace('"', '\\"')
    with TemporaryDirectory() as folder, os.fdopen(os.memfd_create("community"), "w") as file:
        file.write(f'defCommunity "{text}"\n')
        file.flush()
        Path(folder, "snmp.conf").symlink_to(f"/proc/{os.getpid()}/fd/{file.fileno()}")
        yield folder


class Snmp(Plug):
    """A power distribution unit by SNMP."""

    name = "snmp"
    keys = SnmpKeys
    resolution = "one count of the object"
    needs = (
        ProgramNeed(name="snmpget", why="watts by SNMP",
                    package=Package("snmp", "net-snmp-utils")),
    )  # fmt: skip

    def read(self, keys: Any) -> float:
        """Ask once, without a second try."""
        # No names of objects: what is wrong with their files would be printed each time.
        words = ["-m", "", "-Oqvet", "-r", "0", "-t", "2", keys.snmp, keys.oid]
        if (community := keys.read_password()) is None:
            return parse_answer(run_program(Command(["snmpget", *words])), keys.watts_per_count)
        try:
            with supply_community(community) as folder:
                how = {"SNMPCONFPATH": folder}
                answer = run_program(Command(["snmpget", "-v2c", *words], environment=how))
        except Unreadable as reason:
            why = str(reason).rstrip(".")
            raise Unreadable(f"{why}; no device answers a wrong community") from reason
        return parse_answer(answer, keys.watts_per_count)


PLUGINS = (Snmp(),)
