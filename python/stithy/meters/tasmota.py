"""Plugs with Tasmota, by HTTP. They round to whole watts unless `WattRes` says otherwise."""

from typing import Any

from pydantic import Field

from stithy.meters.http import Address, Plug, ask_json, find_number
from stithy.meters.meter import MeterKeys

STATUS = "cm?cmnd=Status%20{}"


class TasmotaKeys(MeterKeys):
    """A plug with Tasmota that asks for no password."""

    tasmota: Address = Field(
        description="The address of the device.", examples=["http://192.168.0.8"]
    )


class Tasmota(Plug):
    """A plug with Tasmota."""

    name = "tasmota"
    keys = TasmotaKeys
    resolution = "1 W, unless `WattRes` is set"

    def read(self, keys: Any) -> float:
        """Ask once; versions before 9 answer `Status 8` alone."""
        answer = ask_json(f"{keys.tasmota}/{STATUS.format(10)}")
        if not isinstance(answer, dict) or "StatusSNS" not in answer:
            answer = ask_json(f"{keys.tasmota}/{STATUS.format(8)}")
        return find_number(answer, "StatusSNS", "ENERGY", "Power")


PLUGINS = (Tasmota(),)
