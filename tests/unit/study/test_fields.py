"""Every key of the study file tells its meaning."""

import pytest

from stithy.study.fields import Key, all_keys, key_at, known_at, needed_at


@pytest.mark.parametrize("key", list(all_keys()), ids=lambda key: key.dotted)
def test_every_key_has_a_description_and_what_takes_a_value_an_example(key: Key) -> None:
    """Messages, schema and reference page are written from them."""
    assert key.info.description
    assert key.info.description.endswith(".")
    assert key.info.examples or known_at(key.path)


def test_the_keys_of_plug_ins_are_among_them() -> None:
    """A candidate's and the workload's keys come from their own files."""
    assert "path" in known_at(("candidates", "anything"))
    assert needed_at(("workload",)) == ["name", "warehouses"]


def test_an_entry_of_a_list_belongs_to_the_lists_key() -> None:
    """Indices are no keys."""
    key = key_at(("load", "users", 2))
    assert key is not None
    assert key.dotted == "load.users"
