"""Reading the page: block by block in its order, with its words and nothing of the screen's."""

from stithy.report.reading import (
    Bullets,
    Grid,
    Heading,
    Paragraph,
    Picture,
    Run,
    Verbatim,
    blocks,
)

PAGE = """<html><body><nav><p>Contents</p></nav><main>
<header id="answer"><p class="eyebrow">now</p><h1>Which &lt;b&gt;?</h1>
<ul class="flaws"><li>one</li><li>two  words</li></ul></header>
<section><h2>Part</h2>
<p>See <code>report/</code> and
 <strong>this</strong>.<span class="screen"> On screen.</span></p>
<figure id="figure-x" class="figure"><h3><span class="count">Figure 1</span> It grows</h3>
<div class="scroll"><div class="drawing" role="img" aria-label="A line."><svg><path/></svg>
</div></div>
<figcaption><p>Caption.</p><p class="fine">Foot.</p></figcaption>
<details><summary>Data</summary><table data-table="x"><caption>X</caption></table></details>
<script>{}</script></figure>
<details><summary>T <span>2 rows</span></summary>
<table class="facts" data-table="t"><caption>T</caption>
<thead><tr><th>Name</th><th class="number">N</th></tr></thead>
<tbody><tr><td>a
b</td><td class="number">1</td></tr></tbody></table></details>
<details><summary>The profile</summary><pre><code>a: 1
  b: 2
</code></pre></details>
</section></main></body></html>"""


def test_a_page_is_read_in_its_order() -> None:
    """Every kind of block once; contents, drawings and scripts are not among them."""
    assert blocks(PAGE) == (
        Paragraph((Run("now"),), "eyebrow"),
        Heading(0, "Which <b>?"),
        Bullets(((Run("one"),), (Run("two words"),)), "flaws"),
        Heading(1, "Part"),
        Paragraph(
            (Run("See "), Run("report/", "code"), Run(" and "), Run("this", "strong"), Run(".")), ""
        ),
        Picture(
            "x", "It grows", "A line.",
            (Paragraph((Run("Caption."),), ""), Paragraph((Run("Foot."),), "fine")),
        ),
        Grid("t", "T", "facts", ("Name", "N"), (False, True), (("a\nb", "1"),)),
        Paragraph((Run("The profile"),), "folded"),
        Verbatim("a: 1\n  b: 2"),
    )  # fmt: skip
