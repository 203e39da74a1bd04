"""What candidates cost: once more from the inputs in the manifest, term by term."""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from recompute import asked, power
from recompute.files import Files, Row
from recompute.levels import level

Of = Callable[[Files, Row], Any]


BLANK = dict.fromkeys((
    "purchase", "life", "rest", "maintenance", "rack_units", "list", "per_gb", "per_iops",
    "per_mb_s", "gb", "iops", "mb_s",
))  # fmt: skip


def stated(files: Files, users: int | None = None) -> Row:
    """The prices; where these state no watts, with the power that meters showed at a level."""
    prices: Row = copy.deepcopy(files.manifest["cost"])
    watts = [item["watts"] for item in prices["items"].values() if item["watts"] is not None]
    if watts or not prices["duty"] or prices["site"]["pue"] is None or not power.is_metered(files):
        return prices
    for name in files.candidates:
        of = {"candidate": name, "users": users or files.told_level}
        drawn, idle = power.of_level(files, of)["power.mean_w"], power.idle_w(files, name)
        if drawn is not None and (idle is not None or prices["duty"]["load"] == "100%"):
            prices["items"][f"{name} (metered)"] = {
                **BLANK, "for": [name], "count": 1, "share": "100%", "watts": drawn,
                "idle_watts": idle,
            }  # fmt: skip
    return prices


def _share(text: str | None) -> float:
    return float((text or "0%").removesuffix("%")) / 100


def _part(value: float, rest: float, years: float, rate: float) -> float:
    if not rate:
        return (value - rest) / years
    grown: float = (1 + rate) ** years
    return (value - rest / grown) * rate / (1 - 1 / grown)


def _mine(prices: Row, kind: str, name: str) -> Iterator[tuple[str, Row]]:
    for key, each in prices[kind].items():
        if each["for"] is None or name in each["for"]:
            yield key, each


def _kwh(prices: Row, item: Row) -> float:
    busy = _share(prices["duty"]["load"])
    watts = busy * item["watts"] + (1 - busy) * (item["idle_watts"] or 0)
    count = item["count"] * _share(item["share"])
    return float(count * prices["site"]["pue"] * prices["duty"]["hours"] * watts / 1000)


def terms(prices: Row, name: str) -> dict[str, float]:
    """What a candidate costs in a year, by the names of the terms."""
    found: dict[str, float] = {}
    site, rate = prices["site"], _share(prices["interest"])
    for key, item in _mine(prices, "items", name):
        count = item["count"] * _share(item["share"])
        if item["purchase"] is not None:
            part = _part(item["purchase"], item["rest"], item["life"], rate)
            found[f"depreciation of {key}"] = count * part
        if item["maintenance"] is not None:
            found[f"maintenance of {key}"] = count * item["maintenance"]
        if item["watts"] is not None and site["energy_price"] is not None:
            found[f"energy of {key}"] = _kwh(prices, item) * site["energy_price"]
        if item["rack_units"] is not None:
            found[f"rack space of {key}"] = count * item["rack_units"] * site["rack_price"]
        for amount, word in (("gb", "capacity"), ("iops", "IOPS"), ("mb_s", "throughput")):
            if each := (item["list"] or item)[f"per_{amount}"]:
                paid = max(0, item[amount] - each["free"])
                found[f"{word} of {key}"] = count * 12 * each["price"] * paid
    for key, each in _mine(prices, "licences", name):
        count = each["count"] * _share(each["share"])
        if each["yearly"] is not None:
            found[f"licence of {key}"] = count * each["yearly"]
        else:
            found[f"licence of {key}"] = count * _part(each["price"], 0, each["life"], rate)
            found[f"support of {key}"] = count * each["price"] * _share(each["support"])
    if site["admin_hours"] is not None:
        found["administration"] = site["admin_hours"] * site["admin_rate"]
    return found


def total(prices: Row, name: str) -> float | None:
    """Their sum; None without any, and where its energy is priced and not known."""
    found = terms(prices, name)
    watts = [item["watts"] for _, item in _mine(prices, "items", name)]
    by_person = [item["watts"] for key, item in prices["items"].items() if "(metered)" not in key]
    if prices["site"]["energy_price"] is not None and {*watts, *by_person} <= {None}:
        return None
    return sum(found.values()) if found else None


def _per_s(files: Files, name: str, users: int) -> float | None:
    done = level(files, name, users, "NOPM")
    return done / 60 if done else None


def _million(prices: Row, name: str, per_s: float | None) -> float | None:
    yearly, duty = total(prices, name), prices["duty"]
    if not per_s or yearly is None or duty is None:
        return None
    return float(yearly / (per_s * _share(duty["load"]) * duty["hours"] * 0.0036))


def _users(files: Files, name: str) -> int | None:
    found = asked.bracket(files, name)
    return found.low if found.high else None


def answer(files: Files, prices: Row) -> float | None:
    """What a user or a transaction costs on the second candidate, relative to the first."""
    one, two = (total(prices, name) for name in files.candidates[:2])
    # By what the first two candidates are compared: their users, or else their work.
    names = files.candidates[:2]
    users: list[float | None] = [_users(files, name) for name in names]
    a, b = users if all(users) else [_per_s(files, name, files.told_level) for name in names]
    return two / one / (b / a) if one and two is not None and a and b else None


def _own(prices: Row, factor: float, files: Files) -> Row:
    """The prices with those that the second candidate alone pays multiplied."""
    first, second = files.candidates[:2]
    changed, shared = copy.deepcopy(prices), {key for key, _ in _mine(prices, "items", first)}
    for _, item in (each for each in _mine(changed, "items", second) if each[0] not in shared):
        if item["purchase"] is not None:
            item["purchase"] *= factor
        for key in ("per_gb", "per_iops", "per_mb_s"):
            if each := (item["list"] or item)[key]:
                each["price"] *= factor
    return changed


def _even(files: Files) -> float | None:
    """The factor at which the answer is 1, by the line through two of its points."""
    prices = stated(files)
    low, high = (answer(files, _own(prices, factor, files)) for factor in (1.0, 3.0))
    return None if low is None or high in (None, low) else 1 + 2 * (1 - low) / (high - low)


def of_candidate(files: Files, row: Row) -> Row:
    """A row of the table of costs."""
    prices, name = stated(files), row["candidate"]
    yearly, per_s = total(prices, name), _per_s(files, name, files.told_level)
    powered = [each for _, each in _mine(prices, "items", name) if each["watts"] is not None]
    watts = sum(each["count"] * _share(each["share"]) * each["watts"] for each in powered)
    users, is_second = _users(files, name), name == files.candidates[1]
    return {
        "yearly": yearly, "within_users": users,
        "per_user": yearly / users if users and yearly else None,
        "per_million": _million(prices, name, per_s), "per_s": per_s,
        "kwh": sum(_kwh(prices, each) for each in powered) if powered else None,
        "energy_j": watts / per_s if powered and per_s and not power.is_metered(files) else None,
        "even_factor": _even(files) if is_second else None, "even_purchase": None,
    }  # fmt: skip


def of_term(files: Files, row: Row) -> Row:
    """A term of a yearly cost, and its share."""
    found = terms(stated(files), row["candidate"])
    return {"amount": found[row["term"]], "share": found[row["term"]] / sum(found.values())}


def _find(prices: Row, path: str) -> tuple[Row, str, float]:
    *above, last = path.split(".")
    for key in above:
        prices = prices[key]
    value = prices[last]
    return prices, last, 100 * _share(value) if isinstance(value, str) else value


def of_input(files: Files, row: Row) -> Row:
    """An input, as it was stated."""
    return {"value": _find(stated(files), row["input"])[2]}


def of_swing(files: Files, path: str) -> Row:
    """The answer with an input a fifth lower and higher."""
    prices = stated(files)
    found: Row = {}
    for name, factor in (("low", 0.8), ("high", 1.2)):
        changed = copy.deepcopy(prices)
        place, key, value = _find(changed, path)
        is_share = isinstance(place[key], str)
        value *= factor
        value = min(value, 100.0) if is_share else max(value, 1.0) if key == "pue" else value
        value = min(value, 8784) if key == "hours" else value
        place[key] = f"{value}%" if is_share else value
        found |= {name: answer(files, changed), f"{name}_input": value}
    return {**found, "value": _find(prices, path)[2], "stated": answer(files, prices)}


def of_level(files: Files, row: Row) -> Row:
    """What a million transactions cost at a level."""
    per_s = _per_s(files, row["candidate"], row["users"])
    value = _million(stated(files, row["users"]), row["candidate"], per_s)
    return {"users": row["users"], "cost.per_million": value}


def of_windows(files: Files, row: Row) -> list[float | None]:
    """What they cost in the windows of a candidate and block."""
    done = files.column(
        "SELECT headline_per_min FROM win WHERE candidate = ? AND users = ? AND block = ?",
        (row["candidate"], row["users"], row["block"]),
    )
    prices = stated(files, row["users"])
    return [_million(prices, row["candidate"], each / 60 if each else None) for each in done]


def _small(files: Files, row: Row) -> list[float]:
    found = sorted(terms(stated(files), row["candidate"]).values(), reverse=True)
    return [each for each in found[5:] if each]


NUMBERS: Mapping[str, Of] = {
    "yearly": lambda files, row: total(stated(files), row["candidate"]),
    "term_amount": lambda files, row: of_term(files, row)["amount"],
    "term_share": lambda files, row: of_term(files, row)["share"],
    "small_terms": lambda files, row: len(_small(files, row)),
    "small_amount": lambda files, row: sum(_small(files, row)),
    "cost_ratio": lambda files, row: answer(files, stated(files)),
    "even_factor": lambda files, row: _even(files),
}
"""By the name of a value in a sentence, what it must be."""
