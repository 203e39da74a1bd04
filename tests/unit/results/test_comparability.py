"""What makes runs comparable: every fact that differs is found, named, and may be ignored."""

from dataclasses import replace
from typing import Any

import pytest

from stithy.errors import UserError
from stithy.hosts.facts import read_machine_facts
from stithy.results import comparability as facts
from stithy.results.comparability import find_differences
from stithy.results.manifest import Fact, LoadFacts, Manifest, RoleFacts
from support.sample_run import Shape, manifest

NAMES = ("disk", "memory")
BASE = manifest(Shape(drives={"disk": 0.0}))


def _machine(**known: Any) -> Manifest:
    new = {name: Fact(value=value) for name, value in known.items()}
    return BASE.model_copy(update={"environment": {**BASE.environment, **new}})


def _first(**changes: Any) -> Manifest:
    first = BASE.candidates[0].model_copy(update=changes)
    return BASE.model_copy(update={"candidates": (first, *BASE.candidates[1:])})


def _drive(**known: Any) -> Manifest:
    return _first(drives=(BASE.candidates[0].drives[0].model_copy(update=known),))


def _device(device: str, firmware: str) -> Manifest:
    known: dict[str, Any] = {"devices": (device,), f"device.{device}.firmware": firmware}
    return _first(environment={name: Fact(value=value) for name, value in known.items()})


def _versions(**known: str) -> Manifest:
    own = [
        candidate.model_copy(update={"server_version": known[candidate.name]})
        for candidate in BASE.candidates
    ]
    database = BASE.database.model_copy(update={"server_version": None})
    return BASE.model_copy(update={"given_database": database, "candidates": tuple(own)})


def _setting(**settings: str) -> Manifest:
    effective = {**(BASE.database.effective_settings or {}), **settings}
    database = BASE.database.model_copy(update={"effective_settings": effective})
    return BASE.model_copy(update={"given_database": database})


def _shape(**changes: Any) -> Manifest:
    return manifest(Shape(drives={"disk": 0.0}, **changes))


@pytest.mark.parametrize(("other", "shown", "needed"), [
    (BASE, [], True),
    (_shape(duration_s=30), ["duration_s: 20 and 30"], True),
    (_shape(seed=2), ["seed: 1 and 2"], False),
    (_setting(fsync="off"), ["settings.fsync: on and off"], True),
    (_machine(kernel="6.2.0", cpus=4), ["cpus: 2 and 4", "kernel: 6.1.0 and 6.2.0"], True),
    (_machine(memory_bytes=2**33 - 2**24), [], True),
    (_machine(memory_bytes=2**32), ["memory_bytes: "], True),
    (_machine(cpu_governor="performance"), ["cpu_governor: not known and performance"], True),
    (_first(memory_limit_bytes=2**31),
     ["disk: memory_limit_bytes: 1073741824 and 2147483648"], True),
    (_first(cpus=(1, 3)), ["disk: server_cpus: not known and 2"], True),
    (_first(effective_settings={"work_mem": "8MB", "fsync": "off"}),
     ["disk: settings.fsync: on and off", "disk: settings.work_mem: not known and 8MB"], True),
    (_versions(disk="15.13", memory="16.2"), ["memory: server_version: 15.13 and 16.2"], True),
    (_drive(transport_s=1.0, seed=9), [], True),
    (_drive(profile="name = 'other'"), ["disk: drive.data.profile: "], True),
])  # fmt: skip
def test_what_numbers_rest_on_is_needed_and_a_seed_is_not(
    other: Manifest, shown: list[str], needed: bool
) -> None:
    """Each by its name and with both values; what the kernel keeps of the memory is no change."""
    found = [
        difference
        for difference in find_differences(BASE, other, NAMES)
        if difference.needed is needed
    ]
    assert len(found) == len(shown)
    assert all(str(each).startswith(start) for each, start in zip(found, shown, strict=True))


def test_devices_are_told_by_place_and_ignored_by_any_part_of_their_name() -> None:
    """Two runs on the same emulated drive have it as loop0 and as loop3."""
    base, other = _device("loop0", "1.0"), _device("loop3", "1.1")
    assert find_differences(base, _device("loop3", "1.0"), NAMES) == ()
    (firmware,) = find_differences(base, other, NAMES)
    assert str(firmware) == "disk: device.1.firmware: 1.0 and 1.1"
    assert find_differences(base, other, ("memory",)) == ()
    words = ("device.1.firmware", "firmware", "device", "firm")
    assert [facts.is_ignored(firmware, [word]) for word in words] == [True, True, True, False]


def test_devices_of_a_role_on_its_own_source_are_told_by_role_and_place() -> None:
    """A log on another device is another storage, though its file system is the same."""

    def run(device: str, model: str) -> Manifest:
        log = RoleFacts(
            role="log", path="/log", filesystem="ext4", mount_options="rw", devices=(device,)
        )
        known: dict[str, Any] = {
            "role.log.devices": (device,),
            f"role.log.device.{device}.model": model,
        }
        return _first(
            roles=(log,), environment={name: Fact(value=value) for name, value in known.items()}
        )

    base = run("nvme0n1", "FAST")
    assert find_differences(base, run("nvme1n1", "FAST"), NAMES) == ()
    (model,) = find_differences(base, run("sda", "SLOW"), NAMES)
    assert str(model) == "disk: role.log.device.1.model: FAST and SLOW"
    assert facts.is_ignored(model, ["model"])


def test_a_refusal_names_every_fact_and_how_to_ignore_it() -> None:
    """All at once; a word that is no fact is refused, one that does not differ is not."""
    error = facts.NotComparable(
        "b", "a", find_differences(BASE, _machine(kernel="6.2.0", cpus=4), NAMES)
    )
    assert "not comparable with a: cpus, kernel" in str(error)
    assert [part.remedy for part in error.parts()] == ["--ignore cpus", "--ignore kernel"]
    with pytest.raises(UserError, match="did you mean kernel"):
        facts.require_known(["kernl"], [BASE])
    facts.require_known(["kernel", "settings", "shared_buffers", "cpu_governor"], [BASE])


def _parts(made: Manifest, version: str = "0.1.0") -> dict[str, Any]:
    parts = (made.workload, made.load, made.database, made.memory)
    return dict(facts.check_comparable("load", *parts, version))


SHAPE = Shape()
LEDGER = manifest(SHAPE).load.model_copy(update={"ledger": True})
DATA = manifest(SHAPE).workload.model_copy(update={"data_compressible_percent": 50})


def test_the_key_changes_with_what_changes_numbers() -> None:
    """Not with the candidates: two runs on different storage are what one wants to compare."""
    made = manifest(SHAPE)
    parts = _parts(made)
    key = facts.make_comparability_key(parts)
    assert key == facts.make_comparability_key(dict(reversed(parts.items())))
    for other, same in (
        (manifest(replace(SHAPE, candidates=("a", "b"))), True),
        (manifest(replace(SHAPE, users=(2,))), True),
        (manifest(replace(SHAPE, duration_s=21)), False),
        (manifest(replace(SHAPE, memory_limit_enforced=False)), False),
        (made.model_copy(update={"given_load": LEDGER}), False),
        (made.model_copy(update={"given_workload": DATA}), False),
    ):
        assert (facts.make_comparability_key(_parts(other)) == key) == same
    assert [_parts(made, name)["driver"] for name in ("0.4.1", "2.3.1")] == ["0.4", "2"]


def test_of_what_varies_the_points_say_how_much_it_was() -> None:
    """Another value in the sections is no difference then; that one run varies it is one."""

    def parts(warehouses: int, pool: int | None, *, varied: bool) -> dict[str, Any]:
        own = (("warehouses",), ("connections",)) if varied else ((), ())
        workload = BASE.workload.model_copy(
            update={"size": {"warehouses": warehouses}, "varied": own[0]}
        )
        load = BASE.load.model_copy(update={"connections": pool, "varied": own[1]})
        found = facts.check_comparable("load", workload, load, BASE.database, BASE.memory, "1.2.3")
        return dict(found)

    assert parts(2, 8, varied=True) == parts(6, None, varied=True)
    assert parts(2, 8, varied=False) != parts(6, 8, varied=False)
    one, several = (
        BASE.model_copy(update={"comparability": parts(2, None, varied=varied)})
        for varied in (False, True)
    )
    shown = [str(difference) for difference in find_differences(one, several, NAMES)]
    assert "workload.warehouses: 2 and not known" in shown


@pytest.mark.parametrize("effective", [None, {"wal_level": "replica", "work_mem": "4MB"}])
def test_what_the_base_gives_a_server_is_no_difference_where_it_varies(
    effective: dict[str, str] | None,
) -> None:
    """Whether or not the settings in force are known; that one run varies it is one."""

    def made(memory: int, setting: str, *, varied: bool) -> Manifest:
        known = None if effective is None else {**effective, "work_mem": setting}
        database = BASE.database.model_copy(update={
            "settings": {"Work_Mem": setting, "jit": "off"}, "effective_settings": known,
            "varied": ("work_mem",) if varied else (),
        })  # fmt: skip
        assert BASE.memory is not None
        limit = BASE.memory.model_copy(update={
            "limit_bytes": memory, "varied": ("limit_bytes",) if varied else (),
        })  # fmt: skip
        parts = facts.check_comparable("load", BASE.workload, BASE.load, database, limit, "1.2.3")
        new = {"given_database": database, "memory": limit, "comparability": dict(parts)}
        return BASE.model_copy(update=new)

    varied, other = made(2**28, "4MB", varied=True), made(2**30, "8MB", varied=True)
    assert find_differences(varied, other, NAMES) == ()
    assert varied.comparability == other.comparability
    shown = [
        str(difference)
        for difference in find_differences(varied, made(2**28, "4MB", varied=False), NAMES)
    ]
    assert sorted(shown) == [
        "memory_limit_bytes: not known and 268435456", "settings.work_mem: not known and 4MB",
    ]  # fmt: skip
    own = made(2**28, "4MB", varied=False)
    first = own.candidates[0].model_copy(update={"memory_limit_bytes": 2**29})
    own = own.model_copy(update={"candidates": (first, *own.candidates[1:])})
    shown = [str(each) for each in find_differences(varied, own, NAMES)]
    assert "disk: memory_limit_bytes: not known and 536870912" in shown


def test_every_part_of_the_key_and_every_fact_of_a_machine_has_a_meaning() -> None:
    """What is added there must be said here: may it differ?"""
    called = {"cpus": "server_cpus", "driver": "driver_generation"}
    parts = [called.get(name, name) for name in BASE.comparability if name != "settings"]
    machine = [name for name in read_machine_facts() if name != "mitigation"]
    load = LoadFacts.model_fields.keys() - {"varied"}  # which says which of them the points have
    assert all(facts.find_meaning(name) for name in (*parts, *load, *machine))
