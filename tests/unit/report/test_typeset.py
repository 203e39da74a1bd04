"""Setting in print: what no font has is told by its number, and pages can be looked at."""

import subprocess
import sys

from stithy.report.typeset import pdf, png, printable
from support.pdf_text import text_of


def test_letters_without_a_font_are_told_by_number() -> None:
    """The standard forbids what cannot be shown, and a report must not fail for a name."""
    assert printable("a 😀 ÷ 中\u202e\x1b") == "a [U+1F600] ÷ [U+4E2D][U+202E][U+001B]"


def test_letters_with_a_font_stay() -> None:
    """Whatever the script; ends of lines are kept."""
    text = "Größe ≥ 2 µs \N{NO-BREAK SPACE}\N{HEBREW LETTER ALEF}\n"
    assert printable(text) == text


def test_a_table_wider_than_a_page_is_set_in_parts_with_its_first_column() -> None:
    """No cell is lost, and an interval stays with the value before it."""
    headings = ["Users", *("a", "b", "from", "to (95 %)") * 5]
    cells = ["first", *(f"c{number}" for number in range(20))]
    title = {"kind": "heading", "level": 0, "text": "Which?"}
    wide = {
        "kind": "grid", "name": "t", "caption": "Wide", "style": "", "headings": headings,
        "numeric": [True] * 21, "rows": [cells],
    }  # fmt: skip
    lines = text_of(pdf([title, wide], {}, 0)).splitlines()
    assert [line for line in lines if line.startswith("Users")] == [
        "Users a b from to (95 %) a b from to (95 %) a",
        "Users b from to (95 %) a b from to (95 %) a",
        "Users b from to (95 %)",
    ]
    parts = [line.split() for line in lines if line.startswith("first")]
    assert [cell for part in parts for cell in part[1:]] == cells[1:]


def test_a_figure_alone_is_twice_its_drawing_with_a_margin_and_room_for_its_words() -> None:
    """Width and height stand in the head of a PNG; a footer that is long needs lines."""
    svg = '<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="400" height="100"></svg>'
    short, long = (png("It grows", svg, "EMULATED " * count) for count in (1, 40))
    assert int.from_bytes(short[16:20], "big") == 2 * (400 + 32)
    heights = [int.from_bytes(image[20:24], "big") for image in (short, long)]
    assert 2 * 100 < heights[0] < heights[1]
    assert short == png("It grows", svg, "EMULATED ")


def test_what_is_set_is_not_kept_in_memory() -> None:
    """Of a study with dozens of figures it would be hundreds of megabytes."""
    ended = subprocess.run([sys.executable, "-c", _MANY], check=True, capture_output=True)
    assert int(ended.stdout) < 100e6  # 300 MB where Typst keeps what it set


_MANY = """
from pathlib import Path
from resource import getpagesize
from stithy.report.typeset import png

def drawing(number):
    painted = f'<rect width="760" height="3200" fill="#{number:06x}"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="3200">{painted}</svg>'

def held():
    return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()

for number in range(3):
    png("title", drawing(number), "footer")
before = held()
for number in range(3, 11):
    png("title", drawing(number), "footer")
print(held() - before)
"""
