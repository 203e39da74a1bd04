"""Prices of sample runs: things that are bought, rented and shared, licences, power and work."""

from collections.abc import Iterable
from typing import Any

from stithy.pricing.keys import Pricing

BOUGHT: dict[str, Any] = {
    "count": 4, "purchase": 1000.0, "life": 5.0, "rest": 100.0, "maintenance": 20.0,
    "watts": 8.0, "idle_watts": 5.0, "rack_units": 2.0,
}  # fmt: skip


def make_pricing(first: str, others: Iterable[str], **more: Any) -> Pricing:
    """Prices by which the first candidate is bought, each other one rented, and a server shared."""
    rented = {f"volume-{place}": {"for": [name], "list": "gp3", "gb": 500.0, "iops": 4000.0,
                                  "mb_s": 125.0} for place, name in enumerate(others)}  # fmt: skip
    return Pricing.model_validate({
        "currency": "EUR", "date": "2026-01-15", "source": "quotation 4711",
        "duty": {"hours": 8000.0, "load": "40%"},
        "site": {"pue": 1.5, "energy_price": 0.2, "rack_price": 250.0, "admin_hours": 10.0,
                 "admin_rate": 60.0},
        "items": {
            "drive": {**BOUGHT, "for": [first]}, **_in_euros(rented),
            "server": {"purchase": 6000.0, "life": 4.0, "rest": 0.0, "share": "50%"},
        },
        "licences": {
            "engine": {"per": "core", "count": 4.0, "price": 700.0, "life": 4.0, "support": "20%"},
            "backup": {"per": "tb", "count": 1.5, "yearly": 80.0},
        },
        **more,
    })  # fmt: skip


def _in_euros(items: dict[str, Any]) -> dict[str, Any]:
    """With a list of one's own, whose currency is that of the study."""
    own = {
        "title": "a cloud", "currency": "EUR", "date": "2024-01-01", "source": "its page",
        "per_gb": {"price": 0.1, "free": 100.0}, "per_iops": {"price": 0.01, "free": 3000.0},
        "per_mb_s": {"price": 0.05, "free": 125.0},
    }  # fmt: skip
    return {name: {**item, "list": own} for name, item in items.items()}


PRICING = make_pricing("disk", ["memory"])
