"""How long the steps of earlier runs on this machine took, beside what had been estimated.

A convenience, kept beside the register: lost or damaged it costs nothing but worse forecasts.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from stithy.environment import state_home
from stithy.errors import InfrastructureError
from stithy.results.files import write_durably

VERSION = 1
"""1: factors by kind of step, oldest first."""

KEPT = 40
"""Factors a kind: some runs, so that a machine that was changed is known again soon."""

Factors = Mapping[str, Sequence[float]]
"""By kind of step: by how much steps of that kind missed their estimates, oldest first."""


def earlier_factors() -> Factors:
    """What is known of this machine; empty where nothing is, or what is there cannot be read."""
    try:
        told = json.loads(_path().read_bytes())
        if told["version"] != VERSION:
            return {}
        return {
            str(kind): [float(each) for each in known] for kind, known in told["factors"].items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def keep_factors(learned: Factors) -> None:
    """Add what a run has learned; where it cannot be written, it is forgotten."""
    known = earlier_factors()
    kinds = sorted({*known, *learned})
    factors = {kind: [*known.get(kind, ()), *learned.get(kind, ())][-KEPT:] for kind in kinds}
    text = json.dumps({"version": VERSION, "factors": factors}, indent=1)
    with suppress(InfrastructureError):
        write_durably(_path(), text.encode())


def _path() -> Path:
    return state_home() / "durations.json"
