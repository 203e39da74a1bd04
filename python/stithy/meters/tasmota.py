"""Plugs with Tasmota, by HTTP. They round to whole watts unless `WattRes` says otherwise."""

from functools import partial
from typing import Any

from pydantic import Field

from stithy.collectors.collector import Scope
from stithy.meters.http import Address, ask_json, find_number
from stithy.meters.meter import LiveGauge, LiveMeter, Meter, MeterKeys

STATUS = "cm?cmnd=Status%20{}"


class TasmotaKeys(MeterKeys):
    """A plug with Tasmota that asks for no password."""

    tasmota: Address = Field(
        description="The address of the device.", examples=["http://192.168.0.8"]
    )


def read_plug(keys: TasmotaKeys) -> float:
    """Ask once; versions before 9 answer `Status 8` alone."""
    answer = ask_json(f"{keys.tasmota}/{STATUS.format(10)}")
    if not isinstance(answer, dict) or "StatusSNS" not in answer:
        answer = ask_json(f"{keys.tasmota}/{STATUS.format(8)}")
    return find_number(answer, "StatusSNS", "ENERGY", "Power")


class Tasmota(Meter):
    """A plug with Tasmota."""

    name = "tasmota"
    keys = TasmotaKeys
    sees = "what is plugged in there"
    misses = "a second power supply on another outlet"
    resolution = "1 W, unless `WattRes` is set"

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        return LiveGauge(partial(read_plug, keys))


PLUGINS = (Tasmota(),)
