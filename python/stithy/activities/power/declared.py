"""Power: the metrics of windows that were measured with meters, and the table of these."""

from stithy.activity import DeclaredActivity
from stithy.metrics import Metric
from stithy.power import ABOVE_IDLE_W, JOULES, MARGINAL, MEAN_W, METERS, NAME, SAMPLED

METRICS = (
    Metric(MEAN_W, "W", "lower", "values", "", "mean power", "Mean power"),
    Metric(
        ABOVE_IDLE_W, "W", "lower", "values", "",
        "mean power above the idle machine without a server", "Above idle",
        negligible=1.0,  # own: the step of most meters
    ),
    Metric(JOULES, "J", "lower", "values", "", "energy per order", "Energy per order"),
    Metric(
        MARGINAL, "J", "lower", "values", "",
        "energy per order above the idle machine without a server", "Above idle, per order",
        negligible=0.001,  # own: 1 W at 1,000 orders a second
    ),
    Metric(
        SAMPLED, "share", None, "values", "", "share of the meter's samples that came",
        "Samples", compared=False,
    ),
)  # fmt: skip

PLUGINS = (DeclaredActivity(NAME, METRICS, details=(METERS,)),)
