"""What interfaces carry, from /proc/net/dev."""

from pathlib import Path

from fakes.clock import FakeClock
from stithy.collect.collector import Scope
from stithy.collect.collectors.network import create, parse
from support.captured import captured

HEAD = "Inter-| Receive | Transmit\n face |bytes ... |bytes ...\n"


def test_all_interfaces_of_a_captured_file_are_read() -> None:
    """Loopback too; errors and drops are one number."""
    found = parse(captured("proc/net-dev").encode())
    assert "lo" in found
    assert all(len(counts) == 6 for counts in found.values())
    line = HEAD + "  eth0:1000 10 1 2 0 0 0 0 2000 20 3 4 0 0 0 0\n"
    assert parse(line.encode()) == {"eth0": (1000, 10, 3, 2000, 20, 7)}


def test_rates_are_by_the_second_and_a_new_interface_waits_for_its_second_reading(
    tmp_path: Path,
) -> None:
    """2000 bytes in 2 s are 1000 B/s; an interface that came in between has no rate yet."""
    dev = tmp_path / "net" / "dev"
    dev.parent.mkdir()
    dev.write_text(HEAD + " lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
    clock = FakeClock()
    network = create(Scope((), None, proc=tmp_path, clock=clock))
    assert list(network.sample()) == []
    line = "2000 4 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    dev.write_text(HEAD + f" lo: {line} new: {line}")
    clock.sleep_s(2)
    found = {(sample.subject, sample.metric): sample.value for sample in network.sample()}
    network.close()
    assert found["lo", "received_bytes_per_s"] == 1000
    assert found["lo", "received_packets_per_s"] == 2
    assert {subject for subject, _ in found} == {"lo"}
