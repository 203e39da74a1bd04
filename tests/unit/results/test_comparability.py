"""What makes runs comparable: every fact that differs is found, named, and may be ignored."""

from dataclasses import replace
from typing import Any

import pytest

from stithy.errors import UserError
from stithy.hosts.facts import machine_facts
from stithy.results.comparability import (
    MEANINGS,
    NotComparable,
    comparability,
    comparability_key,
    differences,
    ignored,
    meaning,
    require_known,
)
from stithy.results.manifest import CandidateFacts, Fact, LoadFacts, Manifest
from support.sample_run import Shape, manifest

NAMES = ("disk", "memory")


def changed(base: Manifest, **facts: Any) -> Manifest:
    """A manifest with other facts of the machine."""
    new = {name: Fact(value=value) for name, value in facts.items()}
    return base.model_copy(update={"environment": {**base.environment, **new}})


def with_device(base: Manifest, device: str, **facts: Any) -> Manifest:
    """A manifest whose first candidate lies on this block device."""
    environment = {
        "devices": Fact(value=(device,)),
        **{f"device.{device}.{name}": Fact(value=value) for name, value in facts.items()},
    }
    first: CandidateFacts = base.candidates[0].model_copy(update={"environment": environment})
    return base.model_copy(update={"candidates": (first, *base.candidates[1:])})


def test_a_run_is_comparable_with_itself_and_with_another_seed() -> None:
    """The seed is told, and needs not be equal: other seeds must give the same answer."""
    base = manifest(Shape())
    assert differences(base, base, NAMES) == ()
    (seed,) = differences(base, manifest(Shape(seed=2)), NAMES)
    assert (str(seed), seed.needed) == ("seed: 1 and 2", False)


def test_what_numbers_rest_on_is_needed() -> None:
    """Load, settings in force, machine: each by its name and with both values."""
    base = manifest(Shape())
    other = changed(manifest(Shape(duration_s=30)), kernel="6.2.0", cpus=4)
    effective = {**(base.database.effective_settings or {}), "fsync": "off"}
    database = other.database.model_copy(update={"effective_settings": effective})
    found = differences(base, other.model_copy(update={"database": database}), NAMES)
    assert [str(each) for each in found if each.needed] == [
        "duration_s: 20 and 30",
        "settings.fsync: on and off",
        "cpus: 2 and 4",
        "kernel: 6.1.0 and 6.2.0",
    ]


def test_memory_may_differ_by_what_the_kernel_keeps() -> None:
    """A hundredth at a boot; more is another machine."""
    base = manifest(Shape())
    assert differences(base, changed(base, memory_bytes=2**33 - 2**24), NAMES) == ()
    assert differences(base, changed(base, memory_bytes=2**32), NAMES) != ()


def test_a_fact_known_in_one_run_only_differs() -> None:
    """Nobody can say that it is the same; what neither knows is."""
    base = manifest(Shape())
    (one,) = differences(base, changed(base, cpu_governor="performance"), NAMES)
    assert str(one) == "cpu_governor: not known and performance"


def test_the_devices_of_a_candidate_are_told_by_place_and_not_by_the_kernels_number() -> None:
    """Two runs on the same emulated drive have it as loop0 and as loop3."""
    base = with_device(manifest(Shape()), "loop0", model="x", firmware="1.0")
    same = with_device(manifest(Shape()), "loop3", model="x", firmware="1.0")
    other = with_device(manifest(Shape()), "loop3", model="x", firmware="1.1")
    assert differences(base, same, NAMES) == ()
    (firmware,) = differences(base, other, NAMES)
    assert str(firmware) == "disk: device.1.firmware: 1.0 and 1.1"
    assert differences(base, other, ("memory",)) == ()


def test_emulated_drives_are_held_to_their_profiles_and_not_to_their_numbers() -> None:
    """What was measured of a drive's transport differs from run to run; its profile must not."""
    base = manifest(Shape(drives={"disk": 0.0}))
    (drive,) = base.candidates[0].drives
    assert differences(base, changed_drive(base, transport_s=1.0, seed=9), NAMES) == ()
    (found,) = differences(base, changed_drive(base, profile=drive.profile + "\n# other"), NAMES)
    assert (found.subject, found.name) == ("disk", f"drive.{drive.role}.profile")
    assert found.base != found.other


def changed_drive(base: Manifest, **facts: Any) -> Manifest:
    """A manifest with other facts of the emulated drive of its first candidate."""
    (drive,) = base.candidates[0].drives
    first = base.candidates[0].model_copy(update={"drives": (drive.model_copy(update=facts),)})
    return base.model_copy(update={"candidates": (first, *base.candidates[1:])})


@pytest.mark.parametrize(
    ("word", "meant"),
    [("device.1.firmware", True), ("firmware", True), ("device", True), ("firm", False)],
)
def test_a_fact_is_ignored_by_its_name_or_by_a_part_at_a_dot(word: str, meant: bool) -> None:
    """So that nobody has to know how many devices there are."""
    base = with_device(manifest(Shape()), "vda", firmware="1.0")
    other = with_device(manifest(Shape()), "vda", firmware="1.1")
    (firmware,) = differences(base, other, NAMES)
    assert ignored(firmware, [word]) == meant


def test_a_word_that_is_no_fact_is_refused() -> None:
    """With the one that was meant; a fact that does not differ may well be ignored."""
    base = manifest(Shape())
    with pytest.raises(UserError, match="did you mean kernel"):
        require_known(["kernl"], [base])
    require_known(["kernel", "settings", "shared_buffers", "cpu_governor"], [base])


def test_a_refusal_names_every_fact_and_how_to_ignore_it() -> None:
    """All at once, as with a study file."""
    base = manifest(Shape())
    found = differences(base, changed(base, kernel="6.2.0", cpus=4), NAMES)
    error = NotComparable("b", "a", found)
    assert "not comparable with a: cpus, kernel" in str(error)
    assert [part.remedy for part in error.parts()] == ["--ignore cpus", "--ignore kernel"]


def test_every_part_of_the_key_and_every_fact_of_a_machine_has_a_meaning() -> None:
    """What is added there must be said here: may it differ?"""
    names = {"cpus": "server_cpus", "driver": "driver_generation"}
    for name in manifest(Shape()).comparability:
        assert name == "settings" or meaning(names.get(name, name)), name
    for name in LoadFacts.model_fields:
        assert meaning(name), name
    for name in machine_facts():
        assert name == "mitigation" or meaning(name), name
    assert all(each.text for each in MEANINGS.values())


def key(made: Manifest) -> str:
    """The comparability key from the manifest's own facts."""
    parts = comparability(made.workload, made.load, made.database, made.memory, made.stithy_version)
    return comparability_key(parts)


def test_the_key_changes_with_what_changes_numbers_and_not_with_the_candidates() -> None:
    """Two runs on different storage are what one wants to compare."""
    shape = Shape()
    usual = key(manifest(shape))
    assert key(manifest(replace(shape, candidates=("a", "b")))) == usual
    assert key(manifest(replace(shape, users=(2,)))) == usual
    assert key(manifest(replace(shape, duration_s=21))) != usual
    assert key(manifest(replace(shape, memory_limit_enforced=False))) != usual
    made = manifest(shape)
    ledger = made.load.model_copy(update={"ledger": True})
    assert key(made.model_copy(update={"load": ledger})) != usual
    workload = made.workload.model_copy(update={"data_compressible_percent": 50})
    assert key(made.model_copy(update={"workload": workload})) != usual
    assert comparability_key({"a": 1, "b": {"c": 2, "d": 3}}) == comparability_key(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


@pytest.mark.parametrize(("version", "generation"), [("0.4.1", "0.4"), ("2.3.1", "2")])
def test_the_generation_of_the_driver_is_part_of_the_key(version: str, generation: str) -> None:
    """A later one may measure differently."""
    made = manifest(Shape())
    parts = comparability(made.workload, made.load, made.database, made.memory, version)
    assert parts["driver"] == generation
