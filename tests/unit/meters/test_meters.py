"""Each meter reads what its device answers; what is wrong makes a sample missing, and says why."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakes.clock import FakeClock
from fakes.drives import serving
from fakes.plugs import plugged_in
from stithy.collectors.collector import Sample, Scope
from stithy.collectors.power import create
from stithy.hosts.runner import Command
from stithy.meters.http import Login
from stithy.meters.ipmi import IpmiKeys, make_command, parse_reading
from stithy.meters.meter import GivenMeter, Meter, Unreadable, run_program
from stithy.registry import plugins
from stithy.secrets import Secret
from stithy.wire.drive.messages import AnswerStats
from support.drive_counters import counters

Files = dict[str, str]


def given(**keys: Any) -> GivenMeter:
    """The meter that a study names by these keys."""
    kind = next(iter(keys))
    return GivenMeter(kind, plugins(Meter)[kind].keys.model_validate(keys))


def scope(root: Path = Path("/nonexistent"), **more: Any) -> Scope:
    """A machine whose /sys lies in `root`, with a clock of its own."""
    return Scope((), sys=root, clock=FakeClock(), **more)


def read(meter: GivenMeter, of: Scope) -> float | None:
    """Ask a meter twice, two seconds apart."""
    live = meter.plugin.open(meter.keys, of)
    live.read_w()
    of.clock.sleep_s(2.0)
    return live.read_w()


def read_once(meter: GivenMeter) -> float | None:
    """Ask a meter for the watts of now."""
    return meter.plugin.open(meter.keys, scope()).read_w()


def write(root: Path, files: Files) -> None:
    """Write files below `root`."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def zone(number: str, name: str, energy_uj: int, range_uj: int = 65_533_000_000) -> Files:
    """A zone of RAPL."""
    folder = f"class/powercap/intel-rapl:{number}"
    return {f"{folder}/name": f"{name}\n", f"{folder}/energy_uj": f"{energy_uj}\n",
            f"{folder}/max_energy_range_uj": f"{range_uj}\n"}  # fmt: skip


def test_rapl_adds_the_zones_that_are_named_and_survives_a_turn(tmp_path: Path) -> None:
    """`core` is a part of its package; a counter that began anew has its range added."""
    of, meter = scope(tmp_path), given(rapl=["package", "dram"])
    write(tmp_path, zone("0", "package-0", 65_532_000_000) | zone("0:0", "core", 5))
    write(tmp_path, zone("0:1", "dram", 0))
    live = meter.plugin.open(meter.keys, of)
    assert live.read_w() is None
    of.clock.sleep_s(2.0)
    write(tmp_path, zone("0", "package-0", 9_000_000) | zone("0:1", "dram", 4_000_000))
    assert live.read_w() == pytest.approx((10 + 4) / 2)
    of.clock.sleep_s(1.0)
    write(tmp_path, zone("0", "package-0", 0))
    with pytest.raises(Unreadable, match="was reset"):
        live.read_w()
    of.clock.sleep_s(60.0)
    write(tmp_path, zone("0", "package-0", 50_000_000))
    with pytest.raises(Unreadable, match="not read for 60 s"):
        live.read_w()


def test_rapl_without_zones_or_range_is_missing(tmp_path: Path) -> None:
    """A virtual machine has none; a range that cannot be read is no negative energy."""
    meter = given(rapl=["package"])
    with pytest.raises(Unreadable, match="virtual machines have none"):
        meter.plugin.open(meter.keys, scope(tmp_path))
    write(tmp_path, zone("0", "package-0", 5))
    (tmp_path / "class/powercap/intel-rapl:0/max_energy_range_uj").unlink()
    with pytest.raises(Unreadable, match="max_energy_range_uj"):
        meter.plugin.open(meter.keys, scope(tmp_path))
    other = given(rapl=["psys"])
    with pytest.raises(Unreadable, match="there are package-0"):
        other.plugin.open(other.keys, scope(tmp_path))


def test_hwmon_reads_watts_or_a_counter_that_may_begin_anew(tmp_path: Path) -> None:
    """The average before the moment; energy that falls has no range to add."""
    chip = "class/hwmon/hwmon3"
    write(tmp_path, {f"{chip}/name": "power_meter\n", f"{chip}/power1_average": "183000000\n"})
    write(tmp_path, {f"{chip}/power1_input": "1\n", f"{chip}/energy1_input": "7000000\n"})
    assert read(given(hwmon="power_meter"), scope(tmp_path)) == 183
    assert read(given(hwmon="power_meter", sensor="energy1"), scope(tmp_path)) == 0
    of, meter = scope(tmp_path), given(hwmon="power_meter", sensor="energy1")
    live = meter.plugin.open(meter.keys, of)
    live.read_w()
    of.clock.sleep_s(1.0)
    write(tmp_path, {f"{chip}/energy1_input": "6000000\n"})
    with pytest.raises(Unreadable, match="began anew"):
        live.read_w()
    of.clock.sleep_s(1.0)
    assert live.read_w() == 0
    write(tmp_path, {"class/hwmon/hwmon4/name": "power_meter\n"})
    with pytest.raises(Unreadable, match="2 chips of hwmon are called power_meter"):
        read(given(hwmon="power_meter"), scope(tmp_path))


# ipmitool 1.8.18 dcmi power reading, of a server whose statistics began at a reset.
DCMI = """
    Instantaneous power reading:                   173 Watts
    Minimum during sampling period:                  0 Watts
    Maximum during sampling period:               1023 Watts
    Average power reading over sample period:      138 Watts
    IPMI timestamp:                           Fri Nov 27 10:12:01 2026
    Sampling period:                          00010824 Seconds.
    Power reading state is:                   activated

"""


def test_dcmi_is_read_of_now_and_only_while_it_measures() -> None:
    """Minimum, maximum and mean are not of the window."""
    assert parse_reading(DCMI) == 173
    with pytest.raises(Unreadable, match="does not measure"):
        parse_reading(DCMI.replace("   activated", "   deactivated"))
    with pytest.raises(Unreadable, match="no instantaneous"):
        parse_reading("Power reading state is: activated")
    far = IpmiKeys.model_validate({"ipmi": "bmc", "user": "reader", "password_file": "/p"})
    words = ["ipmitool", "-I", "lanplus", "-H", "bmc", "-U", "reader", "-f", "/p"]
    assert make_command(far).argv == [*words, "dcmi", "power", "reading"]


@pytest.fixture(scope="module")
def device() -> Iterator[str]:
    """The address of all devices at once."""
    with plugged_in() as plug:
        yield plug.url


PLUGS: list[tuple[dict[str, Any], float]] = [
    ({"shelly": ""}, 121.4),
    ({"shelly": "", "kind": "em1", "channel": 1}, 88.25),
    ({"shelly": "", "kind": "gen1"}, 61.09),
    ({"tasmota": "/new"}, 47),
    ({"tasmota": "/old"}, 12),
]


@pytest.mark.parametrize(("keys", "watts"), PLUGS)
def test_a_plug_is_read_by_its_own_interface(
    device: str, keys: dict[str, Any], watts: float
) -> None:
    """Both generations of Shelly, its energy meters, and Tasmota of any age."""
    kind = next(iter(keys))
    assert read(given(**{**keys, kind: device + keys[kind]}), scope()) == watts


def test_a_plug_that_says_something_else_is_missing(device: str) -> None:
    """A page instead of JSON, a number that is none, an outlet it does not have, or silence."""
    for keys, why in (
        ({"tasmota": f"{device}/none"}, "no JSON"),
        ({"tasmota": f"{device}/odd"}, "StatusSNS.ENERGY.Power is no number"),
        ({"shelly": device, "kind": "gen1", "channel": 3}, "no meters.3.power"),
        ({"shelly": "http://127.0.0.1:1"}, "127.0.0.1:1/rpc"),
    ):
        with pytest.raises(Unreadable, match=why):
            read(given(**keys), scope())


SECRET = 'pa&s "w\\rd#%ü'


@pytest.mark.parametrize(("keys", "watts"), PLUGS)
def test_a_plug_gets_its_password_and_says_where_a_wrong_one_stands(
    keys: dict[str, Any], watts: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By digest, Basic or in the query; a wrong, lacking or absent one is the reason."""
    kind = next(iter(keys))
    with plugged_in(SECRET) as plug:
        keys = {**keys, kind: plug.url + keys[kind]}
        monkeypatch.setenv("PLUG", SECRET)
        assert read(given(**keys, password_env="PLUG"), scope()) == watts
        (file := tmp_path / "secret").write_text(f"{SECRET}\n")
        with pytest.raises(Unreadable, match=f"chmod 600 {file}"):
            read(given(**keys, password_file=str(file)), scope())
        file.chmod(0o600)
        assert read(given(**keys, password_file=str(file), user="admin"), scope()) == watts
        let_in = plug.let_in
        monkeypatch.setenv("PLUG", "wr0ng")
        for more, why in (
            ({"password_env": "PLUG"}, "refuses the login"), ({}, "refuses the login"),
            ({"password_env": "NO_PLUG"}, "not set"),
        ):  # fmt: skip
            with pytest.raises(Unreadable, match=why) as raised:
                read(given(**keys, **more), scope())
            assert "wr0ng" not in str(raised.value)
        assert plug.let_in == let_in


def test_a_digest_is_that_of_the_standard() -> None:
    """The example of RFC 7616, section 3.9.1; Basic is told to nobody who does not ask for it."""
    nonces = (
        "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
        "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
    )
    start = f'Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="{nonces[0]}"'
    login = Login("Digest", "Mufasa", Secret("Circle of Life"))
    proofs = {
        "SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
        "MD5": "8ca523f5e9506fed4657c9700eebdbec",
    }
    for algorithm, proof in proofs.items():
        asked = f"{start}, algorithm={algorithm}"
        assert proof in login.answer([asked], "/dir/index.html", nonces[1])
    for other in ("Basic realm=x", f"{start}, algorithm=SHA-512-256"):
        with pytest.raises(Unreadable, match="another"):
            login.answer([other], "/", "")


def _answer_snmp(asked: bytes, value: bytes) -> bytes:
    """Answer an SNMPv2c GET of one object with a value: the request, its NULL replaced."""
    asked = asked[:-2] + value
    grown = len(value) - 2
    # The lengths of message, request, list and binding, all below 128, and the kind of the request.
    community = 7 + asked[6]
    request_id = community + 3 + asked[community + 3]
    places = (1, community + 1, request_id + 8, request_id + 10)
    answer = bytearray(asked)
    answer[community] = 0xA2
    for place in places:
        answer[place] += grown
    return bytes(answer)


@contextmanager
def _speaking_snmp(value: bytes, community: str = "secret") -> Iterator[str]:
    """Inside, a device answers who knows its community once with this value; its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.bind(("127.0.0.1", 0))

        def serve() -> None:
            asked, sender = peer.recvfrom(2048)
            if asked[4] == 1 and asked[7 : 7 + asked[6]] == community.encode():  # 1: version 2c
                peer.sendto(_answer_snmp(asked, value), sender)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"udp:127.0.0.1:{peer.getsockname()[1]}"
        thread.join()


@pytest.mark.needs_snmpget
def test_a_pdu_is_asked_by_snmp(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Version and community are those of `snmp.conf`; counts have the unit of the MIB."""
    (tmp_path / "snmp.conf").write_text("defVersion 2c\ndefCommunity secret\n")
    monkeypatch.setenv("SNMPCONFPATH", str(tmp_path))
    keys = {"oid": "1.3.6.1.4.1.318.1.1.26.4.3.1.5.1", "watts_per_count": 10}
    for value, watts in ((b"\x02\x01\x2a", 420), (b"\x02\x01\xff", None)):
        with _speaking_snmp(value) as address:
            meter = given(snmp=address, **keys)
            live = meter.plugin.open(meter.keys, scope())
            if watts is not None:
                assert live.read_w() == watts
                continue
            with pytest.raises(Unreadable, match="does not support"):
                live.read_w()


@pytest.mark.needs_snmpget
def test_a_pdu_is_told_its_community_where_no_other_user_sees_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not by an argument; a device that refuses one is silent."""
    monkeypatch.setenv("PDU", SECRET)
    told: list[Command] = []

    def run(command: Command) -> str:
        told.append(command)
        return run_program(command)

    monkeypatch.setattr("stithy.meters.snmp.run_program", run)
    keys = {"oid": "1.3.6.1.4.1", "watts_per_count": 10, "community_env": "PDU"}
    with _speaking_snmp(b"\x02\x01\x2a", SECRET) as address:
        assert read_once(given(snmp=address, **keys)) == 420
    with (
        _speaking_snmp(b"\x02\x01\x2a", "public") as address,
        pytest.raises(Unreadable, match=r"No Response.*; no device answers a wrong community"),
    ):
        read_once(given(snmp=address, **keys))
    assert not any(SECRET in repr(command) for command in told)
    assert not Path(told[0].environment["SNMPCONFPATH"]).exists()


FILE = """\
when,draw
2026-10-25T01:59:58,100
2026-10-25T04:00:00+02:00,101.5
2026-10-25T03:00:01,102
2026-10-25T03:00:02,1"""


def test_a_file_is_read_in_its_time_zone_and_without_its_last_half_row(tmp_path: Path) -> None:
    """In the night of 25 October Berlin goes back an hour at 3:00."""
    path = tmp_path / "watts.csv"
    path.write_text(FILE)
    named = {"file": path, "time": "when", "watts": "draw", "every": "1 s"}
    meter = given(**named, timezone="Europe/Berlin")
    rows = meter.plugin.read_record(meter.keys, 0, 2e9)
    assert rows == [(1792886398.0, 100.0), (1792893600.0, 101.5), (1792893601.0, 102.0)]
    assert meter.plugin.read_record(meter.keys, 1792893600.0, 1792893601.0) == rows[1:2]
    for wrong, why in (
        ("2026-10-25T02:30:00,5\n", ":2: 2026-10-25T02:30:00, 5: a single moment"),
        ("2026-10-26T02:30:00,five\n", ":2: "),
        ("2026-10-26T02:30:00,nan\n", "nan W is no power"),
        ("2026-10-26T02:30:01,5\n2026-10-26T02:30:01,6\n", ":3: its time is not after"),
    ):
        path.write_text(f"when,draw\n{wrong}")
        with pytest.raises(Unreadable, match=why):
            meter.plugin.read_record(meter.keys, 0, 2e9)
    path.write_text("1792893600.5,7\n")
    with pytest.raises(Unreadable, match="no column draw and when"):
        meter.plugin.read_record(meter.keys, 0, 2e9)


def test_a_model_adds_what_each_drive_counted_in_its_own_time(tmp_path: Path) -> None:
    """Two drives of one program; without watts in a profile the model says which."""
    counted = {"data-1": (10.0, 1.0), "data-2": (100.0, 5.0)}

    def answer(command: Any) -> AnswerStats:
        energy_j, duration_s = counted[command.drive]
        of = counters(command.drive, energy_j=energy_j)
        return AnswerStats(**{**dict(of), "duration_s": duration_s})

    control = tmp_path / "control"
    with serving(control, answer):
        of, meter = scope(drives=dict.fromkeys(counted, control)), given(model="drives")
        live = meter.plugin.open(meter.keys, of)
        assert live.read_w() is None
        counted |= {"data-1": (31.5, 3.0), "data-2": (101.0, 5.5)}
        assert live.read_w() == 21.5 / 2 + 1 / 0.5
        counted["data-2"] = (None, 6.0)  # type: ignore[assignment]  # as the program tells it
        with pytest.raises(Unreadable, match="data-2 states no watts"):
            live.read_w()


def test_the_collector_asks_each_meter_when_it_is_due(tmp_path: Path) -> None:
    """The first sample only begins; what is not there says so each time; files are not asked."""
    chip = "class/hwmon/hwmon0"
    write(tmp_path, {f"{chip}/name": "psu\n", f"{chip}/power1_input": "5000000\n"})
    meters = {
        "slow": given(hwmon="psu", every="2 s"), "none": given(rapl=["package"]),
        "file": given(file="/nonexistent", timezone="UTC"),
    }  # fmt: skip
    of = replace(scope(tmp_path), meters=meters)
    live = create(of)
    assert list(live.sample()) == []
    found = []
    for _ in range(4):
        of.clock.sleep_s(1.0)
        found.append({each.subject: each for each in live.sample()})
    assert [sorted(each) for each in found] == [["none"], ["none", "slow"]] * 2
    assert found[1]["slow"] == Sample("slow", "draw_w", 5.0)
    assert "virtual machines" in (found[0]["none"].missing_because or "")
    write(tmp_path, {f"{chip}/power1_input": "-5000000\n"})
    of.clock.sleep_s(2.0)
    assert "no power that a machine draws" in (live.sample()[0].missing_because or "")
    odd = create(replace(of, meters={"odd": given(hwmon="psu", every="2.5 s")}))
    odd.sample()
    taken = 0
    for _ in range(60):
        of.clock.sleep_s(1.0)
        taken += len(odd.sample())
    assert taken == 24, "as many as a mean needs"
