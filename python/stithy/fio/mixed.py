"""A pattern whose reads have a rate, and whose writes a bandwidth: the matrix of both."""

from stithy.errors import UserError
from stithy.fio.profile import Pattern, mean_bytes


def mixed(
    pattern: Pattern, read_per_s: float | None, write_bytes_per_s: float | None
) -> tuple[Pattern, float | None]:
    """The pattern with streams that keep these, and its requests a second in all.

    What is None is left out beside the other, as is what is 0. Without any above 0 the rest goes as
    fast as it can: then the rate is None. Raises UserError where a stream both reads and writes, or
    nobody does what is asked, or nothing is left.
    """
    if pattern.trace is not None:
        raise _refuse_mix(pattern, "it is a trace")
    ways: dict[str, str] = {}
    for stream in pattern.streams:
        if len(stream.directions) != 1 or stream.is_paced:
            raise _refuse_mix(pattern, f"its stream {stream.name} pauses, or both reads and writes")
        ways[stream.name] = stream.directions[0]
    asked = {"read": read_per_s or 0.0, "write": write_bytes_per_s or 0.0}
    if not any(asked.values()):
        none = {"read": read_per_s == 0, "write": write_bytes_per_s == 0}
        left = tuple(each for each in pattern.streams if not none[ways[each.name]])
        if not left:
            raise _refuse_mix(pattern, "neither reads nor writes are asked for")
        return pattern.model_copy(update={"streams": left}), None
    for way, amount in asked.items():
        if amount and way not in ways.values():
            raise _refuse_mix(pattern, f"it has no stream that only {way}s")
    streams = []
    for stream in pattern.streams:
        way = ways[stream.name]
        part = asked[way] / sum(each == way for each in ways.values())
        per_s = part if way == "read" else part / mean_bytes(stream.write_sizes)
        if per_s:
            streams.append(stream.model_copy(update={"weight": per_s}))
    per_s = sum(each.weight or 0.0 for each in streams)
    return pattern.model_copy(update={"streams": tuple(streams)}), per_s


def _refuse_mix(pattern: Pattern, why: str) -> UserError:
    problem = f"a rate of reads and a bandwidth of writes cannot be asked of {pattern.name}: {why}"
    remedy = "name the profile reads-beside-writes, or one with streams of one direction each"
    return UserError(problem, where=f"pattern {pattern.name}", remedy=remedy)
