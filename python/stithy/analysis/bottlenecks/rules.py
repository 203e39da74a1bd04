"""What can limit a window: one table of rules, each a bound that throughput cannot exceed.

The way of thinking is that of operational analysis: each resource and each part of a user's time
is a bound on throughput, which the others cannot lift. A rule says how much of its bound a window
reached, the tightest bound is what limited it, and the inverse of its share is how much more all
else together could give. What was not observed leaves a rule without a result, which is not the
same as a limit that was not there.
Source: Denning and Buzen, "The operational analysis of queueing network models" (1978).
"""

from collections.abc import Callable
from dataclasses import dataclass

from stithy.analysis.bottlenecks.observation import (
    HALF,
    Cpus,
    Observation,
    format_at_most,
    is_known,
    state_sampled,
)
from stithy.statements import Statement, Styled, join_parts
from stithy.units import format_bit_rate

NEARLY_FULL = 0.8
"""Source: the utilisation law (Denning and Buzen, 1978): what is busy for four fifths of the time
can do at most a quarter more. Own: a fifth is what arrivals by chance leave idle of a full queue
with few users."""


@dataclass(frozen=True)
class RuleResult:
    """What a rule found: how much of its bound the window reached, as a share of 1, and in words.

    `share` is None where the rule could not speak, `because` says then what is missing.
    `is_proven`: the throughput itself shows that the bound is reached, whatever else was full.
    `samples`: from so many samples the share is; None where it was counted. `of`: the exporter of
    the host whose CPUs these are; empty for this machine.
    """

    share: float | None
    says: str = ""
    because: str | None = None
    is_proven: bool = False
    samples: int | None = None
    of: str = ""


def make_unknown(because: str) -> RuleResult:
    """The answer of a rule that cannot speak."""
    return RuleResult(None, "", because)


@dataclass(frozen=True)
class Rule:
    """One thing that can limit a window, judged from what was seen of the window.

    `letter`: its mark in a strip. `words`: what limited, as in "limited by …"; `short`: the same in
    few words. `heading`: its share above a column; `told`: in a sentence, empty where that says
    nothing. `holds_from`: from which share on it limits. `is_storage`: whether other storage would
    lift it. `judge` returns None where the rule does not apply. `yields_to`: the rules that come
    before it where both hold, however tight.
    """

    name: str
    letter: str
    words: str
    short: str
    heading: str
    shown: str
    holds_from: float
    is_storage: bool
    judge: Callable[[Observation], RuleResult | None]
    yields_to: tuple[str, ...] = ()


def judge_cpus(observed: Observation, cpus: Cpus, shown: str, wanted: float | None) -> RuleResult:
    """How busy these CPUs were; `shown` says whose they are, as "the database's CPU was".

    `wanted`: the share of the users' time that was for these CPUs, waits for them included; None
    where it is not known. Others' work may fill CPUs that the users hardly want: the server is
    woken at once and goes back to its waits. So CPUs that are full only with it limit where users
    want them for half of their time, and else nobody can tell.
    Source: the utilisation law. Own: others are taken to have worked on these CPUs alone.
    """
    used = cpus.used_share
    others = min(used, (observed.others_cpus or 0.0) / cpus.count)
    said = Statement("{whose} busy {used:.0f %} of the time", whose=shown, used=used)
    if used < NEARLY_FULL or used - others >= NEARLY_FULL:
        return RuleResult(used, said, of=cpus.of)
    said = Statement("{busy}, up to {others_share} by other programs", busy=said,
                     others_share=Styled(others, format_at_most(others)))  # fmt: skip
    return RuleResult(used, said) if wanted is not None and wanted >= HALF else make_unknown(said)


def _judge_checkpoints(observed: Observation) -> RuleResult:
    """The share of the throughput that stalls in checkpoints cost, by the median of the seconds."""
    if observed.stalled_share is None:
        return make_unknown(observed.unseen.get("database", "checkpoints were not sampled"))
    share = observed.stalled_share
    said = Statement("stalls in checkpoints cost {checkpoints:.0f %} of the throughput",
                     checkpoints=share)  # fmt: skip
    return RuleResult(share, said)


def _judge_device_latency(observed: Observation) -> RuleResult:
    """Sessions that wait for data files, of all users; at most what the device had under way.

    Where too few sessions were seen it is the reads under way on the device: sessions wait for
    each of their reads.
    Own: a session that waits for a read which is not on the device waits for a CPU or for memory.
    """
    # The device with most under way: stacked devices see the same requests.
    known = [each for each in observed.devices if each.under_way is not None]
    device = max(known, key=lambda each: each.under_way or 0.0, default=None)
    part = observed.part("device")
    if part is None:
        # What the kernel counted, where sessions tell nothing.
        if device is None or device.reads_under_way is None:
            return make_unknown(observed.why_no_sessions)
        share = min(1.0, device.reads_under_way / observed.places)
        if observed.devices_used_share is not None:
            share = min(share, observed.devices_used_share)
        took = "reads of the device took {reads:.0f %} of the users' time"
        return RuleResult(share, Statement(took, reads=share))
    if device is not None and device.under_way is not None:
        part = min(part, device.under_way / observed.places)
    return _judge_waits("data files", part, observed)


def _judge_waits(what: str, part: float, observed: Observation, most: str = "") -> RuleResult:
    """The part of the users' time in waits for something, which was sampled."""
    said = Statement("waits for {of} took {sampled} of the users' time{most}", of=what, most=most,
                     sampled=state_sampled(part, observed.samples))  # fmt: skip
    return RuleResult(part, said, samples=observed.samples)


def _judge_device_rate(observed: Observation) -> RuleResult | None:
    """The highest share of what the drive's profile allows; None where no device was seen.

    Of a device without a profile only that it is far from full can be reported: one that is in use
    for less than four fifths of the time can do more. Much use alone does not make it full: it may
    serve many requests at once.
    Source: the utilisation law.
    """
    if observed.drives:
        most = max(observed.drives, key=lambda each: each.share)
        said = Statement("{drive} reached {reached:.0f %} of its profile's {what}",
                         drive=most.drive, reached=most.share, what=most.what)  # fmt: skip
        return RuleResult(min(1.0, most.share), said)
    if observed.emulated:
        return make_unknown(
            observed.unseen.get("drive", "what the drives' profiles allow is not known")
        )
    used = [
        (device.used_share, device.name)
        for device in observed.devices
        if device.used_share is not None
    ]
    if not used:
        return make_unknown(observed.unseen["block"]) if "block" in observed.unseen else None
    share, name = max(used)
    in_use = Statement("{device} was in use {in_use:.0f %} of the time", device=name, in_use=share)
    if share < NEARLY_FULL:
        return RuleResult(share, in_use)
    return make_unknown(Statement("{in_use}, and its maximum rate is not known", in_use=in_use))


def _judge_driver(observed: Observation) -> RuleResult:
    """All where it was late; else its part of the bound, or what users spent outside the server.

    Outside are the driver itself, the network, and what lies between the statements of a
    transaction.
    Source: docs/explanation/method.md, "Driver headroom". Own: time outside.
    """
    if observed.late is not None:
        return RuleResult(1.0, observed.late, is_proven=True)
    outside, asked = _judge_outside(observed), observed.headroom.share
    if outside is not None and outside >= max(HALF, asked or 0.0):
        said = Statement("{sampled} of the users' time passed outside the server", of="driver",
                         sampled=state_sampled(outside, observed.samples))  # fmt: skip
        return RuleResult(outside, said, samples=observed.samples)
    if asked is None:
        return make_unknown("the driver headroom is not proven")
    said = Statement("the window needed {driver:.0f %} of the driver's capacity", driver=asked)
    return RuleResult(min(1.0, asked), said)


def _judge_network(observed: Observation) -> RuleResult | None:
    """How much of what the load driver's link lets through was sent; None for a local driver.

    Source: the utilisation law.
    """
    if observed.link is None:
        return None
    if observed.link.used_share is None:
        return make_unknown("the network of the load driver was not sampled")
    rate, share = format_bit_rate(8 * observed.link.bytes_per_s_max), observed.link.used_share
    said = "the load driver's network carried {network:.0f %} of its {rate}"
    return RuleResult(min(1.0, share), Statement(said, network=share, rate=rate))


def _judge_outside(observed: Observation) -> float | None:
    """Share of the users' time under way, neither in the server nor in wait for a connection."""
    if observed.under_way is None or observed.sessions is None or not observed.enough:
        return None
    inside = observed.sessions.active + (observed.pool_waiting or 0.0)
    share = max(0.0, min(1.0, (observed.under_way - inside) / observed.places))
    return share if is_known(share, observed.samples) else None


def _judge_emulation(observed: Observation) -> RuleResult | None:
    """All where it failed; None where no drive is emulated.

    Source: docs/explanation/method.md, on emulated drives.
    """
    if not observed.emulated:
        return None
    if observed.slowed is None:
        return RuleResult(0.0, "the drives kept to their profiles")
    return RuleResult(1.0, observed.slowed, is_proven=True)


def _judge_host_cpu(observed: Observation) -> RuleResult:
    """How busy they were.

    Source: the utilisation law; waiting for I/O is no work, time that a hypervisor gave
    to others is.
    """
    if observed.host is None:
        return make_unknown(observed.unseen.get("cpu", "the CPUs were not sampled"))
    return judge_cpus(observed, observed.host, observed.host.words, observed.rest_share)


def _judge_storage_cpu(observed: Observation) -> RuleResult | None:
    """How busy those of the busiest host of the storage were; None where none was seen.

    Source: the utilisation law.
    """
    if not observed.storage_hosts:
        return None
    most = max(observed.storage_hosts, key=lambda host: host.used_share)
    said = Statement("{whose} busy {used:.0f %} of the time", whose=most.words,
                     used=most.used_share)  # fmt: skip
    return RuleResult(most.used_share, said, of=most.of)


def _judge_locks(observed: Observation) -> RuleResult:
    """Sessions that wait for a lock, of all users; the commonest one is reported."""
    part = observed.part("locks")
    if part is None or observed.sessions is None:
        return make_unknown(observed.why_no_sessions)
    waits = observed.sessions.locks
    most = f" (most for {max(waits, key=lambda event: waits[event])})" if waits else ""
    return _judge_waits("locks", part, observed, most)


def _judge_log(observed: Observation) -> RuleResult:
    """Sessions that wait for the log to be written, synced or free, of all users.

    Where too few were seen, waits for all storage together can still be too short for a limit.
    """
    part, most = observed.part("log"), observed.storage_share
    if part is None and most is not None and most < HALF:
        took = "waits for storage of any kind took at most {storage} of the users' time"
        return RuleResult(most, Statement(took, storage=Styled(most, format_at_most(most))))
    if part is None:
        return make_unknown(observed.why_no_sessions)
    return _judge_waits("the commit log", part, observed)


def _judge_pool(observed: Observation) -> RuleResult | None:
    """Users who wait for a connection at any moment, of all; None where each has its own.

    Own: a wait for a connection is a part of a user's time like any other.
    """
    if observed.pool_waiting is None or observed.is_open:
        return None
    share = min(1.0, observed.pool_waiting / observed.places)
    took = "waits for a connection took {pool:.0f %} of the users' time"
    return RuleResult(share, Statement(took, pool=share))


def _judge_server_cpu(observed: Observation) -> RuleResult | None:
    """How busy they were; None where the server may use any CPU, of which `host_cpu` speaks.

    Source: the utilisation law; waiting for I/O is no work.
    """
    if observed.server is not None:
        many = observed.server.count > 1
        who = "the database's CPUs were" if many else "the database's CPU was"
        return judge_cpus(observed, observed.server, who, observed.part("cpu"))
    return make_unknown(observed.unseen["cpu"]) if "cpu" in observed.unseen else None


SERVED_SHARE = 0.99
"""Own: fewer may wait at any moment, without growing in number; see `validity.instruments`."""

PROVEN_SHARE = 0.9
"""Source: N / Z bounds a closed loop with the pause Z; from nine tenths of it on, even a server
that took no time would give at most a ninth more. CPUs may be full beside it, with other work."""

PROPORTIONAL = 0.5
"""Own: growth by half as much as the users grew is growth; less is that of something that fills."""


def _judge_users(observed: Observation) -> RuleResult:
    """Pauses and own work; own work counts only where the next level did more, if there is one.

    Source: the bound N / (Z + D) of a closed loop (Denning and Buzen, 1978).
    """
    if observed.is_open:
        # An open loop whose transactions are all served does what was asked of it and no more.
        if observed.backlog_share is None:
            return make_unknown("the window has no transactions")
        served = 1 - observed.backlog_share
        if served < SERVED_SHARE:
            late = "{unserved:.0f %} of the due transactions had not begun"
            return RuleResult(0.0, Statement(late, unserved=observed.backlog_share))
        begun = "{served_share:.0f %} of the due transactions had begun"
        return RuleResult(served, Statement(begun, served_share=served), is_proven=True)
    paused, own = observed.pause_share, _own_work(observed)
    if paused is None:
        return make_unknown("the window has no response times")
    if own is None and paused < HALF:
        return make_unknown(observed.unseen.get("cpu") or observed.why_no_sessions)
    if own and observed.growth is not None and observed.growth.share < PROPORTIONAL:
        own = 0.0
    share = min(1.0, paused + (own or 0.0))
    return RuleResult(
        share, _explain_share(paused, own or 0.0, observed), is_proven=paused >= PROVEN_SHARE
    )


def _own_work(observed: Observation) -> float | None:
    """Share of the users' time in which the server worked for them on a CPU, at least."""
    if observed.server is not None:
        busy = observed.server.used_share * observed.server.count
    elif observed.host is not None and (part := observed.part("cpu")) is not None:
        # The CPUs of the host work for others as well: at most as many sessions ran as were seen.
        busy = min(observed.host.used_share * observed.host.count, part * observed.places)
    else:
        return None
    busy = max(0.0, busy - (observed.others_cpus or 0.0))
    under_way = observed.places if observed.under_way is None else observed.under_way
    return min(1.0, busy / observed.places, under_way / observed.places)


def _explain_share(paused: float, own: float, observed: Observation) -> str:
    parts = []
    if observed.paced:
        parts.append(Statement("pauses took {paused:.0f %} of the users' time", paused=paused))
    if own:
        whose = "their" if parts else "the users'"
        worked = f"the database's own work took {{own:.0f %}} of {whose} time"
        parts.append(Statement(worked, own=own))
    if observed.growth is not None:
        parts.append(Statement(
            "{next_users:,} users did {growth_times:.2f} times as much",
            next_users=observed.growth.level, growth_times=observed.growth.factor,
        ))  # fmt: skip
    return join_parts(parts, "; ")


RULES = {each.name: each for each in (
    Rule(
        name="checkpoints", letter="P", words="stalls in checkpoints",
        short="checkpoint stalls", heading="Checkpoint stalls", shown="{share} of the throughput",
        # Own: a tenth of the throughput is more than windows vary by themselves.
        holds_from=0.1, is_storage=True, judge=_judge_checkpoints,
    ),
    Rule(
        name="device-latency", letter="D", words="the latency of the storage",
        short="storage latency", heading="Waits for data", shown="{share} of the users' time",
        holds_from=HALF, is_storage=True, judge=_judge_device_latency,
        # Who queues for a device that does all it can waits for its rate, not for its answers.
        yields_to=("device-rate",),
    ),
    Rule(
        name="device-rate", letter="B", words="the IOPS or bandwidth of the storage",
        short="device saturation", heading="Rate of the device",
        shown="{share} of what the drive's profile allows",
        holds_from=NEARLY_FULL, is_storage=True, judge=_judge_device_rate,
    ),
    Rule(
        name="driver", letter="I", words="the load driver",
        short="the load driver", heading="Driver", shown="",
        holds_from=HALF, is_storage=False, judge=_judge_driver,
        # Who queues for a full network is outside the server.
        yields_to=("network",),
    ),
    Rule(
        name="emulation", letter="E", words="the emulation of drives",
        short="drive emulation", heading="Emulation", shown="",
        holds_from=HALF, is_storage=False, judge=_judge_emulation,
    ),
    Rule(
        name="host-cpu", letter="H", words="the CPUs of the host",
        short="the host's CPUs", heading="Host CPUs", shown="busy {share} of the time",
        holds_from=NEARLY_FULL, is_storage=False, judge=_judge_host_cpu,
    ),
    Rule(
        name="locks", letter="X", words="locks",
        short="locks", heading="Waits for locks", shown="{share} of the users' time",
        holds_from=HALF, is_storage=False, judge=_judge_locks,
    ),
    Rule(
        name="log", letter="L", words="the commit log",
        short="the commit log", heading="Waits for the log", shown="{share} of the users' time",
        holds_from=HALF, is_storage=True, judge=_judge_log,
    ),
    Rule(
        name="network", letter="W", words="the network of the load driver",
        short="the driver's network", heading="Driver's network", shown="{share} of its rate",
        holds_from=NEARLY_FULL, is_storage=False, judge=_judge_network,
    ),
    Rule(
        name="pool", letter="C", words="the number of connections",
        short="the connection pool", heading="Waits for a connection",
        shown="{share} of the users' time in waits for one",
        holds_from=HALF, is_storage=False, judge=_judge_pool,
    ),
    Rule(
        name="server-cpu", letter="S", words="the CPUs of the database",
        short="the database's CPUs", heading="Database CPUs", shown="busy {share} of the time",
        holds_from=NEARLY_FULL, is_storage=False, judge=_judge_server_cpu,
    ),
    Rule(
        name="storage-cpu", letter="N", words="the CPUs of the storage's host",
        short="the storage host's CPUs", heading="Storage CPUs", shown="busy {share} of the time",
        holds_from=NEARLY_FULL, is_storage=True, judge=_judge_storage_cpu,
    ),
    Rule(
        name="demand", letter="U", words="the number of users",
        short="user count", heading="Users' own time",
        shown="{share} of their time is independent of storage",
        holds_from=HALF, is_storage=False, judge=_judge_users,
    ),
)}  # fmt: skip
"""All rules by name; of equal shares the first of them limits."""
