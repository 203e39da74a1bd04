"""The figures of the tree keep their bounds, and each of them can fail."""

from pathlib import Path

import pytest

from tidy.ratchet import Census, Figure, find_broken, measure, read_bounds

MODULE = '''"""A module."""
from os import path

class Twice: ...
class _Twice: ...
def told(): return getattr(path, "x")
def read_it(): return _helper()
def _helper(): return 1
'''


def test_no_figure_is_worse_than_its_bound(root: Path) -> None:
    """A bound is made looser by hand, in a commit that says why."""
    assert find_broken(measure(root), read_bounds()) == []


def test_a_module_is_counted() -> None:
    """Each figure of a small module, counted by eye."""
    census = Census()
    census.add(MODULE)
    values = {figure.name: figure.value for figure in census.figures()}
    assert values == {
        "modules": 1, "median_module_lines": 8, "product_lines": 8, "verb_percent": 33.3,
        "class_names_used_twice": 1, "attribute_probes": 1, "short_helpers_with_one_caller": 1,
        "import_percent": 14.3,
    }  # fmt: skip


@pytest.mark.parametrize(("higher", "value", "broken"), [
    (False, 2, True), (False, 1, False), (False, 0, False), (True, 0, True), (True, 1, False),
])  # fmt: skip
def test_a_worse_figure_is_reported(higher: bool, value: float, broken: bool) -> None:
    """Worse by its own direction; equal is not worse; without a bound it is reported, too."""
    figure = Figure("lines", value, higher)
    assert bool(find_broken([figure], {"lines": 1})) == broken
    assert find_broken([figure], {})
