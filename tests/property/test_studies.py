"""Whatever stands in a study file: a study, or problems with places; never anything else."""

import re

from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

from stithy.plan.cost import space_by_candidate, total_s
from stithy.plan.expand import expand
from stithy.study.load import parse_study
from stithy.study.problems import StudyError
from support.studies import TEXT

PLACE = re.compile(r"study\.yaml:[1-9]\d*:[1-9]\d*")
KEYS = [
    *["study", "candidates", "database", "workload", "load", "seed", "disk", "path", "engine"],
    *["memory", "settings", "port", "name", "warehouses", "users", "ramp_up", "duration"],
    *["repeat", "checkpoint", "procedures", "isolation", "error_limit", "user", "<<", "", "a-b"],
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["5 s", "1 GiB", "9e999 s", "order-entry", "postgresql", "/tmp/x", "path"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=20,
)


def well_told(error: StudyError) -> None:
    """Fail unless every problem has a place and a remedy, and nothing that steers a terminal."""
    assert error.problems
    for problem in error.problems:
        assert PLACE.fullmatch(problem.where), problem.where
        assert problem.remedy
        assert str(problem).isprintable(), str(problem)
        assert problem.excerpt.replace("\n", "").replace("\t", "").isprintable(), problem.excerpt


def outcome(content: bytes) -> None:
    """Fail unless the file is a study that can be planned, or all its problems are well told."""
    try:
        plan = expand(parse_study("study.yaml", content))
    except StudyError as error:
        well_told(error)
        return
    assert total_s(plan.steps)[0] < total_s(plan.steps)[1]
    assert all(room > 0 for room in space_by_candidate(plan).values())


@given(st.binary(max_size=200))
def test_any_bytes_are_answered(content: bytes) -> None:
    """Binary files, other encodings, half a character."""
    outcome(content)


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
@example("\ufeff")
@example("? : -\n")
@example("a: &x {<<: *x}")
def test_any_text_is_answered(text: str) -> None:
    """Most texts are not YAML; some are, and mean nothing."""
    outcome(text.encode())


@given(st.text(alphabet=list("abs:{}[],-?&*!|>'\"%@`# \n\t\\"), max_size=60))
def test_any_play_with_the_signs_of_yaml_is_answered(text: str) -> None:
    """Anchors, tags, flow and block styles in all mixtures."""
    outcome(text.encode())


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_any_values_under_the_known_keys_are_answered(data: dict[str, object]) -> None:
    """Every kind of value where another is wanted."""
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(data, stream)
    outcome(stream.getvalue().encode("utf-8", errors="replace"))


@given(st.data())
def test_a_good_study_with_some_of_it_replaced_is_answered(data: st.DataObject) -> None:
    """Small damage to a study that was right: a slip of the keyboard."""
    start = data.draw(st.integers(0, len(TEXT)))
    end = data.draw(st.integers(start, min(len(TEXT), start + 10)))
    middle = data.draw(st.text(alphabet=list("abc019 :,{}[]-#'\"\n\t&*!€"), max_size=6))
    outcome((TEXT[:start] + middle + TEXT[end:]).encode())


@given(st.sampled_from(TEXT.splitlines()), VALUES)
def test_a_good_study_with_one_value_replaced_is_answered(line: str, value: object) -> None:
    """Any value for any key of one line."""
    stream = StringIO()
    dumper = YAML(typ="safe", pure=True)
    dumper.default_flow_style = True
    dumper.width = 10**6
    dumper.dump([value], stream)
    key = line.split(":")[0]
    outcome(TEXT.replace(line, f"{key}: {stream.getvalue().strip()[1:-1]}").encode())
