"""The `primary` section of a study: the one question that it decides, and how long it tries.

Every key may be left out; what is asked then is derived by `plan` and stated with every plan.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from stithy.metrics import UnknownQuantity, check, parse_quantity
from stithy.study.wrong import Wrong, within, wrong
from stithy.units import FinePercent

BLOCKS_LEAST = 4
"""Fewer give no verdict. Source: docs/explanation/verdicts.md, the first look."""
BLOCKS_MOST = 20
"""The last look."""
MARGIN_PERCENT = 2
USERS_MAX = 100_000

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)
_TEXT = WithJsonSchema({"type": "string"})
_PAIR = {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}


def _pair(names: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if names is not None and len(names) != 2:
        raise wrong("not a pair of candidates", "name two, or leave it out")
    return names


def _quantity(text: str | None) -> str | None:
    """A metric in its usual spelling."""
    try:
        return None if text is None else str(parse_quantity(text))
    except UnknownQuantity as error:
        what = error.problem.what.removesuffix(f" `{text}`")  # the value is told beside it
        raise wrong(what, error.problem.right) from error


class Primary(BaseModel):
    """The question that decides how long the study goes on: which of two candidates is better.

    Each of its keys may be left out. With a single candidate nothing is compared.
    """

    model_config = _STRICT

    users: Annotated[
        int | None, Field(ge=1, le=USERS_MAX),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": USERS_MAX}),
    ] = Field(
        default=None,
        json_schema_extra={"default": "the highest level"},
        description="The level at which the candidates are compared, one of `load.users`.",
        examples=[4],
    )  # fmt: skip
    metric: Annotated[str | None, AfterValidator(_quantity), _TEXT] = Field(
        default=None,
        json_schema_extra={"default": "nopm; p95 where users pause or come at a rate"},
        description=(
            "What they are compared by: `nopm` or `tpm`, a percentile such as `p95` or `p99 of "
            "payment`, or a collector's metric such as `block.read_latency_s`. Percentiles are "
            "`p50`, `p90`, `p95`, `p99` and `p99.9` of response times, of all transactions or of "
            "one type; and `drive.read_p99` and the like, of an emulated drive's `read`, `write` "
            "or `flush`. The collectors' metrics are those of `docs/reference/collectors.md`; "
            "some need to be told of what: `pressure.some_share of io`. Users who pause, and a "
            "rate, say themselves how much is done, so that only response times can differ."
        ),
        examples=["p99 of payment"],
    )
    margin_percent: Annotated[FinePercent, within(0.1, 50, lambda value: f"{value:g}%")] = Field(
        alias="margin",
        default=MARGIN_PERCENT,
        json_schema_extra={"default": f"{MARGIN_PERCENT}%"},
        description="The difference that nobody would mind: within it candidates are equivalent.",
        examples=["1.5%"],
    )
    candidates: Annotated[
        tuple[str, ...] | None, Field(strict=False), AfterValidator(_pair), WithJsonSchema(_PAIR)
    ] = Field(
        default=None,
        json_schema_extra={"default": "both; of more, the slowest and the fastest"},
        description=(
            "The two candidates that are compared. Of more than two, a pair that is named here "
            "is decided in fewer blocks than one that is chosen after all were measured."
        ),
        examples=[["sata", "nvme"]],
    )
    blocks: Annotated[int, Field(ge=BLOCKS_LEAST, le=BLOCKS_MOST)] = Field(
        default=BLOCKS_MOST,
        description=(
            "Blocks at this level at most. After 4, 6, 8, 10, 12, 16 and 20 of them the question "
            "is looked at, and once it is decided the rest is left out. The other levels get one "
            "block. A block with an invalid window is measured once more; if that has one, too, it "
            "counts for the limit and for no verdict."
        ),
        examples=[12],
    )

    def conflicts(
        self,
        users: Sequence[int],
        candidates: Sequence[str],
        transactions: Sequence[str],
        repeat: int | None,
    ) -> Iterator[Wrong]:
        """What of it does not fit the rest of the study, each at the key to change."""
        if not users:
            yield from self._without_levels()
            return
        if self.users is not None and self.users not in users:
            levels = ", ".join(map(str, users))
            yield Wrong("a level that is not measured", f"one of {levels}", self.users, ("users",))
        if repeat is not None and "blocks" in self.model_fields_set:
            yield Wrong(
                "a limit of blocks beside a fixed number of them",
                "keep one: `load.repeat` measures so many whatever they show",
                self.blocks,
                ("blocks",),
            )
        yield from self._wrong_metric(transactions)
        yield from self._wrong_pair(candidates)

    def _without_levels(self) -> Iterator[Wrong]:
        """A search alone asks who serves more users, whatever the question says."""
        for name, info in type(self).model_fields.items():
            if name in self.model_fields_set:
                yield Wrong(
                    "a question without a level",
                    "add the level to `load.users`, or leave `primary` out: a search alone asks "
                    "which candidate serves more users",
                    None,
                    (info.alias or name,),
                )

    def _wrong_metric(self, transactions: Sequence[str]) -> Iterator[Wrong]:
        if self.metric is not None:
            problem = check(parse_quantity(self.metric), transactions)
            if problem is not None:
                yield Wrong(problem.what, problem.right, self.metric, ("metric",))

    def _wrong_pair(self, candidates: Sequence[str]) -> Iterator[Wrong]:
        pair = self.candidates or ()
        for place, name in enumerate(pair):
            where = ("candidates", place)
            if name not in candidates:
                names = ", ".join(candidates)
                yield Wrong("a candidate that the study does not have", names, name, where)
            elif name in pair[:place]:
                yield Wrong("a candidate compared with itself", "name another", name, where)
