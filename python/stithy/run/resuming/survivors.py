"""What a session that was cut off left on storage, and the next one can use instead of making it.

Two things are worth it: the master copy, which spares loading, and the database that a candidate's
last window left, at which its final check looks. Both are used only where nothing is to be guessed:
the journal tells in which state they were left, the place still carries the run's mark, and the
master copy is byte for byte what it was when it was made. No server ever runs on a master copy, and
one that had would not be that.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from stithy.errors import StithyError
from stithy.plan.steps import Plan
from stithy.run.context import KEEPER
from stithy.run.resuming.past import Past
from stithy.run.undoing.register import Making
from stithy.storage.consent import DATA, MASTER
from stithy.storage.copy import Contents, contents_of
from stithy.storage.provider import Provider

STAYING = frozenset({"directory", "mark"})
"""Kinds of things that stay where anything on a candidate's volume does; trees go by their name."""


@dataclass(frozen=True)
class Survivors:
    """The directories that are left alone, by candidate; `lost` is why there is no master copy.

    `master` is where it lies, None where `lost` says why not; `databases` are the candidates whose
    last window's database is there.
    """

    trees: Mapping[str, frozenset[str]] = field(default_factory=dict)
    master: Path | None = None
    lost: str | None = None

    @property
    def databases(self) -> frozenset[str]:
        """The candidates whose final check can be done."""
        return frozenset(name for name, trees in self.trees.items() if DATA in trees)

    def spare(self, making: Making) -> bool:
        """Whether this thing of an earlier session is left as it is."""
        trees = self.trees.get(making.facts.get("candidate", ""), frozenset())
        if making.kind == "tree":
            return making.facts["name"] in trees
        return bool(trees) and making.kind in STAYING

    def without_master(self) -> "Survivors":
        """The same where the master copy is of no use."""
        trees = {name: each - {MASTER} for name, each in self.trees.items()}
        return replace(
            self, trees={name: each for name, each in trees.items() if each}, master=None
        )

    @property
    def recorded(self) -> Iterator[tuple[str, str]]:
        """Candidate and name of each directory: the register knows them already."""
        return ((name, tree) for name, trees in self.trees.items() for tree in trees)


def survivors_of(
    past: Past,
    plan: Plan,
    providers: Mapping[str, Provider],
    keeper: Provider,
    *,
    unusable: str | None,
) -> Survivors:
    """What is there; the contents of a master copy are yet to be proven, with `proven`.

    `unusable` is why nothing at all may be used, None where it may. Changes nothing.
    """
    if unusable is not None:
        return Survivors(lost=unusable)
    places = {name: each.survives(past.run_id) for name, each in providers.items()}
    master, lost = _master(past, keeper.survives(past.run_id))
    trees = {
        name: frozenset({DATA})
        for name, place in places.items()
        if place is not None and _has_database(name, place, past, plan)
    }
    if master is not None:
        trees[KEEPER] = frozenset({MASTER})
    return Survivors(trees, master, lost)


def _has_database(name: str, place: Path, past: Past, plan: Plan) -> bool:
    """Whether a whole window, or the final check of it, was the last that touched the database."""
    if not (place / DATA).is_dir():
        return False
    touched = past.touched.get(name)
    if touched is None:
        return False
    ends = {step.id for step in plan.steps if step.at_end}
    return touched.id in ends or (touched.kind == "window" and touched.id in past.finished)


def _master(past: Past, place: Path | None) -> tuple[Path | None, str | None]:
    """Where the master copy lies, or why there is none; `place` is what its keeper has."""
    if past.master is None:
        return None, "its master copy had not been finished"
    if place is None:
        return None, "its master copy is gone: the directory that it lay in was removed"
    if (place / MASTER).is_symlink() or not (place / MASTER).is_dir():
        return None, f"its master copy {place / MASTER} is gone"
    return place / MASTER, None


def proven(master: Path, sha256: str) -> tuple[Contents | None, str | None]:
    """The contents of a master copy if they are what they were, or why it cannot be used."""
    try:
        contents = contents_of(master)
    except (OSError, StithyError) as error:
        return None, f"its master copy {master} cannot be read: {error}"
    if contents.sha256 != sha256:
        return None, f"its master copy {master} is not as it was made"
    return contents, None


def spared(makings: Iterable[Making], survivors: Survivors) -> tuple[Making, ...]:
    """The things that are not left alone."""
    return tuple(each for each in makings if not survivors.spare(each))
