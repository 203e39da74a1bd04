"""Every file of a fixed run's report, by its SHA-256: a change of any of them shows in a diff."""

from pathlib import Path

from stithy.registry import plugins
from support import golden
from support.fingerprints import fingerprint, rounded, words_of_page
from support.fixed_run import FIXED
from support.reported import write_report
from support.sample_run import build_run

HERE = Path(__file__).parent / "reports"


def test_every_file_of_the_report_is_the_one_accepted(tmp_path: Path, accept_golden: bool) -> None:
    """In all formats, with every figure and table; which of them changed is told by name."""
    root = build_run(tmp_path / "run", FIXED).root
    before = {path for path in root.rglob("*") if path.is_file()}
    write_report(root, tuple(plugins("format")))
    made = sorted({path for path in root.rglob("*") if path.is_file()} - before)
    assert len(made) > 100
    lines = [fingerprint(path, str(path.relative_to(root))) for path in made]
    golden.same(HERE / "fixed-run.sha256", "\n".join(lines) + "\n", accept_golden)


def test_a_number_that_differs_in_its_last_digits_has_the_same_digest() -> None:
    """And one that differs before them has not."""
    assert rounded("a,0.30000000000000004,1.9999999999999998") == rounded("a,0.3,2.0")
    assert rounded("0.300000004") != rounded("0.3")
    assert rounded("1e-05, 12, M0,0.5-3.25h2") == "1e-05, 12, M0,0.5-3.25h2"


def test_of_a_page_the_words_are_left() -> None:
    """Rows of a table are lines; what is drawn, set or run is gone."""
    html = (
        '<style>a{}</style>\n<p>Words</p><svg><g>x</g></svg>\n<script type="t">1</script>\n'
        '<tr>\n<td>1</td>\n<td data-value="2.5000000000000004">2.50</td>\n</tr>\n'
    )
    assert words_of_page(html) == (
        '<style></style>\n<p>Words</p><svg></svg>\n<script type="t"></script>\n'
        '<tr><td>1</td><td data-value="2.5">2.50</td></tr>\n'
    )
