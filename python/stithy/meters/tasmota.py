"""Plugs with Tasmota, by HTTP. They round to whole watts unless `WattRes` says otherwise."""

from typing import Any
from urllib.parse import quote, urlencode

from pydantic import Field

from stithy.meters.http import REFUSED, Address, LoginKeys, ask_json, find_number
from stithy.meters.meter import Plug, Unreadable


class TasmotaKeys(LoginKeys):
    """A plug with Tasmota, which gets its password in the address that it is asked by."""

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
        answer = _ask(keys, 10)
        if not isinstance(answer, dict) or "StatusSNS" not in answer:
            answer = _ask(keys, 8)
        return find_number(answer, "StatusSNS", "ENERGY", "Power")


def _ask(keys: TasmotaKeys, status: int) -> Any:
    password = keys.read_password()
    login = {"user": keys.user, "password": password.reveal()} if password else {}
    query = urlencode({**login, "cmnd": f"Status {status}"}, quote_via=quote)
    answer = ask_json(f"{keys.tasmota}/cm?{query}")
    # Older versions refuse so, in some language: "Need user=<username>&password=<password>".
    if isinstance(answer, dict) and "=<" in str(answer.get("WARNING")):
        raise Unreadable(f"{keys.tasmota}: {REFUSED}")
    return answer


PLUGINS = (Tasmota(),)
