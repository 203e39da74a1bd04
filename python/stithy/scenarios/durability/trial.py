"""What makes a power cut, and what comes of it.

The draw of the seed, the drives of a candidate, users until the power goes, and what is found when
it is back.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from stithy.clock import SystemClock
from stithy.cluster.scrub import ScrubResult
from stithy.drives.power_cut import CutRule
from stithy.errors import InfrastructureError, Interrupted, PreconditionError, StithyError
from stithy.plan.steps import WindowPlan
from stithy.scenarios.durability.declared import CONTROL, NONE
from stithy.scenarios.durability.plan import derive_cut_seed
from stithy.study.model import Study
from stithy.wire.hammer import Checked, Driven, Hammer, LedgerVerified, ProgressWatch
from stithy.wire.jobs import RunRequest, WorkloadChoice
from stithy.wire.messages import AnyMessage, SecondMessage

CLOCK, PAUSE_S = SystemClock(), 0.02
ALL_LOST_EVERY = 5
MOMENT_S = 0.001
"""How long the first user goes on: nobody ends within a transaction, so that it is one."""

LEDGER_S = 0.5
"""How long a driver that dies with its database goes on after its drives: what was acknowledged
reaches its ledger, whose groups are 50 ms, and nothing more is where a commit waits for a drive."""

Work = Callable[[ProgressWatch], Driven]
"""A run of the hammer that ends when its watch says so."""


def choose_rule(study: Study, window: WindowPlan) -> CutRule:
    """Choose what a cut leaves; nothing that no flush had followed survives one of a control."""
    seed, is_control = derive_cut_seed(study, window), window.point.values[CONTROL] != NONE
    return make_total_loss(seed) if is_control else make_rule(seed, window.block)


def make_rule(seed: int, number: int) -> CutRule:
    """Make the rule of a cut by its number: torn at 512 bytes or 4 KiB in turns; or all is lost."""
    if number % ALL_LOST_EVERY == ALL_LOST_EVERY - 1:
        return make_total_loss(seed)
    return CutRule(seed, unit_bytes=512 if number % 2 == 0 else 4096)


def make_total_loss(seed: int) -> CutRule:
    """Make a rule by which nothing is kept that no flush had followed."""
    return CutRule(seed, lost_share=1.0, torn_share=0.0)


class UsersAtWork:
    """Users in a thread of their own, who begin at once; `failure`: what they ended with."""

    def __init__(self, work: Work, output: Path | None) -> None:
        """`output` gets what the hammer says."""
        self.committed = 0
        self.failure: StithyError | None = None
        self._stop = threading.Event()

        def hear(message: AnyMessage) -> None:
            if isinstance(message, SecondMessage):
                self.committed += sum(each.committed for each in message.transactions)

        def run() -> None:
            try:
                work(ProgressWatch(output, hear, self._stop))
            except StithyError as error:
                self.failure = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def wait_for_commits(self, count: int, patience_s: float) -> None:
        """Return once so much was committed, or they ended, or the patience is over."""
        until_s = CLOCK.monotonic_s() + patience_s
        while self.committed < count and self._thread.is_alive() and CLOCK.monotonic_s() < until_s:
            CLOCK.sleep_s(PAUSE_S)

    def check(self) -> None:
        """Raise why they have ended by themselves, if they have."""
        if self.failure is not None:
            raise self.failure
        if not self._thread.is_alive():
            raise InfrastructureError(
                "the users ended before the power cut", where="hammer",
                remedy="read the last lines of hammer.jsonl in the window's folder",
            )  # fmt: skip

    def end(self) -> None:
        """End them, and wait for it."""
        self._stop.set()
        self._thread.join()


@contextmanager
def run_users(work: Work, output: Path | None = None) -> Iterator[UsersAtWork]:
    """Run users until the end of the block, whatever happens in it."""
    users = UsersAtWork(work, output)
    try:
        yield users
    finally:
        users.end()


def commit_first(hammer: Hammer, choice: WorkloadChoice, seed: int, output: Path) -> float | None:
    """Let one user do one transaction; its time in seconds, None where it was not committed."""
    request = RunRequest(seed=seed, users=1, ramp_up_s=0.0, duration_s=MOMENT_S)
    summary = hammer.run(choice, request, watch=ProgressWatch(raw_output=output)).summary
    return summary.ended_at_s - summary.started_at_s if summary.commits else None


@dataclass
class Aftermath:
    """What is there after a power cut; None and empty as far as it did not come to it.

    `damage`: in words what is not as it should be, apart from the ledger. `notes`: what was put
    right on the way, or not looked at. `unread`: what could not be. `recovery_s`: from the start of
    the server to the first commit. `acknowledged` and `gone`: transactions of the ledger, and those
    of them that are lost or differ, with refused ones that are there. `storage_s`: until a cluster
    served its image; `rebuild_s`: until a host that was off had what it missed. `inconsistent`:
    objects of which a copy is wrong. `is_examined`: all was looked at that can be.
    """

    damage: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    recovery_s: float | None = None
    storage_s: float | None = None
    rebuild_s: float | None = None
    inconsistent: int | None = None
    ledger: LedgerVerified | None = None
    acknowledged: int | None = None
    gone: int | None = None
    is_examined: bool = False

    def is_lost(self) -> bool:
        """Whether something acknowledged is gone, or anything is damaged or cannot be compared."""
        return bool(self.damage) or self.ledger is None or not self.ledger.summary.holds

    def describe(self) -> str:
        """What was lost or damaged, or that nothing was, in words."""
        words = list(self.damage)
        if self.gone:
            gone = f"{self.gone:,} of the ledger's transactions"
            words.insert(0, f"{gone} lost, changed, or there although refused")
        return "; ".join(words) or "nothing acknowledged is missing"

    def keep(self, what: str, work: Callable[[], object]) -> bool:
        """Do it; what it fails with is damage, but that a person wants an end. Whether it did."""
        if self.try_to(what, work):
            return True
        self.damage.append(self.unread.pop())
        return False

    def try_to(self, what: str, work: Callable[[], object]) -> bool:
        """Do it; what it fails with is no damage, but not known. Whether it did.

        What the machine refuses, such as a drive that another program holds, says nothing: raised.
        """
        try:
            work()
        except (Interrupted, PreconditionError):
            raise
        except StithyError as error:
            self.unread.append(f"{what}: {error.text}")
            return False
        return True

    def read(self, works: Mapping[str, Callable[[], object]]) -> None:
        """Read the database in several ways; damage is where none of them can."""
        before = len(self.unread)
        done = [self.try_to(what, work) for what, work in works.items()]  # each, whatever fails
        if not any(done):
            self.damage += self.unread[before:]

    def add_check(self, damage: str | None) -> None:
        """Take what the engine's own check found; None: it has none here."""
        if damage is None:
            self.notes.append("the engine has no check of its own here")
        elif damage:
            self.damage.append(f"the engine's own check: {damage}")

    def add_conditions(self, checked: Checked | None) -> None:
        """Take which conditions hold; None: the workload has none."""
        if checked is not None and checked.broken:
            numbers = ", ".join(map(str, checked.broken))
            self.damage.append(f"broken consistency conditions: {numbers}")

    def add_scrubs(self, scrubs: Sequence[ScrubResult]) -> None:
        """Take what the deep scrubs of clusters found."""
        self.inconsistent = sum(len(scrub.inconsistent) for scrub in scrubs) if scrubs else None
        wrong = (scrub.describe() for scrub in scrubs if scrub.inconsistent)
        self.damage.extend(f"the deep scrub: {words}" for words in wrong)

    def add_ledger(self, verified: LedgerVerified) -> None:
        """Count what it says."""
        entries = verified.summary.entries.values()
        self.ledger = verified
        self.acknowledged = sum(each.acknowledged for each in entries)
        self.gone = sum(each.lost + each.differing + each.returned for each in entries)

    def require_work(self, where: str) -> None:
        """Raise InfrastructureError where nothing is proven.

        Nothing was there to be lost, as transactions that only read are in no ledger, or not all of
        what is there could be read, for whatever reason.
        """
        if self.unread and not self.damage:
            raise InfrastructureError(
                "; ".join(self.unread), where=where,
                remedy="see why: the cut is not counted, as not all could be looked at after it",
            )  # fmt: skip
        if self.acknowledged == 0 and not self.damage:
            raise InfrastructureError(
                "nothing that could be lost was acknowledged before the power cut", where=where,
                remedy="give a workload that writes, or measure for longer",
            )  # fmt: skip
