"""Plugs and energy meters of Shelly, both generations of their interface by HTTP."""

from functools import partial
from typing import Any, Literal

from pydantic import Field

from stithy.collectors.collector import Scope
from stithy.meters.http import Address, ask_json, find_number
from stithy.meters.meter import LiveGauge, LiveMeter, Meter, MeterKeys


class ShellyKeys(MeterKeys):
    """A plug of Shelly that asks for no password."""

    shelly: Address = Field(
        description="The address of the device.", examples=["http://192.168.0.7"]
    )
    channel: int = Field(default=0, ge=0, description="Which outlet of it.", examples=[0])
    kind: Literal["switch", "em1", "gen1"] = Field(
        default="switch",
        description="`switch`: an outlet of the second generation or later; `em1`: an energy "
        "meter of it; `gen1`: an outlet of the first.",
        examples=["switch"],
    )


def read_outlet(keys: ShellyKeys) -> float:
    """Ask once."""
    number = keys.channel
    path, way = {
        "switch": (f"rpc/Switch.GetStatus?id={number}", ("apower",)),
        "em1": (f"rpc/EM1.GetStatus?id={number}", ("act_power",)),
        "gen1": ("status", ("meters", number, "power")),
    }[keys.kind]
    return find_number(ask_json(f"{keys.shelly}/{path}"), *way)


class Shelly(Meter):
    """A plug of Shelly."""

    name = "shelly"
    keys = ShellyKeys
    sees = "what is plugged in there"
    misses = "a second power supply on another outlet"
    resolution = "0.1 W"

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        return LiveGauge(partial(read_outlet, keys))


PLUGINS = (Shelly(),)
