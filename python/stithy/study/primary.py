"""The primary question of a study: which of two candidates is better, by what, at which point."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from stithy.activity import get_level_factor
from stithy.metrics import UnknownQuantity, check, parse_quantity
from stithy.point import Value
from stithy.study.load_keys import LEVELS_KEY, describe_integer
from stithy.study.load_values import USERS_MAX, Users
from stithy.study.problems import Violation
from stithy.study.vary import OneValue
from stithy.units import FinePercent, limit_quantity, make_rule_error, require

BLOCKS_LEAST = 4
"""Fewer give no verdict. Source: docs/explanation/verdicts.md, the first look."""
BLOCKS_MOST = 20
"""The last look."""
MARGIN_PERCENT = 2

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_TEXT = WithJsonSchema({"type": "string"})
_PAIR = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}


def _read_metric(text: str | None) -> str | None:
    try:
        return None if text is None else str(parse_quantity(text))
    except UnknownQuantity as error:
        what = error.problem.what.removesuffix(f" `{text}`")  # the value is reported beside it
        raise make_rule_error(what, error.problem.right) from error


class Primary(BaseModel):
    """The primary question: which of two candidates is better. It decides how long the study runs.

    Every key is optional. With one candidate nothing is compared.
    """

    model_config = _STRICT

    level: Annotated[
        Users | None, Field(alias=get_level_factor().name), describe_integer(USERS_MAX)
    ] = Field(
        default=None,
        json_schema_extra={"default": "the highest level"},
        description=f"The level at which the candidates are compared, one of `{LEVELS_KEY}`.",
        examples=[4],
    )
    at: Mapping[str, OneValue] = Field(
        default={},
        json_schema_extra={"default": "the study's own values; else the first of each"},
        description="The values of `vary` at which the candidates are compared.",
        examples=[{"database.memory": "512 MiB"}],
    )
    metric: Annotated[str | None, AfterValidator(_read_metric), _TEXT] = Field(
        default=None,
        json_schema_extra={
            "default": "the throughput of the workload; p95 if users pause or arrive at a rate"
        },
        description=(
            "The metric of the comparison: `tpm` or the workload's own rate, a percentile such as "
            "`p95` or `p99 of payment`, or a collector's metric such as `block.read_latency_s`. "
            "Percentiles of response time are `p50`, `p90`, `p95`, `p99` and `p99.9`, of all "
            "transactions or of one type; `error_share` is the share of them that failed. "
            "`drive.read_p99` and the like are percentiles of an "
            "emulated drive's `read`, `write` or `flush` latency. docs/reference/collectors.md "
            "lists the collectors' metrics; some need a subject: `pressure.some_share of io`. "
            "If users pause or arrive at a rate, the load fixes the throughput, so that only "
            "response times can differ."
        ),
        examples=["p99 of payment"],
    )
    margin_percent: Annotated[FinePercent, limit_quantity(0.1, 50, lambda value: f"{value:g}%")] = (
        Field(
            alias="margin",
            default=MARGIN_PERCENT,
            json_schema_extra={"default": f"{MARGIN_PERCENT}%"},
            description="The equivalence margin: a difference within it does not matter.",
            examples=["1.5%"],
        )
    )
    candidates: Annotated[
        tuple[str, ...] | None,
        Field(strict=False),
        require(
            lambda names: names is None or len(names) == 2,
            "not a pair of candidates",
            "name two, or leave it out",
        ),
        WithJsonSchema(_PAIR),
    ] = Field(
        default=None,
        json_schema_extra={"default": "both; of more than two, the slowest and the fastest"},
        description=(
            "The two candidates to compare. If there are more than two, a named pair needs "
            "fewer blocks than the slowest and the fastest, which are chosen after all were "
            "measured."
        ),
        examples=[["sata", "nvme"]],
    )
    blocks: Annotated[int, Field(ge=BLOCKS_LEAST, le=BLOCKS_MOST)] = Field(
        default=BLOCKS_MOST,
        description=(
            "Maximum number of blocks at this level. Interim analyses take place after 4, 6, 8, "
            "10, 12, 16 and 20 blocks; once the question is decided, the remaining blocks are "
            "left out. The other levels get one block. A block with an invalid window is "
            "measured a second time. If that attempt is invalid, too, the block counts towards "
            "this maximum but not towards the verdict."
        ),
        examples=[12],
    )

    @property
    def values(self) -> Mapping[str, Value]:
        """What it says of the point where candidates are compared, by factor."""
        return {**({get_level_factor().name: self.level} if self.level else {}), **self.at}

    def conflicts(
        self,
        factors: Mapping[str, Sequence[Value]],
        candidates: Sequence[str],
        transactions: Sequence[str],
        repeat: int | None,
        usual: str | None = None,
    ) -> Iterator[Violation]:
        """What of it does not fit the rest of the study, each at the key to change.

        `factors`: all that varies, with its values. `usual`: the metric that the scenario names.
        """
        name = get_level_factor().name
        levels = factors.get(name)
        if levels is not None and not levels:
            yield from self._without_levels()
            return
        yield from self._elsewhere({key: each for key, each in factors.items() if key != name})
        if self.level is not None and levels is None:
            yield Violation(f"a study without {name}", "leave it out", self.level, (name,))
        elif self.level is not None and self.level not in (levels or ()):
            listed = ", ".join(map(str, levels or ()))
            yield Violation("a level that is not measured", f"one of {listed}", self.level, (name,))
        if repeat is not None and "blocks" in self.model_fields_set:
            what = "a maximum of blocks beside a fixed number of blocks"
            right = "leave it out: `load.repeat`, or the scenario's own keys, fix their number"
            yield Violation(what, right, self.blocks, ("blocks",))
        yield from self._check_metric(transactions)
        yield from self._check_margin(usual)
        yield from self._check_pair(candidates)

    def _elsewhere(self, vary: Mapping[str, Sequence[Value]]) -> Iterator[Violation]:
        """Values at which nothing is measured."""
        for key, value in self.at.items():
            if key not in vary:
                right = "add it to `vary`, or leave it out"
                yield Violation("a key that does not vary", right, key, ("at", key))
            elif value not in vary[key]:
                listed = ", ".join(map(str, vary[key]))
                yield Violation(
                    "a value that is not measured", f"one of {listed}", value, ("at", key)
                )

    def _without_levels(self) -> Iterator[Violation]:
        """A search alone asks who serves more users, whatever the question says."""
        for name, info in type(self).model_fields.items():
            if name in self.model_fields_set:
                right = (
                    f"add the level to `{LEVELS_KEY}`, or leave out `primary`: a search alone "
                    "compares the most users"
                )
                where = (info.alias or name,)
                yield Violation("a primary question without a level", right, None, where)

    def _check_metric(self, transactions: Sequence[str]) -> Iterator[Violation]:
        if self.metric is not None:
            quantity = parse_quantity(self.metric)
            problem = check(quantity, transactions)
            if problem is None and quantity.known.combined == "paired":
                what = "a metric that pairs windows of one candidate, known at the end alone"
                yield Violation(what, "ask it in `thresholds`", self.metric, ("metric",))
            if problem is not None:
                yield Violation(problem.what, problem.right, self.metric, ("metric",))

    def _check_margin(self, usual: str | None) -> Iterator[Violation]:
        metric = self.metric or usual
        least = parse_quantity(metric).known.negligible if metric else None
        if least is not None and "margin_percent" in self.model_fields_set:
            what = f"a share as the margin of `{metric}`, which is compared as a difference"
            right = "leave it out: the metric declares its margin"
            yield Violation(what, right, f"{self.margin_percent:g}%", ("margin",))

    def _check_pair(self, candidates: Sequence[str]) -> Iterator[Violation]:
        pair = self.candidates or ()
        for place, name in enumerate(pair):
            where = ("candidates", place)
            if name not in candidates:
                names = ", ".join(candidates)
                yield Violation("a candidate that the study does not have", names, name, where)
            elif name in pair[:place]:
                yield Violation("a candidate compared with itself", "name another", name, where)
