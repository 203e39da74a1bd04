"""How a yearly cost is said: its sum, and its largest terms."""

from collections.abc import Iterable, Iterator

from stithy.analysis.cost import NO_POWER, YearlyCost, price_candidate
from stithy.pricing.keys import Pricing
from stithy.report.words.wording import format_money
from stithy.statements import Statement, Styled, join_parts

TERMS_MOST = 5


def describe_years(pricing: Pricing, candidates: Iterable[str]) -> Iterator[str]:
    """Say what each candidate costs in a year, with its largest terms, as far as it is stated."""
    for name in candidates:
        yearly = price_candidate(pricing, name)
        if yearly.total is not None:
            yield _describe_year(yearly, pricing.currency)
        elif yearly.missing_because == NO_POWER:
            yield f"{name} has a yearly cost once its power is measured, as its energy has a price."


def _describe_year(yearly: YearlyCost, currency: str) -> str:
    total, terms = yearly.total or 0.0, [term for term in yearly.terms if term.amount]
    parts = [
        Statement(
            "{term} {term_amount} ({term_share:share})", term=term.name,
            term_amount=Styled(term.amount, format_money(term.amount)),
            term_share=term.amount / total,
        )
        for term in terms[:TERMS_MOST]
    ]  # fmt: skip
    if more := terms[TERMS_MOST:]:
        amount = sum(term.amount for term in more)
        parts.append(Statement(
            "{small_terms:+smaller term} {small_amount}", small_terms=len(more),
            small_amount=Styled(amount, format_money(amount)),
        ))  # fmt: skip
    return Statement(
        "{candidate} costs {yearly} {currency} a year{terms}.", candidate=yearly.candidate,
        yearly=Styled(total, format_money(total)), currency=currency,
        terms=Statement(": {parts}", parts=join_parts(parts)) if parts else "",
    )  # fmt: skip
