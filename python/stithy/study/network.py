"""Where the load driver of a study is: on the server's machine, or at the far end of a network."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from stithy.engines.engine import get_engine
from stithy.errors import TextError
from stithy.study.problems import Violation
from stithy.units import format_bit_rate, make_rule_error, parse_bit_rate
from stithy.workloads.words import LOCAL

if TYPE_CHECKING:
    from stithy.study.model import Study

KEY = "load.network"
BITS_PER_S_MIN, BITS_PER_S_MAX = 1e7, 1e11
"""Own: a bucket of less than a packet or two is no network; more is not carried by a kernel."""


def read_network(value: Any) -> str:
    """The place of the load driver that a text names, written in one way."""
    if value == LOCAL:
        return LOCAL
    try:
        bits_per_s = parse_bit_rate(value)
    except TextError as error:
        raise make_rule_error("not a network of the load driver", f"{LOCAL}, or {error}") from error
    if not BITS_PER_S_MIN <= bits_per_s <= BITS_PER_S_MAX:
        ends = (format_bit_rate(end) for end in (BITS_PER_S_MIN, BITS_PER_S_MAX))
        raise make_rule_error("too slow or too fast", f"from {' to '.join(ends)}")
    return format_bit_rate(bits_per_s)


NetworkValue = Annotated[
    str,
    PlainValidator(read_network),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^\s*({LOCAL}|\d+(\.\d+)?\s*[kKmMgG][bB]it/s)\s*$"}
    ),
]


def list_networks(study: "Study") -> list[str]:
    """List where drivers are that are not local, as the study writes it."""
    if study.given_load is None:
        return []
    every = study.vary.get(KEY, (study.load.network,))
    return [str(value) for value in every if value != LOCAL]


def find_network_problems(study: "Study") -> Iterator[Violation]:
    """Find what a load driver over a network cannot do."""
    if not (networks := list_networks(study)):
        return
    place = ("vary", KEY) if KEY in study.vary else ("load", "network")
    found = []
    if study.by_url:
        right = "leave `network` out: the network to a URL is measured as it is"
        found.append(("a network of Stithy's to a database by URL", right))
    for engine in study.engines if not study.by_url else ():
        if not get_engine(engine).listens:
            right = "leave `network` out, or use postgresql or mariadb"
            found.append((f"{engine}, which no load driver reaches over a network", right))
    if study.load.agents:
        right = "leave one of them out: the network to an agent is measured as it is"
        found.append(("a network of Stithy's to agents", right))
    if study.scenario.keys.count_instances() + study.scenario.keys.count_servers_beside() > 1:
        right = "leave `network` out: one link is of one database"
        found.append(("several databases at once over a network", right))
    for what, right in found:
        yield Violation(what, right, networks[0], place)
