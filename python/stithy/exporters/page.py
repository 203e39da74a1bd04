"""One page of metrics: fetched, parsed by Prometheus' own library, and what its clock says.

Only lines of names that are wanted reach the parser: a page may have ten thousand, once a second.
"""

import re
import ssl
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cache
from http.client import HTTPException
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

from stithy.clock import Clock
from stithy.errors import StithyError, give_reason
from stithy.exporters.given import ExporterKeys

BYTES_MAX, PART_BYTES = 64 * 2**20, 2**16
ACCEPT = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5"

COUNTED = ("_total", "_count", "_sum", "_bucket")
"""How names end that count whatever the page says, as those of histograms do."""

Labels = tuple[tuple[str, str], ...]


class NoPage(Exception):
    """Raised where a page cannot be had; its text is the reason."""


@dataclass(frozen=True)
class MetricsPage:
    """The wanted series by name, those of the names that are counters, and all names there are."""

    series: Mapping[str, Mapping[Labels, float]]
    counters: frozenset[str]
    names: frozenset[str]


@dataclass(frozen=True)
class PageReading:
    """A page as it was read.

    `at_s`: monotonic time of the middle of the request, `took_s` its length. `offset_s`: by how
    much the host's clock is ahead of ours, at least; None where it does not tell. `body` is the
    whole text.
    """

    page: MetricsPage
    at_s: float
    took_s: float
    offset_s: float | None
    body: bytes


class _Stay(HTTPRedirectHandler):
    """Follows to no other address: a token is for the one that the study names."""

    def redirect_request(self, *_: Any) -> None:
        """None, so that the answer is an error."""


def read_page(
    keys: ExporterKeys,
    clock: Clock,
    patience_s: float,
    names: Collection[str] | None = None,
    time_name: str = "",
) -> PageReading:
    """Read a page; `names` None: all of it. `time_name`: the gauge that tells its host's time.

    Raises NoPage.
    """
    began_s, began_at_s = clock.monotonic_s(), clock.now_s()
    body, kind, date = _fetch(keys, clock, patience_s)
    took_s = clock.monotonic_s() - began_s
    page = parse_page(body, kind, names)
    now_s = began_at_s + took_s / 2
    told = next(iter(page.series.get(time_name, {}).values()), None)
    if told is None and date is not None:  # whole seconds: the moment of them that is nearest
        told = min(max(now_s, date), date + 1)
    offset_s = None if told is None else told - now_s
    return PageReading(page, began_s + took_s / 2, took_s, offset_s, body)


def _fetch(keys: ExporterKeys, clock: Clock, patience_s: float) -> tuple[bytes, str, float | None]:
    """The body of an answer, its content type, and the second in which it was made."""
    # No proxy: exporters stand in the laboratory.
    until_s = clock.monotonic_s() + patience_s
    handlers: list[BaseHandler] = [ProxyHandler({}), _Stay()]
    try:
        if keys.url.startswith("https:"):
            handlers.append(HTTPSHandler(context=_read_trust(keys.ca and keys.ca.expanduser())))
        token = keys.read_token()
        known = {"Authorization": f"Bearer {token.reveal()}"} if token else {}
        request = Request(keys.url, headers={"Accept": ACCEPT, **known})
        with build_opener(*handlers).open(request, timeout=patience_s) as answer:
            kind, date = answer.headers.get("Content-Type", ""), answer.headers.get("Date")
            body = bytearray()
            # Of the patience of a socket a page that trickles would use all for each part.
            while (part := answer.read1(PART_BYTES)) and len(body) <= BYTES_MAX:
                body += part
                if clock.monotonic_s() > until_s:
                    raise TimeoutError
        second = parsedate_to_datetime(date).timestamp() if date else None
    except StithyError as error:
        raise NoPage(error.text) from error
    except HTTPError as error:
        error.close()
        hint = " (`token_env` or `token_file` name a token)" if error.code in (401, 403) else ""
        raise NoPage(f"it answers {error.code} {error.reason}{hint}") from error
    except TimeoutError as error:
        raise NoPage(f"no answer within {patience_s:g} s") from error
    except (HTTPException, ValueError) as error:
        raise NoPage("its answer is not HTTP") from error
    except OSError as error:
        raise NoPage(_explain_failure(error)) from error
    if len(body) > BYTES_MAX:
        raise NoPage(f"its page has more than {BYTES_MAX // 2**20} MiB")
    return bytes(body), kind, second


def _explain_failure(error: OSError) -> str:
    reason = error.reason if isinstance(error, URLError) else error
    if isinstance(reason, ssl.SSLCertVerificationError):
        return "its certificate is not trusted (`ca` names those that vouch for it)"
    if isinstance(reason, ssl.SSLError):
        return "TLS failed"
    return give_reason(reason) if isinstance(reason, OSError) else "no such address can be asked"


@cache
def _read_trust(ca: Path | None) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca)


def parse_page(body: bytes, kind: str, names: Collection[str] | None = None) -> MetricsPage:
    """Parse a page, of which `kind` is the content type; values that are no number are left out.

    Raises NoPage for a text that is no page of metrics, or whose samples have times of their
    own: what they are of, nobody knows.
    """
    # Only here: every command knows the collector, and few read a page.
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics_parser

    is_open = "openmetrics" in kind
    parse = (openmetrics_parser if is_open else parser).text_string_to_metric_families
    series: dict[str, dict[Labels, float]] = {}
    counters: set[str] = set()
    try:
        lines = body.decode().splitlines(keepends=True)
        starts = [found[0] if (found := _NAME.match(line)) else "" for line in lines]
        there = frozenset(starts) - {""}
        wanted = there if names is None else there & frozenset(names)
        text = "".join(_select_lines(lines, starts, wanted))
        for family in parse(text + "# EOF\n" if is_open else text):
            for sample in family.samples:
                # The library gives counters without an ending one.
                name = sample.name if sample.name in there else sample.name[: -len("_total")]
                if name not in wanted or not isfinite(sample.value):
                    continue
                if sample.timestamp is not None:
                    raise NoPage("its samples have times of their own, as those of a gateway")
                series.setdefault(name, {})[tuple(sorted(sample.labels.items()))] = sample.value
                if family.type == "counter" or name.endswith(COUNTED):
                    counters.add(name)
    except ValueError as error:
        raise NoPage("it is no page of metrics") from error
    if not there:
        raise NoPage("it is no page of metrics")
    return MetricsPage(series, frozenset(counters), there)


_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(?=[{ \t])")


def _select_lines(lines: list[str], starts: list[str], wanted: frozenset[str]) -> Iterator[str]:
    """Samples of these names, of which each line that is one has its own; and what they are."""
    families = wanted | {name.removesuffix("_total") for name in wanted}
    for line, name in zip(lines, starts, strict=True):
        if line.startswith("#"):
            words = line.split(maxsplit=3)
            if len(words) > 2 and words[1] == "TYPE" and words[2] in families:
                yield line
        elif name in wanted:
            yield line
