"""Virtual users at work on several instances that share the candidate, all from one moment on.

Each tenant is a `hammer` of its own, on its own copy of the dataset. What all of them did together
stands where that of a single one would; of each there are values and seconds besides. A tenant
whose server ends is lost alone: the others work on.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress

from stithy.collectors.collector import TimedSample
from stithy.errors import Interrupted, StithyError, failures_of_the_machine
from stithy.plan.steps import WindowPlan
from stithy.results.tables import Row, Table
from stithy.run.activities.hammer import HammerActivity
from stithy.run.activities.tenants import merged, values
from stithy.run.activity import Measured, Span, Subject, Times
from stithy.run.context import Context
from stithy.run.volumes import tenants_of

NAME = "tenants"

LEAD_S = 1.0
LEAD_S_PER_TENANT = 0.3
"""Own: how long hammers take to open their connections before all begin; on two CPUs one starts
after the other."""


class TenantsActivity:
    """One window of several tenants; `lost`: by number why one of them counts for nothing."""

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """No server runs yet."""
        self.context, self.window = context, window
        numbers = tenants_of(window.tenants)
        self.each = tuple(HammerActivity(context, window, tenant=each) for each in numbers)
        self.lost: dict[int, str] = {}

    @property
    def kept(self) -> tuple[HammerActivity, ...]:
        """Those of whom there are numbers."""
        return tuple(each for n, each in enumerate(self.each) if n not in self.lost and each.driven)

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """All servers run, their caches warm; at the end each is checked by itself."""
        stacks: list[ExitStack] = []
        found: list[Subject] = []
        try:
            for each in self.each:
                stacks.append(stack := ExitStack())
                found.append(stack.enter_context(each.ready()))
            yield Subject(
                tuple(one for each in found for one in each.instances),
                found[0].cpus,
                frozenset().union(*(each.pids for each in found)),
            )
        except BaseException:
            for stack in reversed(stacks):
                with suppress(StithyError):
                    stack.__exit__(*sys.exc_info())
            raise
        for number, stack in reversed(list(enumerate(stacks))):
            with self._alone(number):
                stack.close()

    @contextmanager
    def _alone(self, number: int) -> Iterator[None]:
        """What fails inside is this tenant's: the others count all the same."""
        try:
            with failures_of_the_machine(f"tenant {number + 1}"):
                yield
        except Interrupted:
            raise
        except StithyError as error:
            self.lost.setdefault(number, error.text)
        if because := self.each[number].ended_because:
            self.lost[number] = because

    def begin(self) -> None:
        """Read the counters of all servers."""
        for each in self.each:
            each.begin()

    def act(self) -> None:
        """All users work, from the same moment on."""
        start_at_s = self.context.session.clock.now_s() + lead_s(len(self.each))

        def work(number: int) -> None:
            self.each[number].start_at_s = start_at_s
            with self._alone(number):
                self.each[number].act()

        with ThreadPoolExecutor(len(self.each)) as pool:
            working = [pool.submit(work, number) for number in range(len(self.each))]
        for each in working:
            each.result()
        for number, hammer in enumerate(self.each):
            if hammer.driven is not None and not hammer.driven.summary.complete:
                self.lost.setdefault(number, hammer.cut_short())

    def end(self) -> None:
        """Read the counters again."""
        for number, each in enumerate(self.each):
            with self._alone(number):
                each.end()

    def aftermath(self) -> None:
        """Compare the ledgers of those whose server ended."""
        for each in self.each:
            each.aftermath()

    @property
    def times(self) -> Times | None:
        """Those of the first tenant that was not lost: all began at once."""
        return self.kept[0].times if self.kept else None

    @property
    def ended_because(self) -> str | None:
        """Of all tenants; one that is lost alone is in the spans."""
        return next(iter(self.lost.values()), None) if len(self.lost) == len(self.each) else None

    @property
    def is_full(self) -> bool:
        """Whether any of them met a full file system."""
        return any(each.is_full for each in self.each)

    def cut_short(self) -> str:
        """Why none came to its end."""
        return next(iter(self.lost.values()), None) or self.each[0].cut_short()

    def values(self) -> Iterator[Measured]:
        """Of all together, and of each tenant."""
        return values.values(self)

    def spans(self) -> tuple[Span, ...]:
        """One for each tenant that was lost, which says why."""
        return tuple(values.spans(self))

    def tables(self, readings: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """Those of a single hammer, of all together; and the seconds of each."""
        yield from merged.tables_of(self, readings)
        yield from values.tables_of(self)

    def surroundings(self) -> Row:
        """What their servers did by themselves, in all."""
        rows = [each.surroundings() for each in self.each]
        logs = [row["log_bytes"] for row in rows]
        lost = (row["memory_limit_lost"] for row in rows)
        return rows[0] | {
            "log_bytes": None if None in logs else sum(logs),
            "memory_limit_lost": next(filter(None, lost), None),
        }

    def said(self) -> str:
        """What all did together, and who was lost."""
        return values.in_words(self)


def lead_s(tenants: int) -> float:
    """How long before the users' start their hammers begin."""
    return LEAD_S + LEAD_S_PER_TENANT * tenants


create = TenantsActivity
