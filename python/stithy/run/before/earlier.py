"""What earlier runs on this machine tell: how long steps took beside what had been estimated, how
many transactions a second their windows did, how much their blocks varied, and by how much emulated
drives missed their profiles.

A convenience, kept beside the register: lost or damaged it costs nothing but worse forecasts.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from stithy.environment import state_home
from stithy.errors import InfrastructureError
from stithy.results.files import write_durably

T = TypeVar("T")

VERSION = 1
"""1: factors by kind of step and noise by metric, oldest first; rates by level, newest last."""

KEPT = 40
"""Numbers a kind or metric: some runs, so that a machine that was changed is known again soon."""

RATES_KEPT = 400
"""Levels of candidates: of many studies."""

Factors = Mapping[str, Sequence[float]]
"""By kind of step: by how much steps of that kind missed their estimates, oldest first."""


def earlier_factors() -> Factors:
    """What is known of this machine; empty where nothing is, or what is there cannot be read."""
    return _read("factors", lambda known: [float(each) for each in known])


def earlier_rates() -> Mapping[str, float]:
    """Transactions a second of earlier windows, by `plan.answerable.rate_key`; empty as above."""
    return _read("rates", float)


def earlier_noise(metric: str) -> Sequence[float]:
    """How much blocks varied by this metric in each earlier run, oldest first; empty as above.

    The standard deviation of a block's log ratio.
    """
    return _noise().get(metric, [])


def earlier_added_s() -> Mapping[str, float]:
    """By how much emulated drives missed their profiles in the last run with each, seconds.

    By profile and operation, such as `generic-nvme flush`; empty as above.
    """
    return _read("added_s", float)


def _noise() -> dict[str, list[float]]:
    return _read("noise", lambda known: [float(each) for each in known])


def _read(section: str, value: Callable[[Any], T]) -> dict[str, T]:
    try:
        told = json.loads(_path().read_bytes())
        if told["version"] != VERSION:
            return {}
        return {str(key): value(known) for key, known in told.get(section, {}).items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def keep_learned(learned: Factors, rates: Mapping[str, float] | None = None) -> None:
    """Add what a run has learned; where it cannot be written, it is forgotten."""
    known_rates = dict(earlier_rates())
    for key, rate in (rates or {}).items():  # the newest last
        known_rates.pop(key, None)
        known_rates[key] = rate
    newest = dict(list(known_rates.items())[-RATES_KEPT:])
    _write(factors=_longer(earlier_factors(), learned), rates=newest)


def keep_noise(metric: str, noise_share: float) -> None:
    """Add how much the blocks of a run varied; where it cannot be written, it is forgotten."""
    _write(noise=_longer(_noise(), {metric: [noise_share]}))


def keep_added_s(added_s: Mapping[str, float]) -> None:
    """Keep by how much drives missed their profiles; if it cannot be written, it is forgotten."""
    _write(added_s={**earlier_added_s(), **added_s})


def _longer(known: Factors, learned: Factors) -> Factors:
    kinds = sorted({*known, *learned})
    return {kind: [*known.get(kind, ()), *learned.get(kind, ())][-KEPT:] for kind in kinds}


def _write(**changed: Mapping[str, object]) -> None:
    known = {
        "factors": earlier_factors(),
        "rates": earlier_rates(),
        "noise": _noise(),
        "added_s": earlier_added_s(),
    }
    told = {"version": VERSION, **known, **changed}
    text = json.dumps(told, indent=1)
    with suppress(InfrastructureError):
        write_durably(_path(), text.encode())


def _path() -> Path:
    return state_home() / "durations.json"
