//! Random numbers of the order-entry workload: what each stream is for, and the specified laws.

use arrayvec::ArrayString;
pub use stithy_measure::Rng;

/// What a stream of random numbers is for. Streams of different domains are independent; the
/// numbers must never change, or the same seed would give other rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Domain {
    /// The constants of NURand.
    Constants = 1,
    /// Rows of `item`.
    Item = 2,
    /// Rows of `warehouse`.
    Warehouse = 3,
    /// Rows of `stock`.
    Stock = 4,
    /// Rows of `district`.
    District = 5,
    /// Rows of `customer`.
    Customer = 6,
    /// Rows of `history`.
    History = 7,
    /// Rows of `orders`.
    Order = 8,
    /// Rows of `order_line`.
    OrderLine = 9,
    /// Which customer gave which order.
    OrderCustomer = 10,
    /// Draws of a virtual user.
    User = 11,
    /// Draws of the warm-up pass.
    WarmUp = 12,
    // 13 is crate::loading::DUPLICATE_STREAM, 14 is crate::seating::PACE_STREAM.
    /// In which order the cards of a run's decks lie.
    Deck = 15,
}

impl From<Domain> for u64 {
    fn from(domain: Domain) -> u64 {
        domain as u64
    }
}

/// NURand(A, x, y) of clause 2.1.6: (((random(0, A) | random(x, y)) + C) mod (y - x + 1)) + x.
#[inline]
fn nurand(rng: &mut Rng, a: u32, constant: u32, low: u32, high: u32) -> u32 {
    let skewed = rng.uniform(0, a) | rng.uniform(low, high);
    (skewed + constant) % (high - low + 1) + low
}

/// The constants C of NURand: one a field, the same for a whole load or a whole run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NurandConstants {
    /// Of C_LAST, 0 to 255.
    pub c_last: u32,
    /// Of C_ID, 0 to 1023.
    pub c_id: u32,
    /// Of OL_I_ID, 0 to 8191.
    pub ol_i_id: u32,
}

impl NurandConstants {
    /// The constants of loading; only C_LAST is drawn with them.
    pub fn for_load(seed: u64) -> Self {
        let mut rng = Rng::of(seed, Domain::Constants, 0, 0);
        Self::draw(&mut rng, |rng| rng.uniform(0, 255))
    }

    /// The constants of a run on data that was loaded with `c_last_load`.
    ///
    /// Clause 2.1.6.1: the two constants of C_LAST differ by 65 to 119, but not by 96 or 112.
    pub fn for_run(seed: u64, c_last_load: u32) -> Self {
        let mut rng = Rng::of(seed, Domain::Constants, 1, 0);
        Self::draw(&mut rng, |rng| loop {
            let c_last = rng.uniform(0, 255);
            if run_constant_allowed(c_last, c_last_load) {
                break c_last;
            }
        })
    }

    fn draw(rng: &mut Rng, c_last: impl Fn(&mut Rng) -> u32) -> Self {
        let c_last = c_last(rng);
        NurandConstants {
            c_last,
            c_id: rng.uniform(0, 1023),
            ol_i_id: rng.uniform(0, 8191),
        }
    }

    /// The number of a last name, 0 to 999.
    pub fn last_name(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 255, self.c_last, 0, 999)
    }

    /// C_ID, 1 to 3000.
    pub fn customer(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 1023, self.c_id, 1, 3000)
    }

    /// OL_I_ID, 1 to 100000.
    pub fn item(&self, rng: &mut Rng) -> u32 {
        nurand(rng, 8191, self.ol_i_id, 1, 100_000)
    }

    /// In the order of the run's summary: C_LAST, C_ID, OL_I_ID.
    pub fn as_array(&self) -> [u32; 3] {
        [self.c_last, self.c_id, self.ol_i_id]
    }
}

/// Whether a run may use `c_last` on data loaded with `c_last_load` (clause 2.1.6.1).
pub fn run_constant_allowed(c_last: u32, c_last_load: u32) -> bool {
    let distance = c_last.abs_diff(c_last_load);
    (65..=119).contains(&distance) && distance != 96 && distance != 112
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// A last name, at most 15 letters. Most transactions need one, so it lies where it is used and not in
/// memory of its own.
pub type LastName = ArrayString<15>;

/// The last name of a number from 0 to 999: one syllable a digit (clause 4.3.2.3).
pub fn last_name(number: u32) -> LastName {
    debug_assert!(number < 1000);
    let mut name = LastName::new();
    for digit in [number / 100, number / 10 % 10, number % 10] {
        name.push_str(SYLLABLES[digit as usize]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng(minor: u64) -> Rng {
        Rng::of(7, Domain::User, 0, minor)
    }

    /// The same key gives the same numbers; any other part of the key gives others.
    #[test]
    fn a_stream_depends_on_every_part_of_its_key() {
        let first = |seed, domain, a, b| Rng::of(seed, domain, a, b).bits();
        let base = first(1, Domain::Item, 1, 1);
        assert_eq!(base, first(1, Domain::Item, 1, 1));
        let others = [
            first(2, Domain::Item, 1, 1),
            first(1, Domain::Stock, 1, 1),
            first(1, Domain::Item, 2, 1),
            first(1, Domain::Item, 1, 2),
        ];
        assert!(others.iter().all(|other| *other != base));
    }

    /// Both bounds are reached, nothing lies outside, and the mean is in the middle.
    #[test]
    fn uniform_covers_its_bounds_evenly() {
        let mut rng = rng(1);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.uniform(5, 10) as usize - 5] += 1;
        }
        assert!(
            counts.iter().all(|n| (9_500..10_500).contains(n)),
            "{counts:?}"
        );
        assert_eq!(9, rng.uniform(9, 9));
    }

    /// Every NURand stays in its range, for many constants.
    #[test]
    fn nurand_stays_in_its_range_and_reaches_both_ends() {
        for seed in 0..50 {
            let constants = NurandConstants::for_run(seed, NurandConstants::for_load(seed).c_last);
            assert!(constants.c_last <= 255 && constants.c_id <= 1023 && constants.ol_i_id <= 8191);
            let mut rng = rng(seed);
            for _ in 0..2_000 {
                assert!(constants.last_name(&mut rng) <= 999);
                assert!((1..=3000).contains(&constants.customer(&mut rng)));
                assert!((1..=100_000).contains(&constants.item(&mut rng)));
            }
        }
    }

    /// The exact share of each value of NURand(255, 0, 999) follows from counting all pairs; a
    /// large sample agrees with it.
    #[test]
    fn nurand_has_the_specified_shape() {
        let constant = 123;
        let mut exact = vec![0f64; 1000];
        for a in 0..256u32 {
            for b in 0..1000u32 {
                exact[(((a | b) + constant) % 1000) as usize] += 1.0 / 256_000.0;
            }
        }
        let draws = 400_000;
        let mut seen = vec![0f64; 1000];
        let mut rng = rng(3);
        for _ in 0..draws {
            seen[nurand(&mut rng, 255, constant, 0, 999) as usize] += 1.0 / f64::from(draws);
        }
        let distance: f64 = exact.iter().zip(&seen).map(|(e, s)| (e - s).abs()).sum();
        assert!(distance < 0.05, "total variation {distance}");
        assert!(
            exact.iter().cloned().fold(0.0, f64::max) > 0.01,
            "the shape is skewed"
        );
    }

    /// Clause 2.1.6.1, for every constant a load can have.
    #[test]
    fn the_run_s_last_name_constant_keeps_its_distance_from_the_load_s() {
        for c_last_load in 0..=255 {
            for seed in 0..40 {
                let run = NurandConstants::for_run(seed, c_last_load).c_last;
                let distance = run.abs_diff(c_last_load);
                assert!((65..=119).contains(&distance), "{run} after {c_last_load}");
                assert!(
                    distance != 96 && distance != 112,
                    "{run} after {c_last_load}"
                );
            }
        }
    }

    /// The examples of clause 4.3.2.3 and the two ends.
    #[test]
    fn last_names_are_made_of_three_syllables() {
        assert_eq!(b"PRICALLYOUGHT", last_name(371).as_bytes());
        assert_eq!(b"BARBARBAR", last_name(0).as_bytes());
        assert_eq!(b"EINGEINGEING", last_name(999).as_bytes());
        let all: std::collections::HashSet<_> = (0..1000).map(last_name).collect();
        assert_eq!(1000, all.len());
        let longest = all.iter().map(|name| name.len()).max();
        assert_eq!(Some(15), longest);
    }
}
