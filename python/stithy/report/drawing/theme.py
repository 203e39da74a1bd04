"""The Vega-Lite configuration of every figure: one font, quiet axes, colours of the palette."""

from typing import Any

from stithy.report.drawing import palette

FONT = "Inter, sans-serif"
"""Shipped in assets/fonts, so that texts are as wide on every machine as when they were placed."""

LEGEND_LIMIT = 260
"""Pixels of a name in a legend; a longer one is cut off there."""


def config() -> dict[str, Any]:
    """The configuration, the same for static and interactive drawing."""
    text = {"labelFont": FONT, "titleFont": FONT, "labelFontSize": 12, "titleFontSize": 12}
    ink, muted = palette.INK[0], palette.MUTED[0]
    return {
        "background": "transparent",
        "font": FONT,
        "aria": False,
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            **text, "labelColor": muted, "titleColor": ink, "titleFontWeight": "normal",
            "gridColor": palette.GRID[0], "domainColor": palette.AXIS[0],
            "tickColor": palette.AXIS[0], "titlePadding": 8, "labelPadding": 4,
        },
        "axisY": {"domain": False, "ticks": False},
        "legend": {
            **text, "labelColor": ink, "titleColor": ink, "labelFontSize": 13, "padding": 0,
            "labelLimit": LEGEND_LIMIT,
        },
        "header": {
            **text, "labelColor": ink, "titleColor": ink, "labelFontSize": 13,
            "labelFontWeight": 600,
        },
        "title": {
            "font": FONT, "color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start",
            "frame": "group",
        },
        "text": {"font": FONT, "color": muted, "fontSize": 11},
        "rule": {"color": palette.MARK[0]},
        "facet": {"spacing": 20},
        "concat": {"spacing": 20},
    }  # fmt: skip
