//! How rows are drawn: sysbench's distributions. With U a share drawn uniformly from 0 up to 1, n the number
//! of rows.

use serde::{Deserialize, Serialize};
use stithy_measure::Rng;

/// A distribution with its parameters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "law", deny_unknown_fields)]
pub enum Law {
    /// Every row equally often.
    #[default]
    Uniform,
    /// A bell around the middle: the mean of so many shares.
    Gaussian {
        /// Shares that are drawn.
        draws: u32,
    },
    /// A part of all draws falls evenly on some rows in the middle, the rest as with `Gaussian`.
    Special {
        /// Shares that are drawn for the rest.
        draws: u32,
        /// Of how many rows in a hundred the middle is made, before it is cut: see [`special`].
        percent: u8,
        /// How many draws in a hundred fall there.
        share_percent: u8,
    },
    /// h of the rows get 1 - h of the draws.
    Pareto {
        /// The parameter, 0 to 1.
        h: f64,
    },
    /// Row i comes in proportion to i^-exponent.
    Zipfian {
        /// The exponent.
        exponent: f64,
    },
}

/// Draws rows of a table.
#[derive(Debug, Clone, Copy)]
pub struct Distribution {
    law: Law,
    rows: u32,
    zipfian: Zipfian,
}

impl Distribution {
    /// Over rows from 1 to a number.
    pub fn new(law: Law, rows: u32) -> Self {
        let exponent = match law {
            Law::Zipfian { exponent } => exponent,
            _ => 1.0,
        };
        Distribution {
            law,
            rows,
            zipfian: Zipfian::new(exponent, rows),
        }
    }

    /// The number of a row, from 1.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u32 {
        let rows = f64::from(self.rows);
        let position = match self.law {
            Law::Uniform => return rng.uniform(1, self.rows),
            Law::Gaussian { draws } => rows * mean_share(rng, draws),
            Law::Special {
                draws,
                percent,
                share_percent,
            } => special(rng, rows, draws, percent, share_percent),
            Law::Pareto { h } => rows * rng.share().powf(h.ln() / (1.0 - h).ln()),
            Law::Zipfian { .. } => return self.zipfian.draw(rng),
        };
        1 + (position as u32).min(self.rows - 1)
    }
}

fn mean_share(rng: &mut Rng, draws: u32) -> f64 {
    (0..draws).map(|_| rng.share()).sum::<f64>() / f64::from(draws)
}

/// One share decides whether the middle is meant and where in it: it is then never below
/// 1 - `share_percent`, so draws fall on that part of the middle alone, 0.75 % of the rows and not 1 % with
/// sysbench's parameters.
fn special(rng: &mut Rng, rows: f64, draws: u32, percent: u8, share_percent: u8) -> f64 {
    let share = rng.share();
    if share < 1.0 - f64::from(share_percent) / 100.0 {
        return rows * mean_share(rng, draws);
    }
    let last = rows - 1.0;
    let width = last * f64::from(percent) / 100.0;
    share * (width + 1.0) + (last - width) / 2.0
}

/// The law i^-q by rejection-inversion: x is drawn by the inverse of the area under its curve, rounded to i,
/// and refused where the curve has more area around i than i has weight.
///
/// Source: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6 (1996).
#[derive(Debug, Clone, Copy)]
struct Zipfian {
    exponent: f64,
    rows: f64,
    area_least: f64,
    area_most: f64,
    /// So near to x, its integer is taken without another look.
    near: f64,
}

impl Zipfian {
    fn new(exponent: f64, rows: u32) -> Self {
        let mut law = Zipfian {
            exponent,
            rows: rows.into(),
            area_least: 0.0,
            area_most: 0.0,
            near: 0.0,
        };
        law.area_least = law.area(1.5) - 1.0;
        law.area_most = law.area(law.rows + 0.5);
        law.near = 2.0 - law.invert_area(law.area(2.5) - law.weight(2.0));
        law
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        loop {
            let area = self.area_most + rng.share() * (self.area_least - self.area_most);
            let x = self.invert_area(area);
            let number = x.round().clamp(1.0, self.rows);
            let is_near = number - x <= self.near;
            if is_near || area >= self.area(number + 0.5) - self.weight(number) {
                return number as u32;
            }
        }
    }

    fn weight(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// The integral of the weight from 1 to x; a logarithm where the exponent is 1, and near it without loss.
    fn area(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        match power == 0.0 {
            true => x.ln(),
            false => (power * x.ln()).exp_m1() / power,
        }
    }

    /// The x of an area.
    fn invert_area(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        match power == 0.0 {
            true => area.exp(),
            false => ((power * area).max(-1.0).ln_1p() / power).exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 400_000;

    /// How often each of some rows was drawn, as a share.
    fn shares(law: Law, rows: u32) -> Vec<f64> {
        let (distribution, mut rng) = (Distribution::new(law, rows), Rng::new(7, 1));
        let mut shares = vec![0.0; rows as usize];
        for _ in 0..DRAWS {
            shares[distribution.draw(&mut rng) as usize - 1] += 1.0 / f64::from(DRAWS);
        }
        shares
    }

    fn near(expected: f64, actual: f64, tolerance: f64) {
        assert!(
            (expected - actual).abs() < tolerance,
            "{actual} is not {expected}"
        );
    }

    const LAWS: [Law; 5] = [
        Law::Uniform,
        Law::Gaussian { draws: 12 },
        Law::Special {
            draws: 12,
            percent: 1,
            share_percent: 75,
        },
        Law::Pareto { h: 0.2 },
        Law::Zipfian { exponent: 0.8 },
    ];

    /// Whatever the law, every draw is a row; of one row, always that.
    #[test]
    fn draws_are_rows() {
        for law in LAWS {
            near(1.0, shares(law, 1)[0], 1e-6);
            near(1.0, shares(law, 3).iter().sum(), 1e-6);
        }
    }

    #[test]
    fn uniform_draws_are_even() {
        assert!(shares(Law::Uniform, 10)
            .iter()
            .all(|share| (share - 0.1).abs() < 0.005));
    }

    /// Mean n/2, standard deviation n/12: the mean of 12 shares.
    #[test]
    fn gaussian_draws_have_mean_and_deviation() {
        let shares = shares(Law::Gaussian { draws: 12 }, 10_000);
        let moment = |power, about: f64| {
            let rows = shares.iter().zip(0..);
            rows.map(|(share, row)| share * (f64::from(row) - about).powi(power))
                .sum::<f64>()
        };
        near(5_000.0, moment(1, 0.0), 10.0);
        near(10_000.0 / 12.0, moment(2, 5_000.0).sqrt(), 10.0);
    }

    /// Three quarters of the draws fall on positions 0.4975 to 0.5050 of the table.
    #[test]
    fn special_draws_fall_on_three_quarters_of_a_percent() {
        let shares = shares(LAWS[2], 100_000);
        near(0.75, shares[49_740..50_510].iter().sum(), 0.012);
        near(0.25 / 12.0, shares[..40_000].iter().sum(), 0.02);
    }

    /// A fifth of the rows gets four fifths of the draws, the first row n^(-1/p) of them.
    #[test]
    fn pareto_draws_follow_its_parameter() {
        let shares = shares(Law::Pareto { h: 0.2 }, 100_000);
        near(0.8, shares[..20_000].iter().sum(), 0.005);
        near(0.203, shares[0], 0.005);
    }

    /// Every row has the share that the law gives it, at exponents on both sides of 1 and at 1.
    #[test]
    fn zipfian_draws_follow_their_law() {
        for exponent in [0.8, 1.0, 1.3] {
            let (rows, shares) = (1_000, shares(Law::Zipfian { exponent }, 1_000));
            let weight = |row: u32| f64::from(row).powf(-exponent);
            let total: f64 = (1..=rows).map(weight).sum();
            let distance: f64 = (1..=rows)
                .zip(&shares)
                .map(|(row, share)| (share - weight(row) / total).abs())
                .sum();
            assert!(distance < 0.05, "{distance} at {exponent}");
        }
    }
}
