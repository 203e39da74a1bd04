"""A power cut under the users of one window, and what is there when the power is back.

Users work at the drives' pace, and so does what comes back: a cluster, and the database. Checks of
the file system, and all after the first commit, take the drives no time.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial

from stithy.activities.hammer.activity import choose_pace, make_request
from stithy.cluster.daemons import read_health, wait_for_health
from stithy.cluster.scrub import scrub_deeply
from stithy.collectors.collector import TimedSample
from stithy.drives import filesystems
from stithy.drives.power_cut import DriveCut, check_file_system, select_mounts
from stithy.engines.engine import get_engine
from stithy.engines.served import ServerProcess
from stithy.errors import InfrastructureError, StithyError
from stithy.hosts.processes import find_pids_inside
from stithy.plan.steps import WindowPlan
from stithy.results.convert import make_ledger_finding_rows, make_ledger_rows
from stithy.results.tables import LEDGER, LEDGER_FINDINGS, Row, Table
from stithy.run.activity import Activity, BasicActivity, Span, Subject, Times, WindowValue
from stithy.run.context import Context
from stithy.run.volumes import get_parts
from stithy.scenarios.durability import declared
from stithy.scenarios.durability.declared import CONTROL, GIVEN_UP, LYING, NONE
from stithy.scenarios.durability.plan import choose_cut_s, choose_host
from stithy.scenarios.durability.trial import (
    LEDGER_S,
    Aftermath,
    choose_rule,
    commit_first,
    run_users,
)
from stithy.storage.emulation import list_mounted_drives, suspend_pacing
from stithy.storage.power import cut_volume, list_laboratories, power_on
from stithy.storage.provider import Volume
from stithy.study.database import of_candidate
from stithy.units import format_measured_duration
from stithy.wire.drive import jobs
from stithy.wire.hammer import Driven, Hammer, ProgressWatch

POLL_S = 0.05
COMMITS_LEAST = 20
"""Own: a cut of nothing would prove nothing."""

PATIENCE_S = 60.0
FIRST = "first-commit.jsonl"
NOT_RECOVERED = "the database did not recover, or nothing was committed"
NOT_COMPARED = "the ledger could not be compared"
NO_CLUSTER = "its storage is no cluster"
NO_HOST_LATE = "all hosts had power when the database came back"
NOT_SCRUBBED = "the cluster could not be scrubbed"


class CutActivity(BasicActivity):
    """Users, a power cut, and the recovery."""

    who = "the power cut"

    def __init__(self, context: Context, window: WindowPlan) -> None:
        """Nothing has begun."""
        super().__init__(context, window)
        study, name = context.file.study.at(window.point), window.candidate
        self._data = get_parts(self._volume).data
        self._host = choose_host(study, window)
        self._engine = get_engine(study.database.engine)
        self._control = str(window.point.values[CONTROL])
        self._is_given_up = bool(of_candidate(study.given_up, name))
        self._rule, self._cut_after_s = choose_rule(study, window), choose_cut_s(study, window)
        self._directory = context.session.directory.window(window.id)
        self._found: Aftermath | None = None
        self._cuts: tuple[DriveCut, ...] = ()
        self._at_s: dict[str, float] = {}
        self._is_off = False

    @property
    def _volume(self) -> Volume:
        """As it is now: after a cut an image may be another device."""
        return self.context.volumes.of(self.window.candidate)

    @contextmanager
    def ready(self) -> Iterator[Subject]:
        """The server runs; afterwards the drives have power, whatever happened."""
        window, servers = self.window, self.context.servers
        if self._control == GIVEN_UP:
            servers.more[self._data] = self._engine.unsafe_settings
        try:
            with (
                servers.limited(window.candidate, window.point) as limit,
                servers.running(
                    window.candidate, self._directory.server_log, point=window.point,
                    memory_cgroup=limit.group.path if limit.group else None,
                ) as self._instance,
                self._keep_power(),
            ):  # fmt: skip
                yield Subject()
                if self._found is not None:
                    self._examine(self._found)
                    self._instance.stop(at_once=True)  # nobody reads what it would write
        finally:
            servers.more.pop(self._data, None)

    @contextmanager
    def _keep_power(self) -> Iterator[None]:
        try:
            yield
        finally:
            drives = list_mounted_drives(self._volume)
            with suppress(StithyError):  # a drive that is gone needs no power
                for drive in drives:
                    drive.control.set_fault(drive.name, jobs.NoFault())
                if self._is_off:
                    self._power_on()
                if not all(filesystems.is_mounted(drive.folder) for drive in drives):
                    self.context.volumes.mount_again(self.window.candidate)
            if "cut" in self._at_s and (self._found is None or self._found.is_lost()):
                # Whatever else the cut has spoiled, no later window finds it.
                self.context.volumes.lost[self.window.candidate] = "a power cut spoiled it"
            elif self._found is not None and not self._found.is_examined:
                self.context.volumes.moved.add(self.window.candidate)

    def act(self) -> None:
        """Let users work, cut the power under them, and start the server again."""
        session, at = self.context.session, self._at_s
        if self.window.checkpoint:
            self._instance.checkpoint()
        if self._control == LYING:
            for drive in list_mounted_drives(self._volume):
                drive.control.set_fault(drive.name, jobs.LyingFlush())
        began_s = session.clock.now_s()
        session.start.give(began_s)
        self._cut_under_load(began_s)
        from_s = min(began_s + self.window.ramp_up_s, at["cut"])
        self.times = Times(began_s, from_s, at["cut"], complete=True)
        self._found = found = Aftermath()
        self._bring_back(found)
        at["back"] = session.clock.now_s()
        if not found.damage:
            self._recover(found)
            at["recovered"] = session.clock.now_s()

    def _cut_under_load(self, began_s: float) -> None:
        clock, stop = self.context.session.clock, self.context.session.stop
        waits = self._control != GIVEN_UP and not self._is_given_up
        linger_s = LEDGER_S if self._engine.declaration.is_embedded and waits else 0.0
        program = self.context.servers.find_held(self.window.candidate).engine.program
        server = self._instance

        def list_pids() -> list[int]:
            pids = find_pids_inside(self._data, program)
            if pids or not isinstance(server, ServerProcess) or server.ended_by() is not None:
                return pids
            return [server.pid]  # a thread may end after the one that names the process

        with run_users(self._drive_users, self._directory.hammer_output) as users:
            while clock.now_s() < began_s + self._cut_after_s and not stop.asked.wait(POLL_S):
                users.check()
            stop.check()
            users.wait_for_commits(COMMITS_LEAST, PATIENCE_S)
            users.check()
            if users.committed < COMMITS_LEAST:
                raise InfrastructureError(
                    f"users committed {users.committed} transactions before the power cut, and "
                    f"fewer than {COMMITS_LEAST} prove nothing",
                    where=f"window {self.window.id}",
                    remedy="measure for longer, or with more users",
                )
            self._at_s["cut"], self._is_off = clock.now_s(), True
            self._cuts = cut_volume(
                self._volume, self._rule, list_pids, host=self._host, linger_s=linger_s
            )
        if isinstance(server, ServerProcess):
            server.stop(at_once=True)
        self._at_s["dead"] = clock.now_s()

    def _drive_users(self, watch: ProgressWatch) -> Driven:
        window, context = self.window, self.context
        pace = choose_pace(context, window)
        request = make_request(context.file.study, window, self._directory, pace)
        # They go on until the cut, which may be late where the machine is.
        longer_s = window.duration_s + 2 * PATIENCE_S
        asked = request.model_copy(update={"duration_s": longer_s, "hlog_stem": None})
        return self._make_hammer().run(context.choice_at(window.point), asked, watch=watch)

    def _bring_back(self, found: Aftermath) -> None:
        clock, clusters = self.context.session.clock, list(list_laboratories(self._volume))
        from_s = clock.now_s() if self._host is None else self._at_s["cut"]

        def restore() -> None:
            if self._host is None:
                self._power_on()
            found.notes += self.context.volumes.mount_again(self.window.candidate)
            if clusters:
                found.storage_s = clock.now_s() - from_s

        def check() -> None:
            for drive in select_mounts(list_mounted_drives(self._volume)):
                checked = check_file_system(drive)
                if not checked.clean:
                    text = " ".join(checked.text.splitlines()[-3:])
                    found.damage.append(f"the file system is not clean: {text}")

        with nullcontext() if clusters else suspend_pacing(self._volume.drives):
            is_back = found.keep("the storage did not come back", restore)
        if is_back:
            with suspend_pacing(self._volume.drives):
                found.keep("the file system could not be checked", check)

    def _power_on(self) -> None:
        power_on(self._volume, self._host)
        self._is_off = False

    def _recover(self, found: Aftermath) -> None:
        """Start the server, which recovers, and let one user do one transaction."""
        clock = self.context.session.clock
        began_s, server = clock.now_s(), self._instance
        # Who opens a file of an engine without a server recovers it.
        start = partial(self.context.servers.start_again, self.window.candidate)
        work_of = start if isinstance(server, ServerProcess) else server.facts
        if not found.keep("the database did not recover", work_of):
            return
        answered_s, seed = clock.now_s() - began_s, self._rule.seed
        choice, output = self.context.choice_at(self.window.point), self._directory.root

        def work() -> None:
            first_s = commit_first(self._make_hammer(), choice, seed, output / FIRST)
            found.recovery_s = None if first_s is None else answered_s + first_s

        found.keep("no transaction could be committed", work)

    def _examine(self, found: Aftermath) -> None:
        """Look at all that came back, for which no user waits."""
        context, directory, hammer = self.context, self._directory, self._make_hammer()
        choice, output = context.choice_at(self.window.point), directory.check_output
        watch = ProgressWatch(raw_output=directory.ledger_output)
        if self._host is not None and not found.damage:
            self._return_host(found)
        if not found.damage:
            with suspend_pacing(self._volume.drives), self._scrub_beside(found):
                found.read({
                    NOT_COMPARED: lambda: found.add_ledger(
                        hammer.verify_ledger(choice, directory.ledger, watch=watch)
                    ),
                    "conditions could not be verified": lambda: found.add_conditions(
                        context.verify_conditions(hammer, choice, output, quick=False)
                    ),
                    "the engine's own check failed": lambda: found.add_check(
                        self._engine.find_damage(self._instance)
                    ),
                })  # fmt: skip
        found.require_work(f"window {self.window.id}")
        found.is_examined = True

    def _return_host(self, found: Aftermath) -> None:
        """Give the host that was off its power back, and wait until it has what it missed."""
        from_s = self.context.session.clock.now_s()

        def work() -> None:
            self._power_on()
            self._wait_for_health()
            found.rebuild_s = self.context.session.clock.now_s() - from_s

        found.try_to("the host did not come back", work)

    def _wait_for_health(self) -> None:
        for cluster in list_laboratories(self._volume):
            pause = partial(self.context.session.stop.pause, POLL_S)
            wait_for_health(partial(read_health, *cluster), pause)

    @contextmanager
    def _scrub_beside(self, found: Aftermath) -> Iterator[None]:
        """Meanwhile all copies of the clusters are scrubbed."""
        clusters = list(list_laboratories(self._volume))
        if not found.try_to("not all copies came back", self._wait_for_health):
            yield
            return
        pause = partial(self.context.session.stop.pause, POLL_S)
        with ThreadPoolExecutor() as pool:
            scrubs = [pool.submit(scrub_deeply, folder, entry, pause)
                      for folder, entry in clusters]  # fmt: skip
            yield
            found.try_to(
                NOT_SCRUBBED, lambda: found.add_scrubs([scrub.result() for scrub in scrubs])
            )

    def _make_hammer(self) -> Hammer:
        """The driver; where the database runs in it, it works in its folder and is found there."""
        hammer, url = self.context.hammer(self._instance.url), self._instance.url.reveal()
        limits = self.context.servers.embedded.get(url)
        if limits is not None and isinstance(hammer, Hammer):
            hammer.limit_process(replace(limits, directory=self._data))
        return hammer

    def values(self) -> Iterator[WindowValue]:
        """Whether anything was lost, and how long recovery took."""
        found = self._found
        if found is None or not found.is_examined or self.times is None:
            return
        promised = self._control == NONE and not self._is_given_up
        yield WindowValue(declared.PROMISED, float(promised))
        yield WindowValue(declared.LOST, float(found.is_lost()))
        for name, value, because in (
            (declared.RECOVERY, found.recovery_s, NOT_RECOVERED),
            (declared.ACKNOWLEDGED, found.acknowledged, NOT_COMPARED),
            (declared.GONE, found.gone, NOT_COMPARED),
            *self._list_of_cluster(found),
        ):
            missing = because if value is None else None
            yield WindowValue(name, value, missing_because=missing)
        yield WindowValue("cut.at_s", self._at_s["cut"] - self.times.started_at_s)
        yield WindowValue("cut.writes_kept", float(sum(cut.kept for cut in self._cuts)))
        yield WindowValue("cut.writes_torn", float(sum(cut.torn for cut in self._cuts)))
        yield WindowValue("cut.writes_lost", float(sum(cut.lost for cut in self._cuts)))

    def _list_of_cluster(self, found: Aftermath) -> Iterator[tuple[str, float | None, str]]:
        """What only a cluster has, each with why it is missing elsewhere."""
        entries = [entry for _, entry in list_laboratories(self._volume)]
        spared = None if self._host is None else max(entry.hosts for entry in entries) - 1
        late = NO_HOST_LATE if entries else NO_CLUSTER
        yield declared.SPARED, spared or (0.0 if entries else None), NO_CLUSTER
        yield declared.STORAGE, found.storage_s, NOT_RECOVERED if entries else NO_CLUSTER
        yield declared.REBUILD, found.rebuild_s, NOT_RECOVERED if spared else late
        yield declared.INCONSISTENT, found.inconsistent, NOT_SCRUBBED if entries else NO_CLUSTER

    def spans(self) -> Iterator[Span]:
        """The cut, the time without power and file systems, and recovery with what came of it."""
        at, found = self._at_s, self._found
        if found is None or "back" not in at:
            return
        yield Span("cut", at["cut"], at["dead"], "; ".join(found.notes) or "done")
        yield Span("power", at["dead"], at["back"], "back")
        yield Span("recovery", at["back"], at.get("recovered"), found.describe())

    def tables(self, _: Sequence[TimedSample]) -> Iterator[tuple[Table, list[Row]]]:
        """What the ledger says; what a control loses is not missed."""
        name, is_real = self.window.id, self._control == NONE
        verified = self._found.ledger if self._found and is_real else None
        yield LEDGER, make_ledger_rows(name, verified.summary) if verified else []
        yield LEDGER_FINDINGS, make_ledger_finding_rows(name, verified.findings) if verified else []

    def said(self) -> str:
        """What the cut lost, and how long recovery took."""
        found = self._found
        if found is None:
            return "no power cut"
        time = "" if found.recovery_s is None else (
            f", recovered in {format_measured_duration(found.recovery_s)}"
        )  # fmt: skip
        return f"{'LOST: ' if found.is_lost() else ''}{found.describe()}{time}"


PLUGINS = (Activity(declared.ACTIVITY, CutActivity),)
