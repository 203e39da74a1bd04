"""Whatever stands where a threshold should: a threshold, or mistakes within the text."""

from hypothesis import given
from hypothesis import strategies as st

from stithy.metrics import ALL, OWN, find, names
from stithy.study.thresholds import Names, NotAThreshold, parse_threshold
from stithy.thresholds import RELATIONS, Constant, MeasuredValue, Side, Threshold

CANDIDATES = ("disk", "log-on-nvme", "13", "1e3", "5ms", "v1.2")
NAMES = Names(CANDIDATES, (1, 4, 13), ("new-order", "payment"))
WORDS = [
    *CANDIDATES, *OWN, *RELATIONS, "block.reads_per_s", "pressure.some_share", "io", "MiB", "%",
    "payment", ALL, ".", "_at_", "4", "13", "5 ms", "100/s", "*", " ", "1.2", "0", "-", "=", "!",
    "≥", "/", "٣", "9" * 400, "\n", "µs",
]  # fmt: skip


def well_refused(text: str, error: NotAThreshold) -> None:
    """Fail unless every mistake is told, and lies within the text."""
    assert error.mistakes
    for mistake in error.mistakes:
        assert 0 <= mistake.start <= mistake.end <= len(text), mistake
        assert mistake.what
        assert mistake.right


def answered(text: str) -> None:
    """Fail unless it is a threshold that is printed and read as the same, or is well refused."""
    try:
        found = parse_threshold(text, NAMES)
    except NotAThreshold as error:
        well_refused(text, error)
        return
    if len(str(found)) <= 300:
        assert parse_threshold(str(found), NAMES) == found


@given(st.text(max_size=60))
def test_any_text_is_answered(text: str) -> None:
    """Letters of all scripts, control characters, nothing at all."""
    answered(text)


@given(st.lists(st.sampled_from(WORDS), max_size=20))
def test_any_mixture_of_the_words_of_thresholds_is_answered(words: list[str]) -> None:
    """Nearly right is where parsers fall."""
    answered("".join(words))


FACTORS = st.floats(min_value=1e-6, max_value=1e6, allow_nan=False)


def _is_compared(name: str) -> bool:
    metric = find(name)
    return metric is not None and metric.compared


def _owners(name: str) -> list[str | None]:
    """Whose value may be asked for."""
    metric = find(name)
    assert metric is not None
    if metric.of_several is None:
        return [*metric.subjects]
    named = {
        "window": [], "transactions": ["payment", ALL], "drives": ["data", "log"],
        "series": ["sda", "eth0.100", "5ms"],
    }[metric.source]  # fmt: skip
    return [None, *named]


@st.composite
def sides(draw: st.DrawFn) -> Side:
    """A measured value, of all kinds."""
    metric = draw(st.sampled_from([each for each in names() if _is_compared(each)]))
    kinds = st.sampled_from(_owners(metric))
    return MeasuredValue(
        draw(st.sampled_from(CANDIDATES)), metric, draw(st.sampled_from(NAMES.users)),
        draw(kinds), draw(st.one_of(st.just(1.0), FACTORS)),
    )  # fmt: skip


@given(sides(), st.sampled_from(sorted(RELATIONS)), st.floats(0, 1e9), st.booleans())
def test_what_is_printed_is_read_as_the_same(
    side: Side, relation: str, value: float, turned: bool
) -> None:
    """Every digit of factors and constants survives."""
    # A size is a whole number of bytes.
    other = Constant(float(round(value)) if "B" in side.unit else value, side.unit)
    left, right = (other, side) if turned else (side, other)
    threshold = Threshold(left, relation, right)  # type: ignore[arg-type]  # a key of RELATIONS
    text = str(threshold)
    if len(text) <= 300:
        assert parse_threshold(text, NAMES) == threshold
