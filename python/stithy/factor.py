"""What a factor says of itself: what its values count, as people say it, and its short word.

An activity declares the factors that are its own as `FACTORS`, such as the users of a load. Any
other factor is known by its key in the study alone: its values are said as they are written.
"""

from dataclasses import dataclass, replace

from stithy.registry import plugins


@dataclass(frozen=True)
class Factor:
    """A factor by its name in studies, points and tables; `title` is what an axis of it is called.

    `unit`: one of what its values count, which are whole numbers and the levels of a study; empty
    for all other factors. `short`: its word in names of files, where that is not the last part of
    its name. `open_loop`: title and unit in an open loop, where they differ.
    """

    name: str
    title: str
    unit: str = ""
    short: str = ""
    open_loop: tuple[str, str] | None = None

    @property
    def counts(self) -> bool:
        """Whether its values are whole numbers of something."""
        return bool(self.unit)

    @property
    def plural(self) -> str:
        """What its values count; its name where they count nothing."""
        return f"{self.unit}s" if self.unit else self.name

    def driven(self, *, is_open: bool) -> "Factor":
        """The same as it is called where users are driven so."""
        title, unit = self.open_loop if is_open and self.open_loop else (self.title, self.unit)
        return replace(self, title=title, unit=unit)


def factor_named(name: str) -> Factor:
    """What is declared of a factor, or what holds for any other."""
    return declared().get(name) or Factor(name, title=name)


def level_factor() -> Factor:
    """The factor whose values are levels: that of a load."""
    return next(each for each in declared().values() if each.counts)


def declared() -> dict[str, Factor]:
    """All that activities declare, by name."""
    modules = plugins("activity").values()
    return {each.name: each for module in modules for each in getattr(module, "FACTORS", ())}
