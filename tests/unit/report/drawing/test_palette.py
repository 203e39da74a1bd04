"""Colours that hold in light and dark, for every eye, and on paper without colours."""

import math
from itertools import combinations

import pytest

from stithy.report.drawing import palette

Linear = tuple[float, float, float]

# How colours look to eyes that lack one kind of cone, as matrices over linear RGB. Source: Machado,
# Oliveira and Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# IEEE TVCG 15 (2009), severity 1.0.
EYES: dict[str, tuple[Linear, Linear, Linear]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "without red": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "without green": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "without blue": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip
SCHEMES = pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
DIFFERENT = 8.0
"""Distance in OKLab times 100; 2 is about what can just be told side by side."""


def _linear(colour: str) -> Linear:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return _unpacked(red), _unpacked(green), _unpacked(blue)


def _unpacked(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _luminance(colour: str) -> float:
    """Relative luminance, 0 to 1. Source: WCAG 2.2."""
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def _lightness(colour: str) -> float:
    """What a grey printer leaves of it: L*, 0 to 100. Source: CIE 15."""
    light = _luminance(colour)
    return 116 * light ** (1 / 3) - 16 if light > 216 / 24389 else 24389 / 27 * light


def _seen(colour: str, eye: str) -> Linear:
    """What such an eye makes of a colour, in OKLab. Source: Ottosson, "OKLab" (2020)."""
    seen = [min(1.0, max(0.0, each)) for each in _times(EYES[eye], _linear(colour))]
    cones = _times(
        ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
         (0.0883024619, 0.2817188376, 0.6299787005)), (seen[0], seen[1], seen[2]),
    )  # fmt: skip
    roots = (cones[0] ** (1 / 3), cones[1] ** (1 / 3), cones[2] ** (1 / 3))
    return _times(
        ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
         (0.0259040371, 0.7827717662, -0.8086757660)), roots,
    )  # fmt: skip


def _times(matrix: tuple[Linear, Linear, Linear], colour: Linear) -> Linear:
    one, two, three = (sum(m * c for m, c in zip(row, colour, strict=True)) for row in matrix)
    return one, two, three


def _distance(a: str, b: str, eye: str) -> float:
    return 100 * math.dist(_seen(a, eye), _seen(b, eye))


def _candidates(scheme: int) -> list[str]:
    return [pair[scheme] for pair in palette.CANDIDATE_COLOURS]


def test_the_measures_know_black_from_white() -> None:
    """Known values: contrast 21, lightness 0 and 100, distance 100, and red from green halved."""
    assert _contrast("#000000", "#ffffff") == pytest.approx(21)
    assert (_lightness("#000000"), _lightness("#ffffff")) == pytest.approx((0, 100))
    assert _distance("#000000", "#ffffff", "usual") == pytest.approx(100, rel=1e-3)
    red, green = "#c83c3c", "#3c8c3c"
    assert _distance(red, green, "without green") < 0.5 * _distance(red, green, "usual")


@SCHEMES
def test_marks_stand_out_from_the_paper(scheme: int) -> None:
    """3 to 1 for every candidate and every part of a bar; only idleness is pale on purpose."""
    parts = {**palette.STATE_COLOURS, **palette.WAIT_COLOURS, "other wait": palette.OTHER_WAIT}
    del parts["idle"]
    candidates = {f"candidate {n}": pair for n, pair in enumerate(palette.CANDIDATE_COLOURS)}
    marks = {**parts, "mark": palette.MARK, **candidates}
    pale = {
        name: pair
        for name, pair in marks.items()
        if _contrast(pair[scheme], palette.PAPER[scheme]) < 3
    }
    assert pale == {}


@SCHEMES
@pytest.mark.parametrize("eye", EYES)
def test_every_eye_tells_candidates_apart(eye: str, scheme: int) -> None:
    """Any two colours, as such an eye sees them."""
    near = [
        (a, b) for a, b in combinations(_candidates(scheme), 2) if _distance(a, b, eye) < DIFFERENT
    ]
    assert near == []


@SCHEMES
def test_candidates_differ_without_colours_too(scheme: int) -> None:
    """By a tenth of the way from black to white among the first four, by some among all."""
    shades = [_lightness(colour) for colour in _candidates(scheme)]
    assert min(abs(a - b) for a, b in combinations(shades[:4], 2)) >= 10
    assert min(abs(a - b) for a, b in combinations(shades, 2)) >= 4


def test_each_candidate_differs_from_the_others_by_more_than_colour() -> None:
    """Until there are more candidates than colours, by marker and by dash, too."""
    styles = list(palette.styles(tuple(f"candidate-{n}" for n in range(8))).values())
    for a, b in combinations(styles, 2):
        assert a.marker != b.marker
        assert a.dash != b.dash
        assert a.outline != b.outline


def test_a_point_and_a_line_tell_their_candidate_far_beyond_the_number_of_colours() -> None:
    """A point has colour and marker, a line colour and dash; either is enough for fifty."""
    styles = palette.styles(tuple(f"candidate-{n}" for n in range(50))).values()
    assert len({(style.colour, style.marker) for style in styles}) == 50
    assert len({(style.colour, style.dash) for style in styles}) == 50
