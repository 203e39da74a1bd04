"""The manifest's facts and what makes runs comparable."""

import json
from dataclasses import replace

import pytest
from pydantic import ValidationError

from stithy.results.manifest import Fact, LimitFacts, Manifest, comparability, comparability_key
from support.sample_run import Shape, manifest


def key(made: Manifest) -> str:
    """The comparability key from the manifest's own facts."""
    parts = comparability(made.workload, made.load, made.database, made.memory, made.stithy_version)
    return comparability_key(parts)


def test_a_manifest_is_read_back_as_it_was_written() -> None:
    """JSON and back, equal."""
    made = manifest(Shape())
    assert Manifest.model_validate_json(made.model_dump_json()) == made


def test_a_manifest_without_a_limit_is_read() -> None:
    """Those of the first runs have none but that of a search."""
    shape = Shape(limit=LimitFacts(percentile="p95", transaction="all", limit_s=1.0))
    document = json.loads(manifest(shape).model_dump_json())
    assert Manifest.model_validate(document).plan.limit == shape.limit
    del document["plan"]["limit"]
    assert Manifest.model_validate(document).plan.limit is None


def test_an_unknown_key_is_refused() -> None:
    """It would be a newer form under an old version's number."""
    document = {**manifest(Shape()).model_dump(), "more": 1}
    with pytest.raises(ValidationError, match="more"):
        Manifest.model_validate(document)


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


@pytest.mark.parametrize(("version", "generation"), [("0.4.1", "0.4"), ("2.3.1", "2")])
def test_the_generation_of_the_driver_is_part_of_the_key(version: str, generation: str) -> None:
    """A later one may measure differently."""
    made = manifest(Shape())
    parts = comparability(made.workload, made.load, made.database, made.memory, version)
    assert parts["driver"] == generation


def test_the_key_does_not_depend_on_the_order_of_settings() -> None:
    """Settings are a set of facts."""
    assert comparability_key({"a": 1, "b": {"c": 2, "d": 3}}) == comparability_key(
        {"b": {"d": 3, "c": 2}, "a": 1}
    )


def test_a_fact_can_be_missing_with_a_reason() -> None:
    """Null, and why."""
    assert Fact(value=None, missing_because="no such file").value is None
