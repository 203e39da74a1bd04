"""All reasons that hold for a window, and whether it supports a claim.

Every reason is a value: a flag, the numbers seen, a sentence and an advice. Some flags make a
window invalid: it is drawn hollow and supports no claim. The others only annotate it.
"""

from collections.abc import Iterable
from functools import cache

from stithy.analysis.validity.record import WindowRecord
from stithy.registry import plugins
from stithy.validity import Check, Reason


def judge(of: WindowRecord) -> tuple[Reason, ...]:
    """All reasons that hold for one window, those that invalidate first.

    Source: docs/explanation/method.md, "Proof that the work was done" and "Four instants".
    """
    has_numbers = of.window["missing_because"] is None
    checks: tuple[Check[WindowRecord], ...] = (*_checks(), *of.engine.checks)
    asked = (each for each in checks if has_numbers or each.always)
    found = (each.find(of) for each in asked if of.tables.issuperset(each.needs))
    reasons = [reason for reason in found if reason is not None]
    return tuple(sorted(reasons, key=lambda reason: not reason.invalidates))


@cache
def _checks() -> tuple[Check[WindowRecord], ...]:
    """The checks of all modules, in the order in which a person reads them."""
    modules = sorted(plugins("validity").values(), key=lambda module: module.ORDER)
    return tuple(check for module in modules for check in module.CHECKS)


def is_valid(reasons: Iterable[Reason]) -> bool:
    """Whether a window with these reasons supports a claim: one that invalidates is enough."""
    return not any(reason.invalidates for reason in reasons)
