//! What is impossible between the keys of a profile, though each is possible by itself.

use stithy_wire::ProfileProblem;

use super::keys::{find, Kind, KEYS};
use super::written::Values;
use super::PROFILE_VERSION;
use crate::model::SeekCurve;

/// How far shares may be from a sum of 1.
const SHARE_TOLERANCE: f64 = 1e-6;

/// All of them.
pub(super) fn problems(values: &Values) -> Vec<ProfileProblem> {
    let mut found = Found {
        values,
        problems: Vec::new(),
    };
    found.version();
    for access in ["read", "write"] {
        found.latency(access);
    }
    found.caps();
    found.cache();
    found.sustained();
    found.disk();
    found.at_most("power.idle_w", "power.read_w");
    found.at_most("power.idle_w", "power.write_w");
    found.provenance();
    found.problems
}

struct Found<'v> {
    values: &'v Values,
    problems: Vec<ProfileProblem>,
}

impl Found<'_> {
    fn number(&self, path: &str) -> Option<f64> {
        self.values.number(path)
    }

    /// Adds a problem of a key that is there, or of a table.
    fn add(&mut self, key: &str, problem: impl Into<String>, remedy: impl Into<String>) {
        let found = self.values.found.get(key);
        let table = key.split('.').next().unwrap_or(key);
        let table_line = self.values.tables.get(table).copied();
        self.problems.push(ProfileProblem {
            line: found.map(|found| found.line).or(table_line).or(Some(1)),
            key: key.to_string(),
            value: found.map(|found| found.told.clone()),
            problem: problem.into(),
            remedy: remedy.into(),
        });
    }

    /// Where both are there, `key` is at most `limit`.
    fn at_most(&mut self, key: &str, limit: &str) {
        if let (Some(value), Some(highest)) = (self.number(key), self.number(limit)) {
            if value > highest {
                let problem = format!("is above {limit} = {highest}");
                self.add(key, problem, format!("give at most {highest}"));
            }
        }
    }

    fn version(&mut self) {
        let known = f64::from(PROFILE_VERSION);
        if self.number("version").is_some_and(|given| given != known) {
            let problem = "is a version that this program does not read";
            self.add("version", problem, format!("give {known}"));
        }
    }

    fn latency(&mut self, access: &str) {
        let path = |key: &str| format!("{access}.{key}");
        let (p50, p99) = (path("p50_us"), path("p99_us"));
        let (quantiles, load) = (path("quantiles_us"), path("load_us"));
        if self.values.has_table("disk") {
            if self.values.has_table(access) {
                let remedy = "remove this table, or `disk`";
                self.add(access, "has no meaning beside `disk`", remedy);
            }
            return;
        }
        let given = |key: &String| self.values.found.contains_key(key.as_str());
        match (given(&p50), given(&p99), given(&quantiles), given(&load)) {
            (true, true, false, false) => self.at_most(&p50, &p99),
            (false, false, true, false) => self.quantiles(&quantiles),
            (false, false, false, true) => self.load(&load, &path("load_shares")),
            _ => {
                let remedy = format!("give {p50} and {p99}, or {quantiles}, or {load}");
                self.add(access, "has not exactly one distribution of times", remedy);
            }
        }
    }

    fn quantiles(&mut self, key: &str) {
        let Some(points) = self.values.get::<Vec<(f64, f64)>>(key) else {
            return;
        };
        let shares_end = points.first().is_some_and(|(share, _)| *share == 0.0)
            && points.last().is_some_and(|(share, _)| *share == 1.0);
        if points.len() < 2 || !shares_end {
            self.add(
                key,
                "does not go from share 0 to share 1",
                "add the end points",
            );
        }
        if points.iter().any(|(_, time_us)| *time_us <= 0.0) {
            self.add(key, "has a time that is not above 0", "give times above 0");
        }
        if points
            .windows(2)
            .any(|two| two[1].0 <= two[0].0 || two[1].1 < two[0].1)
        {
            let remedy = "sort the points, each share once";
            self.add(key, "has shares or times that fall", remedy);
        }
    }

    fn load(&mut self, key: &str, shares_key: &str) {
        let Some(rows) = self.values.get::<Vec<Vec<f64>>>(key) else {
            return;
        };
        let Some(shares) = self.values.get::<Vec<f64>>(shares_key) else {
            return self.add(key, "has no shares", format!("give {shares_key}"));
        };
        let ends = (shares.first(), shares.last()) == (Some(&0.0), Some(&1.0));
        if shares.len() < 2 || !ends || shares.windows(2).any(|two| two[1] <= two[0]) {
            let remedy = "give shares that rise from 0 to 1, each once";
            self.add(shares_key, "does not rise from share 0 to share 1", remedy);
        }
        if rows.is_empty() || rows.iter().any(|row| row.len() != shares.len() + 2) {
            let problem = "has a row without a size, a depth and a time for each share";
            let remedy = format!("give rows of {} numbers", shares.len() + 2);
            return self.add(key, problem, remedy);
        }
        if rows.iter().flatten().any(|number| *number <= 0.0) {
            self.add(
                key,
                "has a number that is not above 0",
                "give numbers above 0",
            );
        }
        let falls = |row: &Vec<f64>| row[2..].windows(2).any(|two| two[1] < two[0]);
        if rows.iter().any(falls) {
            self.add(key, "has times that fall", "sort the times of each row");
        }
        if rows
            .windows(2)
            .any(|two| (two[1][0], two[1][1]) <= (two[0][0], two[0][1]))
        {
            let remedy = "sort the rows by size and then by depth, each once";
            self.add(key, "has rows that are not in order", remedy);
        }
    }

    fn caps(&mut self) {
        if self.values.has_table("disk") && self.values.has_table("cap") {
            let remedy = "remove it: the arm limits a disk";
            self.add("cap", "has no meaning beside `disk`", remedy);
        }
        for rate in ["iops", "bytes_per_s"] {
            for access in ["read", "write"] {
                self.at_most(
                    &format!("cap.{access}_{rate}"),
                    &format!("cap.total_{rate}"),
                );
            }
        }
    }

    fn cache(&mut self) {
        self.at_most("cache.size_bytes", "capacity_bytes");
        self.only_solid("cache.drain_bytes_per_s");
        self.only_solid("channels");
        self.only_solid("flush.quantiles_us");
        self.quantiles("flush.quantiles_us");
    }

    fn only_solid(&mut self, key: &str) {
        if self.values.has_table("disk") && self.values.found.contains_key(key) {
            self.add(key, "has no meaning beside `disk`", "remove it, or `disk`");
        }
    }

    fn sustained(&mut self) {
        if !self.values.has_table("sustained") {
            return;
        }
        if self.values.has_table("disk") {
            let remedy = "remove it: a disk writes as fast as its arm";
            self.add("sustained", "has no meaning beside `disk`", remedy);
        }
        let rates = ["write_iops", "write_bytes_per_s"];
        if rates
            .iter()
            .all(|rate| self.number(&format!("sustained.{rate}")).is_none())
        {
            let remedy = "give sustained.write_iops or sustained.write_bytes_per_s";
            self.add(
                "sustained",
                "does not tell to what writing slows down",
                remedy,
            );
        }
        for rate in rates {
            let (slowed, full) = (format!("sustained.{rate}"), format!("cap.{rate}"));
            if self.number(&slowed).is_some() && self.number(&full).is_none() {
                let remedy = format!("give {full} too: the rate before");
                self.add(&slowed, "has no full rate to slow down from", remedy);
            }
            self.at_most(&slowed, &full);
        }
        self.at_most("sustained.recovery_bytes_per_s", "cap.write_bytes_per_s");
    }

    fn disk(&mut self) {
        self.at_most("disk.seek_track_ms", "disk.seek_average_ms");
        self.at_most("disk.seek_average_ms", "disk.seek_full_ms");
        let seek_ms = |of: &str| self.number(&format!("disk.seek_{of}_ms"));
        if let (Some(track), Some(average), Some(full)) =
            (seek_ms("track"), seek_ms("average"), seek_ms("full"))
        {
            let in_order = track <= average && average <= full;
            if in_order && !SeekCurve::through(track, average, full).rises() {
                let problem = "lies on no curve through the other two that rises all the way";
                let remedy = "give a mean from 1/3 to 11/15 of the way \
                              from seek_track_ms to seek_full_ms";
                self.add("disk.seek_average_ms", problem, remedy);
            }
        }
        self.zones();
    }

    fn zones(&mut self) {
        let Some(zones) = self.values.get::<Vec<(f64, f64)>>("disk.zones") else {
            return;
        };
        let sum: f64 = zones.iter().map(|(share, _)| share).sum();
        if zones
            .iter()
            .any(|(share, rate)| *share <= 0.0 || *rate <= 0.0)
        {
            let remedy = "give shares and bandwidths above 0";
            self.add("disk.zones", "has a number that is not above 0", remedy);
        } else if (sum - 1.0).abs() > SHARE_TOLERANCE {
            let problem = format!("has shares whose sum is {sum}");
            self.add("disk.zones", problem, "give shares whose sum is 1");
        }
    }

    /// Every number has a source or is marked as assumed, and every mark names a key that is there.
    fn provenance(&mut self) {
        let mut marks: Vec<String> = self.values.get("provenance.assumed").unwrap_or_default();
        marks.extend(
            self.values
                .sources
                .iter()
                .flat_map(|each| each.keys.clone()),
        );
        for key in KEYS {
            let covered = marks.iter().filter(|mark| covers(mark, key.path)).count();
            if !self.is_number(key.path) || covered == 1 {
                continue;
            }
            let (problem, remedy) = match covered {
                0 => (
                    "has no source",
                    "name it in the keys of a provenance.source, or in provenance.assumed",
                ),
                _ => ("has more than one source", "name it once"),
            };
            self.add(key.path, problem, remedy);
        }
        for mark in marks {
            let meets = |key: &&str| self.is_number(key) && covers(&mark, key);
            if !self.values.found.keys().any(meets) {
                let problem = format!("names {mark}, which is no number of this profile");
                self.add("provenance", problem, "name a key or a table that is there");
            }
        }
    }

    fn is_number(&self, path: &str) -> bool {
        let is_text = |kind| matches!(kind, Kind::Text | Kind::Name | Kind::Texts);
        path != "version"
            && self.values.found.contains_key(path)
            && find(path).is_some_and(|key| !is_text(key.kind))
    }
}

/// Whether a mark is the key, or its table.
fn covers(mark: &str, key: &str) -> bool {
    mark == key || key.split_once('.').is_some_and(|(table, _)| table == mark)
}
