"""What each tenant did, as values, seconds, spans and words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stithy.activities.tenants import TENANT_SECONDS
from stithy.metrics import ALL, PERCENTILES, values_needed
from stithy.results.convert import transaction_rows
from stithy.results.tables import Row, Table
from stithy.run.activity import Measured, Span
from stithy.run.volumes import tenant_name
from stithy.units import format_duration

if TYPE_CHECKING:
    from stithy.run.activities.tenants import TenantsActivity

OF_EACH = ("p95", "p99")


def values(of: "TenantsActivity") -> Iterator[Measured]:
    """Throughput of all and of each, and response times of each."""
    known = [each.numbers for each in of.kept]
    lost = f"{len(of.lost)} of {len(of.each)} tenants were lost" if of.lost else None
    for quantity in of.context.workload.rates:
        rates = [row[quantity.known.column] for row in known]
        whole = None if lost or None in rates or not rates else sum(rates)
        yield Measured(
            quantity.metric,
            whole,
            missing_because=lost or (None if rates else "nothing was measured"),
        )
    for number, each in enumerate(of.each):
        name = tenant_name(number + 1)
        if because := of.lost.get(number) or (None if each.driven else "its users never began"):
            for metric in ("tenant.tpm", *(f"tenant.{key}_s" for key in OF_EACH)):
                yield Measured(metric, None, name, missing_because=because)
        else:
            rate = each.numbers["tpm"]
            yield Measured(
                "tenant.tpm", rate, name, None, None if rate is not None else "nothing was measured"
            )
            whole = next(row for row in each.transactions if row["transaction"] == ALL)
            count = whole["committed"] + whole["rolled_back"]
            for key in OF_EACH:
                needed = values_needed(PERCENTILES[key][0])
                value = whole[f"response_{key}_s"]
                missing = None if value is not None else "no answer was measured"
                if count < needed:
                    value, missing = None, f"it needs {needed:,} answers, and there were {count:,}"
                yield Measured(f"tenant.{key}_s", value, name, count, missing)


def spans(of: "TenantsActivity") -> Iterator[Span]:
    """A tenant that was lost, from its start on."""
    times = of.times
    for number, because in sorted(of.lost.items()):
        own = of.each[number].times
        began = own or times
        if began is not None:
            yield Span(
                tenant_name(number + 1), began.started_at_s, began.measure_to_s, "lost", because
            )


def tables_of(of: "TenantsActivity") -> Iterator[tuple[Table, list[Row]]]:
    """What each tenant did in each second."""
    yield TENANT_SECONDS, [
        {
            "window_id": of.window.id, "tenant": tenant_name(number + 1),
            "second": second.second, "at_s": second.at_s, "phase": str(second.phase),
            "completed": sum(t.committed + t.rolled_back for t in second.transactions),
        }
        for number, each in enumerate(of.each)
        if each.driven is not None and number not in of.lost
        for second in each.driven.seconds
    ]  # fmt: skip


def in_words(of: "TenantsActivity") -> str:
    """Throughput and response time of all, and who was lost."""
    kept = of.kept
    rates = [each.numbers["tpm"] or 0.0 for each in kept]
    summaries = (each.driven.summary for each in kept if each.driven)
    whole = transaction_rows(of.window.id, *summaries)
    p95_s = next((row["response_p95_s"] for row in whole if row["transaction"] == ALL), None)
    shown = f"{len(of.each)} tenants, {sum(rates):,.0f} TPM in all"
    shown += "" if p95_s is None else f", p95 {format_duration(p95_s)}"
    names = ", ".join(tenant_name(number + 1) for number in sorted(of.lost))
    return f"{shown}; LOST: {names}" if names else shown
