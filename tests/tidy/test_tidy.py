"""The style of the project as tests, and the proof that each of them can fail."""

from pathlib import Path

import pytest

from tidy.project import Project, Rule, project_of, read_project
from tidy.rules import absent, imports, map, shape, words

RULES = [rule for module in (shape, imports, absent, words, map) for rule in module.RULES]


@pytest.fixture(scope="module")
def project(root: Path) -> Project:
    """The whole project, read once."""
    return read_project(root)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.demand)
def test_the_project_keeps(rule: Rule, project: Project) -> None:
    """Every place that breaks the rule is printed as `path:line: problem, remedy`."""
    if found := list(rule.check(project)):
        pytest.fail("\n".join([f"the rule: {rule.demand}", *found]), pytrace=False)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.demand)
def test_it_can_fail(rule: Rule) -> None:
    """A rule finds its own example of breaking it, and nothing in its example of keeping it."""
    assert list(rule.check(project_of(rule.breaks)))
    assert list(rule.check(project_of(rule.keeps))) == []
