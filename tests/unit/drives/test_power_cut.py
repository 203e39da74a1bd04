"""The order of a machine's power cut, and what makes it worthless, on drives that remember."""

from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from stithy.drives import filesystems, power_cut
from stithy.drives.power_cut import CutRule, MountedDrive
from stithy.errors import InfrastructureError, PreconditionError
from stithy.hosts.runner import Runner
from stithy.wire.drive.control import AnswerPowerCut

OPERATIONS = ("read", "write", "flush", "discard")


class Counters:
    """What a drive did: so many of each operation, of which so many failed."""

    def __init__(self, answered: int, errors: int) -> None:
        self.operations = [Operation(name, answered, errors) for name in OPERATIONS]


class Operation:
    """One operation's counters."""

    def __init__(self, name: str, answered: int, errors: int) -> None:
        self.name, self.answered, self.errors = name, answered, errors


class Remembering:
    """A control that writes down what it is told; `late` requests succeed after the stop."""

    def __init__(self, name: str, events: list[str], late: int = 0) -> None:
        self._name, self._events, self._late = name, events, late
        self._asked = 0

    def fault(self, name: str, fault: Any) -> AnswerPowerCut | None:
        """Remember it."""
        more = f" {fault.duration_s:g} s" if fault.kind == "stall" else ""
        self._events.append(f"{name}: {fault.kind}{more}")
        if fault.kind == "power-cut":
            return AnswerPowerCut(kept=1, torn=2, lost=3)
        return None

    def stats(self, name: str) -> Counters:
        """Ten of each before the stop; two of each refused since."""
        self._asked += 1
        return Counters(10, 0) if self._asked == 1 else Counters(12 + self._late, 2)


class Processes:
    """Processes that end when the drives' silence does."""

    def __init__(self, events: list[str], stubborn: bool = False) -> None:
        self._events, self._stubborn = events, stubborn
        self._seen = 0

    def __call__(self) -> list[int]:
        """One that is there at first, and one that it made before it was killed."""
        if "log: stall 0 s" in self._events and not self._stubborn:
            return []
        self._seen += 1
        return [101] if self._seen == 1 else [101, 102]

    def kill(self, pid: int) -> None:
        """Remember it."""
        self._events.append(f"kill {pid}")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done, in order; file systems only say so."""
    done: list[str] = []

    def told(word: str) -> Any:
        return lambda *words, **more: done.append(f"{word} {words[0]}")

    for name in ("shut_down", "unmount"):
        monkeypatch.setattr(filesystems, name, told(name))

    def mount(device: str, folder: Path, kind: str, *, runner: Runner | None = None) -> None:
        done.append(f"mount {folder}")

    monkeypatch.setattr(filesystems, "mount", mount)
    return done


def machine(events: list[str], late: int = 0) -> list[MountedDrive]:
    """Two drives."""
    return [
        MountedDrive(
            Remembering(name, events, late),  # type: ignore[arg-type]  # it answers as a Control
            name,
            f"/dev/{name}",
            Path(f"/{name}"),
            "ext4",
        )
        for name in ("data", "log")
    ]


def test_a_machine_is_cut_and_comes_back_in_order(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All drives are mute before anything is killed, and fail before anybody waits for an end."""
    processes = Processes(events)
    monkeypatch.setattr(power_cut, "kill", processes.kill)
    drives = machine(events)
    cuts = power_cut.cut_power(drives, CutRule(seed=1), processes, clock=FakeClock())
    power_cut.restore_power(drives)
    assert events == [
        "data: stall 60 s",
        "log: stall 60 s",
        "data: power-cut",
        "log: power-cut",
        "kill 101",
        "kill 102",
        "data: stall 0 s",
        "log: stall 0 s",
        "shut_down /data",
        "unmount /data",
        "shut_down /log",
        "unmount /log",
        "data: power-on",
        "log: power-on",
        "mount /data",
        "mount /log",
    ]
    assert [(each.kept, each.torn, each.lost, each.shut_down) for each in cuts] == [
        (1, 2, 3, True)
    ] * 2
    assert cuts[0].refused == dict.fromkeys(OPERATIONS, 2)


def test_a_request_that_succeeds_after_the_stop_is_an_error(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a cut proves nothing, so nobody may go on from it."""
    processes = Processes(events)
    monkeypatch.setattr(power_cut, "kill", processes.kill)
    with pytest.raises(InfrastructureError, match="reached the drive after its power was cut"):
        power_cut.cut_power(machine(events, late=1), CutRule(1), processes, clock=FakeClock())


def test_a_process_that_does_not_end_is_told_of(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its file system is left mounted, because unmounting would not succeed."""
    processes = Processes(events, stubborn=True)
    monkeypatch.setattr(power_cut, "kill", processes.kill)
    with pytest.raises(InfrastructureError, match="did not end within 30 s"):
        power_cut.cut_power(machine(events), CutRule(1), processes, clock=FakeClock())
    assert "unmount /data" not in events


def test_without_a_shutdown_errors_alone_keep_writes_back(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind of file system that cannot be shut down is unmounted all the same."""

    def refuse(folder: Path) -> None:
        raise PreconditionError("it cannot be shut down", where=str(folder), remedy="none")

    monkeypatch.setattr(filesystems, "shut_down", refuse)
    monkeypatch.setattr(power_cut, "kill", lambda pid: None)
    cuts = power_cut.cut_power(machine(events), CutRule(1), list, clock=FakeClock())
    assert [each.shut_down for each in cuts] == [False, False]
    assert "unmount /log" in events


def test_a_failed_stop_leaves_no_drive_mute(events: list[str]) -> None:
    """What was held back fails at once, so that nothing hangs."""
    drives = machine(events)

    def refuse(name: str, fault: Any) -> None:
        events.append(f"{name}: {fault.kind}")
        if fault.kind == "power-cut":
            raise PreconditionError("the power is cut already", where=name, remedy="power-on")

    drives[1].control.fault = refuse  # type: ignore[method-assign]  # one that refuses
    with pytest.raises(PreconditionError):
        power_cut.cut_power(drives, CutRule(1), list, clock=FakeClock())
    assert events[-2:] == ["data: stall 0 s", "log: stall"]
