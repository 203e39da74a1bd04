"""Colours that hold in light and dark, for every eye."""

from itertools import combinations

import pytest

from stithy.report import palette


def _luminance(colour: str) -> float:
    """Relative luminance, 0 to 1. Source: WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_no_two_roles_share_a_light_colour() -> None:
    """The page turns colours dark by their light literal, so each may have one role only."""
    lights = [light for light, _ in palette.roles()]
    assert len(lights) == len(set(lights))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_and_first_candidates_stand_out_from_the_paper(scheme: int) -> None:
    """4.5 to 1 for texts, 3 to 1 for the marks of the first three candidates."""
    paper = palette.PAPER[scheme]
    for text in (palette.INK, palette.MUTED):
        assert _contrast(text[scheme], paper) >= 4.5
    for colour in palette.CANDIDATE_COLOURS[:3]:
        assert _contrast(colour[scheme], paper) >= 3


def test_each_candidate_differs_from_the_others_by_more_than_colour() -> None:
    """Colour, marker and dash together are unique far beyond the number of colours."""
    styles = palette.styles(tuple(f"candidate-{n}" for n in range(14)))
    assert len(set(styles.values())) == 14
    for a, b in combinations(list(styles.values())[:7], 2):
        assert a.marker != b.marker
        assert a.dash != b.dash


def test_every_role_has_a_rule_for_the_dark() -> None:
    """Fill and stroke of each literal are turned."""
    rules = palette.css_rules()
    for light, dark in palette.roles():
        assert f'.drawing [fill="{light}"]{{fill:{dark}}}' in rules
        assert f'.drawing [stroke="{light}"]{{stroke:{dark}}}' in rules


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_letters_stand_out_from_the_cells_of_every_limit(scheme: int) -> None:
    """4.5 to 1, as for all texts: the letter tells the limit where a colour does not."""
    for fill in (*palette.LIMIT_COLOURS.values(), palette.OTHER_LIMIT, palette.PAPER):
        assert _contrast(palette.INK[scheme], fill[scheme]) >= 4.5, fill
