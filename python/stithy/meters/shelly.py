"""Plugs and energy meters of Shelly, both generations of their interface by HTTP."""

from typing import Any, Literal

from pydantic import Field

from stithy.meters.http import Address, Login, LoginKeys, ask_json, find_number
from stithy.meters.meter import Plug


class ShellyKeys(LoginKeys):
    """A plug of Shelly. From the second generation on its user is always `admin`."""

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


class Shelly(Plug):
    """A plug of Shelly."""

    name = "shelly"
    keys = ShellyKeys
    resolution = "0.1 W"

    def read(self, keys: Any) -> float:
        """Ask once; the first generation knows Basic alone, which shows the password."""
        number, password = keys.channel, keys.read_password()
        is_old = keys.kind == "gen1"
        login = Login("Basic" if is_old else "Digest", keys.user, password) if password else None
        path, way = {
            "switch": (f"rpc/Switch.GetStatus?id={number}", ("apower",)),
            "em1": (f"rpc/EM1.GetStatus?id={number}", ("act_power",)),
            "gen1": ("status", ("meters", number, "power")),
        }[keys.kind]
        return find_number(ask_json(f"{keys.shelly}/{path}", login), *way)


PLUGINS = (Shelly(),)
