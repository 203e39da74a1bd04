"""The words of a report's page, as a golden file keeps them."""

import re

LEFT_OUT = (
    (re.compile(r"<style>.*?</style>", re.DOTALL), "<style></style>"),
    (re.compile(r"<svg.*?</svg>", re.DOTALL), "<svg></svg>"),
    (re.compile(r"(<script[^>]*>).*?(</script>)", re.DOTALL), r"\1\2"),
    (re.compile(r'(Content-Security-Policy" content=")[^"]*'), r"\1"),
    (re.compile(r' data-value="[^"]*"'), ""),
)
"""What of a page is a file of its own, comes from elsewhere, or repeats a printed number."""


def words_of_page(html: str) -> str:
    """A page without what is drawn, set or run; a row of a table is a line."""
    for pattern, instead in LEFT_OUT:
        html = pattern.sub(instead, html)
    html = re.sub(r"\n(?=<t[dh])|(?<=</t[dh]>)\n(?=</tr>)", "", html)
    lines = (line.rstrip() for line in html.splitlines())
    return "\n".join(line for line in lines if line) + "\n"
