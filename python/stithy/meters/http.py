"""What meters by HTTP share: one question, answered with JSON; and what all plugs are."""

import json
from abc import abstractmethod
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from pydantic import AfterValidator

from stithy.collectors.collector import Scope
from stithy.errors import give_reason
from stithy.meters.meter import LiveGauge, LiveMeter, Meter, Unreadable
from stithy.units import make_rule_error

PATIENCE_S = 2.0
BYTES_MAX = 2**20


def _check_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise make_rule_error("not an address", "such as http://192.168.0.7, without a password")
    return text.rstrip("/")


Address = Annotated[str, AfterValidator(_check_address)]
"""The address of a device, without a path."""


def ask_json(url: str) -> Any:
    """Ask a device in the same network; raises Unreadable for all but JSON."""
    try:
        # No proxy: these devices stand in the laboratory.
        with build_opener(ProxyHandler({})).open(url, timeout=PATIENCE_S) as answer:
            return json.loads(answer.read(BYTES_MAX))
    except OSError as error:
        raise Unreadable(f"{url.partition('?')[0]}: {give_reason(error)}") from error
    except ValueError as error:
        raise Unreadable(f"{url.partition('?')[0]}: its answer is no JSON") from error


def find_number(answer: Any, *way: str | int) -> float:
    """Find a number below names and indices; raises Unreadable where there is none."""
    found = answer
    for step in way:
        try:
            found = found[step]
        except (KeyError, IndexError, TypeError) as error:
            raise Unreadable(f"its answer has no {'.'.join(map(str, way))}") from error
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise Unreadable(f"its {'.'.join(map(str, way))} is no number")
    return float(found)


class Plug(Meter):
    """An outlet that is asked by HTTP."""

    sees = "what is plugged in there"
    misses = "a second power supply on another outlet"

    @abstractmethod
    def read(self, keys: Any) -> float:
        """Ask once, for watts; raises Unreadable."""

    def open(self, keys: Any, scope: Scope) -> LiveMeter:
        """Nothing is asked yet."""
        del scope
        return LiveGauge(partial(self.read, keys))
