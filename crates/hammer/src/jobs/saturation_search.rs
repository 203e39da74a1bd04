//! Which amount a calibration tries next, given what the driver was on time with: each doubled until
//! it is late, then the interval halved.

/// After the doubling, so many halvings: the answer is exact to 1 in 16.
pub const HALVINGS: u32 = 4;
/// With what the driver was late is tried once more: a host has moments of its own.
const TRIES: u32 = 2;
/// The least amount is little for any host: where the driver is late with it, something else holds
/// the host, and that is waited for. Without any answer a whole run would stay without proof of its
/// driver. With trials of 0.75 s these are 10 s.
const FIRST_TRIES: u32 = 10;

/// A search for the highest amount that is on time.
#[derive(Debug)]
pub struct SaturationSearch {
    good: Option<f64>,
    bad: f64,
    most: f64,
    stage: Stage,
    tries: u32,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Doubling,
    Halving { left: u32 },
    Done,
}

impl SaturationSearch {
    /// From `start` up to `most`.
    pub fn new(start: f64, most: f64) -> Self {
        SaturationSearch {
            good: None,
            bad: start,
            most,
            stage: Stage::Doubling,
            tries: FIRST_TRIES,
        }
    }

    /// The amount that is to be tried; None when the search is over.
    pub fn next(&self) -> Option<f64> {
        match (self.stage, self.good) {
            (Stage::Doubling, _) => Some(self.bad),
            (Stage::Halving { .. }, Some(good)) => Some((good + self.bad) / 2.0),
            _ => None,
        }
    }

    /// Takes in whether the amount of `next` was on time.
    pub fn tried(&mut self, on_time: bool) {
        self.tries -= 1;
        if !on_time && self.tries > 0 {
            return;
        }
        let Some(amount) = self.next() else { return };
        match on_time {
            true => self.good = Some(amount),
            false => self.bad = amount,
        }
        self.stage = self.stage_after(on_time);
        if let (Stage::Doubling, Some(good)) = (self.stage, self.good) {
            self.bad = (good * 2.0).min(self.most);
        }
        self.tries = TRIES;
    }

    /// The highest amount found on time; None where not even the first was.
    pub fn found(&self) -> Option<f64> {
        self.good
    }

    fn stage_after(&self, on_time: bool) -> Stage {
        match self.stage {
            Stage::Doubling if on_time && self.bad < self.most => Stage::Doubling,
            Stage::Doubling if !on_time && self.good.is_some() => Stage::Halving { left: HALVINGS },
            Stage::Halving { left } if left > 1 => Stage::Halving { left: left - 1 },
            _ => Stage::Done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, and what was tried, where `on_time` answers for an amount and a trial's number.
    fn searched(most: f64, on_time: impl Fn(f64, usize) -> bool) -> (Option<f64>, Vec<f64>) {
        let (mut search, mut tried) = (SaturationSearch::new(500.0, most), Vec::new());
        while let Some(amount) = search.next() {
            search.tried(on_time(amount, tried.len()));
            tried.push(amount);
        }
        (search.found(), tried)
    }

    #[test]
    fn finds_what_is_sustained_to_one_in_sixteen() {
        let (found, tried) = searched(1e6, |amount, _| amount <= 5_300.0);
        assert_eq!(found, Some(5_250.0));
        let rates = [
            500.0, 1e3, 2e3, 4e3, 8e3, 8e3, 6e3, 6e3, 5e3, 5.5e3, 5.5e3, 5.25e3,
        ];
        assert_eq!(tried, rates);
    }

    #[test]
    fn stops_at_the_most_that_is_asked_for() {
        let (found, tried) = searched(3_000.0, |_, _| true);
        assert_eq!((found, tried), (Some(3e3), vec![500.0, 1e3, 2e3, 3e3]));
    }

    #[test]
    fn one_moment_of_the_host_changes_nothing() {
        let undisturbed = searched(1e6, |amount, _| amount <= 5_300.0).0;
        for moment in 0..10 {
            let disturbed = searched(1e6, |amount, trial| amount <= 5_300.0 && trial != moment);
            assert_eq!(disturbed.0, undisturbed, "late by chance in trial {moment}");
        }
    }

    #[test]
    fn waits_for_a_host_that_is_busy_when_it_begins() {
        let (found, _) = searched(1e6, |amount, trial| trial >= 9 && amount <= 5_300.0);
        assert_eq!(found, Some(5_250.0));
    }

    #[test]
    fn ends_without_an_answer_where_the_host_stays_busy() {
        let (found, tried) = searched(1e6, |_, _| false);
        assert_eq!((found, tried.len()), (None, 10));
    }
}
