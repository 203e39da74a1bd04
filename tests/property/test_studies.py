"""Whatever stands in a study file or a threshold: what it says, or problems with their places."""

import re

from hypothesis import example, given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

from stithy.metrics import ALL, OWN, find, list_in_columns, list_names
from stithy.plan.cost import sum_s, sum_space
from stithy.plan.expand import expand
from stithy.study.load import parse_study
from stithy.study.problems import StudyError
from stithy.study.thresholds import Names, NotAThreshold, parse_threshold
from stithy.thresholds import RELATIONS, Constant, MeasuredSide, Threshold
from support.points import at
from support.studies import TEXT

PLACE = re.compile(r"study\.yaml:[1-9]\d*:[1-9]\d*")
KEYS = [
    "study", "candidates", "database", "workload", "load", "seed", "disk", "path", "engine",
    "memory", "settings", "port", "name", "warehouses", "users", "ramp_up", "duration", "repeat",
    "checkpoint", "procedures", "isolation", "error_limit", "user", "<<", "", "a-b",
]  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8),
    st.sampled_from(["5 s", "1 GiB", "9e999 s", "order-entry", "postgresql", "/tmp/x", "path"]),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
    ),
    max_leaves=20,
)


def _outcome(content: bytes) -> None:
    """Fail unless the file is a study that can be planned, or all its problems are well told."""
    try:
        plan = expand(parse_study("study.yaml", content))
    except StudyError as error:
        problems = error.problems
    else:
        assert sum_s(plan.steps)[0] < sum_s(plan.steps)[1]
        assert all(room > 0 for room in sum_space(plan).values())
        return
    assert problems
    for each in problems:
        assert PLACE.fullmatch(each.where), each.where
        assert each.remedy
        assert f"{each}{each.excerpt}".replace("\n", "").replace("\t", "").isprintable(), each


SIGNS = st.text(alphabet=list("abs:{}[],-?&*!|>'\"%@`# \n\t\\"), max_size=60)
ANY = st.text(alphabet=st.characters(codec="utf-8"), max_size=200)


@given(st.one_of(st.binary(max_size=200), ANY.map(str.encode), SIGNS.map(str.encode)))
@example(b"\xef\xbb\xbf")
@example(b"? : -\n")
@example(b"a: &x {<<: *x}")
def test_any_bytes_are_answered(content: bytes) -> None:
    """Binary files, other encodings, all mixtures of the signs of YAML."""
    _outcome(content)


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=8))
def test_any_values_under_the_known_keys_are_answered(data: dict[str, object]) -> None:
    """Every kind of value where another is wanted."""
    stream = StringIO()
    YAML(typ="safe", pure=True).dump(data, stream)
    _outcome(stream.getvalue().encode("utf-8", errors="replace"))


@given(st.data())
def test_a_good_study_with_some_of_it_replaced_is_answered(data: st.DataObject) -> None:
    """A slip of the keyboard, or any value for any key of one line."""
    start = data.draw(st.integers(0, len(TEXT)))
    end = data.draw(st.integers(start, min(len(TEXT), start + 10)))
    middle = data.draw(st.text(alphabet=list("abc019 :,{}[]-#'\"\n\t&*!€"), max_size=6))
    _outcome((TEXT[:start] + middle + TEXT[end:]).encode())
    line, stream = data.draw(st.sampled_from(TEXT.splitlines())), StringIO()
    dumper = YAML(typ="safe", pure=True)
    dumper.default_flow_style, dumper.width = True, 10**6
    dumper.dump([data.draw(VALUES)], stream)
    value = stream.getvalue().strip()[1:-1]
    _outcome(TEXT.replace(line, f"{line.split(':')[0]}: {value}").encode())


PLAIN = tuple(each.name for each in list_in_columns())
KNOWN = Names(("disk", "log-on-nvme", "13", "1e3", "5ms", "v1.2"), (at(1), at(4), at(13)),
              ("new-order", "payment"))  # fmt: skip
WORDS = [
    *KNOWN.candidates, *OWN, *PLAIN, *RELATIONS, "block.reads_per_s", "pressure.some_share", "io",
    "MiB", "%", "payment", ALL, ".", "_at_", "4", "13", "5 ms", "100/s", "*", " ", "1.2", "0", "-",
    "=", "!", "≥", "/", "٣", "9" * 400, "\n", "µs",
]  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=20).map("".join)))
def test_any_text_is_a_threshold_that_is_read_as_printed_or_is_refused(text: str) -> None:
    """Letters of all scripts, mixtures of the words; every mistake lies within the text."""
    try:
        found = parse_threshold(text, KNOWN)
    except NotAThreshold as error:
        mistakes = error.mistakes
    else:
        assert len(str(found)) > 300 or parse_threshold(str(found), KNOWN) == found
        return
    assert mistakes
    for mistake in mistakes:
        assert 0 <= mistake.start <= mistake.end <= len(text), mistake
        assert "" not in (mistake.what, mistake.right)


@st.composite
def thresholds(draw: st.DrawFn) -> Threshold:
    """A measured value of any kind against a constant; a size is a whole number of bytes."""
    compared = [
        each for each in list_names() if (known := find(each)) is not None and known.compared
    ]
    metric = draw(st.sampled_from(compared))
    known = find(metric)
    assert known is not None
    owners = {"window": [], "transactions": ["payment", ALL], "drives": ["data", "log"],
              "values": [*known.subjects, ALL],
              "series": ["sda", "eth0.100", "5ms"]}[known.source]  # fmt: skip
    owner = draw(st.sampled_from([None, *owners] if known.of_several else [*known.subjects]))
    factor = draw(st.one_of(st.just(1.0), st.floats(1e-6, 1e6, allow_nan=False)))
    point = draw(st.sampled_from(KNOWN.points))
    side = MeasuredSide(draw(st.sampled_from(KNOWN.candidates)), metric, point, owner, factor)
    value = draw(st.floats(0, 1e9))
    other = Constant(float(round(value)) if "B" in side.unit else value, side.unit)
    left, right = (other, side) if draw(st.booleans()) else (side, other)
    return Threshold(left, draw(st.sampled_from(sorted(RELATIONS))), right)


DURATION = MeasuredSide("disk", "backup.duration_s", KNOWN.points[0])
SMALL = Threshold(DURATION, "<", Constant(1.2171738471502951e-229, "s"))


@given(thresholds())
@example(SMALL)
def test_what_is_printed_is_read_as_the_same(threshold: Threshold) -> None:
    """Every digit of factors and constants survives."""
    if len(str(threshold)) <= 300:
        assert parse_threshold(str(threshold), KNOWN) == threshold
