"""Power of the idle machine and of windows: means, sums, energy per order, and what is missing."""

import re
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from fakes.clock import FakeClock, HurriedClock
from fakes.hammer import START_S, FakeHammer
from fakes.plugs import plugged_in
from recompute.walk import recompute
from stithy.activities.power.report import describe_equal_load, describe_meters, list_meters
from stithy.collectors.collector import Sample, TimedSample
from stithy.errors import PreconditionError
from stithy.meters.meter import EnergyCounter, GivenMeter, Meter
from stithy.plan.expand import expand, nullify_study
from stithy.power import ABOVE_IDLE_W, JOULES, MARGINAL, MEAN_W, METERS, SAMPLED, STATED
from stithy.registry import plugins
from stithy.report.context import make_context
from stithy.report.exports import ExportFormat
from stithy.report.sections.cost import list_notes
from stithy.results.files import read_manifest, read_rows, read_run
from stithy.results.tables import SERIES, VALUES
from stithy.run.power import average_draw, list_draws
from stithy.study.power import Power
from support.faked_run import FakedRun
from support.reported import write_undrawn_report
from support.running import write_study
from support.studies import refused, study

POWER = """\
power:
  idle: 5 s
  meters:
    plug: {{file: {plug}, timezone: unix}}
    side: {{file: {side}, timezone: unix, candidates: [a]}}
  total: [plug]
cost:
  currency: EUR
  date: 2026-01-15
  source: quotation
  duty: {{hours: 8000, load: 40%}}
  site: {{pue: 1.5, energy_price: 0.2}}
  items: {{server: {{purchase: 600, life: 3, rest: 0}}}}
"""


def _sample(at_s: float, value: float | None, name: str = "wall") -> TimedSample:
    why = None if value is not None else "no answer"
    return TimedSample(at_s, "power", "W", Sample(name, "draw_w", value, why))


def _meter(**keys: Any) -> GivenMeter:
    return GivenMeter("tasmota", plugins(Meter)["tasmota"].keys.model_validate(
        {"tasmota": "http://x", **keys}))  # fmt: skip


def test_a_mean_needs_nine_of_ten_samples() -> None:
    """What lies outside, or is of another meter, does not count; the first reason is kept."""
    readings = [_sample(99.6, 900.0), _sample(100.1, 900.0, "other")]
    readings += [_sample(100.6 + second, 10.0 * second) for second in range(10)]
    readings += [_sample(110.8 + second, 900.0) for second in range(2)]
    whole = average_draw("wall", _meter(), readings, 100.0, 110.1)
    assert (whole.watts, whole.samples, whole.share) == (45.0, 10, 1.0)
    readings[4] = _sample(102.6, None)
    less = average_draw("wall", _meter(), readings, 100.0, 110.1)
    assert less.watts == pytest.approx(430 / 9)
    assert less.share == 0.9
    readings[5] = _sample(103.6, None)
    few = average_draw("wall", _meter(), readings, 100.0, 110.1)
    why = "wall has 80% of its samples, 90% are needed: no answer"
    assert (few.watts, few.missing_because) == (None, why)
    slow = average_draw("wall", _meter(every="5 s"), readings, 97.0, 110.0)
    assert slow.share == 1.0
    halves = [_sample(105.0, 50.0), _sample(115.0, None)]
    half = average_draw("wall", _meter(every="10 s"), halves, 100.0, 119.0)
    assert (half.watts, half.share) == (None, 0.5), "of two that were due"


def test_a_mean_of_a_counter_is_its_energy_by_its_time() -> None:
    """Also where seconds were skipped: 600 J in the two seconds of one sample, 50 W else."""
    joules = {0: 0, **{second: 50 * second for second in range(1, 6)}}
    joules |= {7: 250 + 600, **{second: 850 + 50 * (second - 7) for second in range(8, 14)}}
    counter = EnergyCounter(lambda: 0.0, FakeClock())
    readings = []
    for second, counted in joules.items():
        counter.read_j = partial(float, counted)
        watts = counter.read_w()
        readings.append(_sample(100.0 + second, watts))
        counter.clock.sleep_s(2.0 if second == 5 else 1.0)
    mean = average_draw("wall", _meter(), readings, 100.0, 113.0)
    assert mean.watts == pytest.approx((joules[13] - joules[0]) / 13)
    assert mean.share == pytest.approx(12 / 13)


def test_watts_of_two_outlets_are_added_and_missing_where_one_is() -> None:
    """The third meter is beside them; a candidate without the second outlet has one."""
    meters = {"left": _meter(), "right": _meter(candidates=["disks"]), "cpu": _meter()}
    power = Power.model_validate({"meters": meters, "total": ["left", "right"]})
    names = {"left": 50.0, "right": 30.0, "cpu": 20.0}
    readings = [_sample(at_s + 0.5, watts, name) for at_s in range(10, 20)
                for name, watts in names.items()]  # fmt: skip
    draws = list_draws(power, "disks", readings, 10.0, 20.0)
    assert {name: draw.watts for name, draw in draws.items()} == {**names, "all": 80.0}
    assert list_draws(power, "ssds", readings, 10.0, 20.0)["all"].watts == 50.0
    without = [reading for reading in readings if reading.sample.subject != "right"]
    lost = list_draws(power, "disks", without, 10.0, 20.0)["all"]
    assert (lost.watts, lost.share) == (None, 0.0)
    assert "right has 0%" in (lost.missing_because or "")


def make_metered(root: Path) -> FakedRun:
    """A run with a plug that draws more each second, and a meter that ends before the windows."""
    text = write_study(root / "s.yaml", {n: root / n for n in "ab"}).read_text()
    files = {name: root / f"{name}.csv" for name in ("plug", "side")}
    # The machine is idle by the run's clock, and users work by that of the hammer.
    for name, begins in (("plug", (999_990, round(START_S) - 10)), ("side", (999_990,))):
        rows = (f"{begin + at},{100 + at % 7}\n" for begin in begins for at in range(900))
        files[name].write_text("time,watts\n" + "".join(rows))
    return FakedRun(root, text=text + POWER.format(**files), clock=HurriedClock(),
                    hammer=FakeHammer(sound=True))  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> FakedRun:
    """Such a run at its end, to be looked at."""
    faked = make_metered(root := tmp_path_factory.mktemp("ran"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STITHY_STATE", str(root / "state"))
        outcome = faked.run()
    assert (outcome.end, outcome.error) == ("finished", None)
    return faked


def test_energy_of_an_order_follows_from_samples_and_orders(ran: FakedRun) -> None:
    """Recomputed of each window from its samples, its orders a minute, and the idle machine."""
    idle = {(row["candidate"], row["meter"]): row
            for row in read_rows(ran.out / "tables/meters.parquet", METERS)}  # fmt: skip
    assert all(row["idle_w"] is not None for row in idle.values())
    assert [idle["a", name]["counted"] for name in ("plug", "side", "all")] == [True, False, True]
    windows = sorted((ran.out / "windows").iterdir())
    assert len(windows) == 4
    for folder in windows:
        [window] = pl.read_parquet(folder / "window.parquet").to_dicts()
        within = (window["measure_from_s"], window["measure_to_s"])
        known = {(row["metric"], row["of"]): row["value"]
                 for row in read_rows(folder / "values.parquet", VALUES)}  # fmt: skip
        watts = [row["value"] for row in read_rows(folder / "series.parquet", SERIES)
                 if (row["collector"], row["subject"]) == ("power", "plug")
                 and within[0] <= row["at_s"] - 0.5 < within[1]]  # fmt: skip
        mean_w = fmean(watts)
        above_w = mean_w - idle[window["candidate"], "all"]["idle_w"]
        orders_per_s = known["nopm", "all"] / 60
        assert known[MEAN_W, "all"] == known[MEAN_W, "plug"] == pytest.approx(mean_w)
        assert known[ABOVE_IDLE_W, "all"] == pytest.approx(above_w)
        assert known[JOULES, "all"] == pytest.approx(mean_w / orders_per_s)
        assert known[MARGINAL, "all"] == pytest.approx(above_w / orders_per_s)
        beside = [value for (metric, of), value in known.items() if of == "side"]
        assert beside == ([None, 0.0] if window["candidate"] == "a" else [])
        assert known[SAMPLED, "all"] == 1.0


def test_a_resumed_run_keeps_the_idle_power_of_earlier_windows(
    tmp_path: Path, own_state: Path
) -> None:
    """Each session measures its own, and each window is held against that of its session."""
    ran = make_metered(tmp_path)
    ran.run_cut_off()
    rows = read_rows(ran.out / "tables/meters.parquet", METERS)
    idle_w = {row["idle_from_s"]: row["idle_w"] for row in rows if row["meter"] == "plug"}
    held = set()
    for folder in (ran.out / "windows").iterdir():
        known = {(row["metric"], row["of"]): row["value"]
                 for row in read_rows(folder / "values.parquet", VALUES)}  # fmt: skip
        if known.get((ABOVE_IDLE_W, "all")) is not None:
            held.add(round(known[MEAN_W, "all"] - known[ABOVE_IDLE_W, "all"], 6))
    assert len(idle_w) == 2
    # On a busy machine the idle power of a session may have too few samples.
    assert held == {round(watts, 6) for watts in idle_w.values() if watts is not None}


def test_a_report_says_what_meters_see_and_compares_at_equal_load(ran: FakedRun) -> None:
    """Beside each mean, what the meter does not see; where both do as much, what each draws."""
    path, _ = sorted(write_undrawn_report(ran.out, ["json", "md"]), reverse=True)
    found = recompute(ran.out)
    wrong = [*found.disagreements, *found.unexplained]
    assert [each for each in wrong if re.search(r"power|meters|cost|\d [WJ]\b", each)] == []
    tables = ("power", "meters", "costs", "cost-terms", "prices")
    assert min(found.checked[f"tables/{name}.parquet"] for name in tables) > 0
    text = path.read_text().replace("\N{NO-BREAK SPACE}", " ")
    facts = read_manifest(ran.out / "manifest.json")
    assert facts is not None
    assert facts.comparability["meters"] == "plug: file (what its writer measures)"
    power = text.partition("## Power\n")[2].partition("\n## ")[0]
    assert re.search(r"At equal load \(at 2 users\), a draws 10\d W and b draws 10\d W\.", power)
    context = make_context(read_run(ran.out))
    rows = [{**row, "stated": row["meter"] == "side", "counted": True}
            for row in list_meters(context)]  # fmt: skip
    [equal] = describe_equal_load(context, rows)
    assert equal.endswith(" W, in part by the watts that drive profiles state.")
    assert STATED not in [*describe_meters(list_meters(context)), *list_notes(context)]
    known = context.run.detail(METERS.name)
    context.run._details[METERS.name, None] = known.with_columns(stated=pl.lit(True))
    assert STATED in [*list_notes(context)], "energy that profiles state is not measured"
    assert "- plug (file) measures what its writer measures. It does not see anything else" in power
    assert re.search(r"\| 2 \| b \| 10\d W \| .* W \| [\d.]+ J \| .* J \| 100 % \|", power)
    assert re.search(
        r"\| a \| side \| no \| as written \| 1.00 s \| – \| 10\d W \| 5.00 s \|", power
    )


def test_the_idle_machine_is_a_step_of_the_plan_with_its_time() -> None:
    """Once for all candidates, after their volumes; in a null study by the first one's meters."""
    meters = "w: {tasmota: 'http://x', candidates: [disk]}, v: {rapl: [package]}"
    change = OF[0], OF[1].format(meters, ", total: [w, v], idle: 90 s")
    metered = study(change)
    steps = expand(metered).steps
    assert [step.kind for step in steps[:3]] == ["provision", "provision", "measure-idle"]
    assert (steps[2].candidate, steps[2].cost.time_s) == (None, 93.0)
    assert all(step.kind != "measure-idle" for step in expand(study()).steps)
    null = nullify_study(metered)
    assert null.power is not None
    assert [sorted(null.power.list_counted(name)) for name in null.candidates] == [["v", "w"]] * 2


def test_a_password_of_a_meter_reaches_nothing_that_a_run_leaves(
    tmp_path: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither results, log and journal nor reports and exports; a wrong one is found before."""
    text = write_study(tmp_path / "s.yaml", {n: tmp_path / n for n in "ab"}).read_text()
    with plugged_in("s3cret-of-wall") as plug:
        meters = f"{{wall: {{tasmota: '{plug.url}/new', password_env: WALL}}}}"
        faked = FakedRun(tmp_path, text=f"{text}power: {{idle: 5 s, meters: {meters}}}\n",
                         clock=HurriedClock(), hammer=FakeHammer(sound=True))  # fmt: skip
        for value, why in (("wr0ng-of-wall", "meter wall cannot be read: .* refuses the login"),
                           ("", "meter wall cannot be read: WALL: .* not set")):  # fmt: skip
            monkeypatch.setenv("WALL", value)
            with pytest.raises(PreconditionError, match=why) as raised:
                faked.start()
            assert raised.value.where.partition(":")[0] == str(tmp_path / "study.yaml")
            assert "wr0ng" not in raised.value.text
        monkeypatch.setenv("WALL", plug.password)
        assert faked.run().end == "finished"
        assert plug.let_in > 2
    write_undrawn_report(faked.out, ["json", "md", "html"])
    context = make_context(read_run(faked.out))
    for name, form in plugins(ExportFormat).items():
        (faked.out / name).write_text("".join(form.export(context).pieces))
    files = [path for root in (faked.out, own_state) for path in root.rglob("*") if path.is_file()]
    assert len(files) > 30
    for path in files:
        held = str(pl.read_parquet(path).to_dicts()) if path.suffix == ".parquet" else ""
        assert b"s3cret" not in path.read_bytes(), path
        assert "s3cret" not in held, path


OF = "study:", "power: {{meters: {{{}}}{}}}\nstudy:"


@pytest.mark.parametrize(("meters", "more", "places"), [
    ("w: {tasmota: 'http://x'}", "", []),
    ("w: {tasmota: 'http://x'}, v: {rapl: [package]}", "", ["power.meters"] * 2),
    ("w: {tasmota: 'http://x'}, v: {rapl: [package]}", ", total: [v]", []),
    ("w: {ipmi: local}, v: {rapl: [package]}", ", total: [w, v]", ["power.total"] * 2),
    ("w: {tasmota: 'http://x'}", ", total: [w, w, y]", ["power.total[1]", "power.total[2]"]),
    ("w: {tasmota: 'http://x', candidates: [disk]}", "", ["power.meters"]),
    ("w: {tasmota: 'http://x', candidates: [nvme, disk, memory]}", "",
     ["power.meters.w.candidates"]),
    ("all: {tasmota: 'http://x'}", "", ["power.meters.all"]),
    ("w: {tasmota: 'http://a:b@x'}", "", ["power.meters.w.tasmota"]),
    ("w: {every: 1 s}", "", ["power.meters.w"]),
    ("w: {shelly: 'http://x', password_env: A, password_file: b}", "", ["power.meters.w"]),
    ("w: {shelly: 'http://x', user: me}", "", ["power.meters.w"]),
    ("w: {shelly: 'http://x', password_env: a word}", "", ["power.meters.w.password_env"]),
    ("w: {tasmoto: 1}", "", ["power.meters.w"]),
    ("w: {file: /x}", "", ["power.meters.w"]),
    ("w: {rapl: [package], every: 1 min}", "", ["power.meters.w.every"]),
    ("w: {shelly: 'http://x'}, v: {shelly: 'http://x', sees: it}", ", total: [w, v]",
     ["power.total"] * 2),
    ("w: {rapl: [package, core]}", "", ["power.meters.w.rapl"]),
    ("w: {rapl: [psys, core]}", "", ["power.meters.w.rapl"]),
    ("w: {rapl: [p]}", "", ["power.meters.w.rapl"]),
    ("w: {rapl: [package], candidates: []}, v: {ipmi: local}", "", ["power.meters.w.candidates"]),
    ("", "", ["power.meters"]),
], ids=str)  # fmt: skip
def test_meters_that_cannot_be_added_up_are_refused(
    meters: str, more: str, places: list[str]
) -> None:
    """Each at its key: several without a total, one server twice, a candidate without a meter."""
    assert refused((OF[0], OF[1].format(meters, more))) == places


def test_a_question_about_power_needs_a_meter() -> None:
    """In the primary question and in thresholds; with a meter both are read."""
    asks = ("study:", "primary: {metric: power.mean_w}\n"
            "thresholds: ['disk.power.joules_per_order_at_4 <= 2.5']\nstudy:")  # fmt: skip
    assert refused(asks) == ["primary.metric", "thresholds[0]"]
    read = study(asks, ("study:", OF[1].format("w: {tasmota: 'http://x'}", "")))
    assert read.primary.metric == MEAN_W
    assert str(read.thresholds[0]) == "disk.power.joules_per_order_at_4 <= 2.5"
