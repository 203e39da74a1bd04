"""Power as everyone knows it: the names of its metrics, and the table of meters.

`run` fills them, `activities.power` declares them, reports and costs read them.
"""

from stithy.results.tables import Table, integer, real, text, truth

NAME = "power"
MEAN_W, ABOVE_IDLE_W = "power.mean_w", "power.above_idle_w"
JOULES, MARGINAL = "power.joules_per_order", "power.marginal_joules_per_order"
SAMPLED = "power.sampled_share"

STATED = (
    "Watts of drive profiles are statements, not measurements; at a scale they are divided as "
    "rates are."
)
SAMPLED_LEAST = 0.9
"""Own: of fewer samples no mean is given; what is missing may be the peak."""

METERS = Table(
    "meters",
    "One row per candidate and meter, and one for all that count, of each session that measured: "
    "what each measures, and its mean while the machine was idle before the session's windows, "
    "with all volumes and without a server that Stithy starts.",
    (
        text("candidate", "name of the candidate"),
        text("meter", "name of the meter in the study; `all` for those that count together"),
        text("kind", "kind of the meter; of `all` those that count"),
        text("sees", "what it measures"),
        text("misses", "what of the power of storage it does not see"),
        text("resolution", "step of its values"),
        real("every_s", "s", "how often it has a new value"),
        truth("stated", "its watts follow from a statement, so that they are no measurement"),
        truth("counted", "its watts count in the values of a candidate"),
        real("idle_from_s", "s", "Unix time at which the idle measurement began", null=True),
        real("idle_s", "s", "its length", null=True),
        real("idle_w", "W", "mean power then", null=True),
        integer("samples", "", "number of samples that it rests on", null=True),
        text("missing_because", "why the mean is null", null=True),
    ),
)
