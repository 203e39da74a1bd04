//! What the streams of random numbers of brokerage are for, keyed permutations, and the skewed law of picks.

pub use stithy_measure::Rng;

/// What a stream of random numbers is for; the numbers must never change, or the same seed would give other rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Domain {
    /// Which place of a permutation leads where.
    Permutation = 1,
    /// Rows of companies, their addresses and figures.
    Company = 2,
    /// Rows of securities and their prices.
    Security = 3,
    /// Rows of customers and their addresses.
    Customer = 4,
    /// Rows of accounts, and the securities that they trade.
    Account = 5,
    /// Rows of trades at load.
    Trade = 6,
    /// Rows of news.
    News = 7,
    /// Rows of daily_market.
    Market = 8,
    /// Rows of zip codes, and of other fixed tables.
    Fixed = 9,
    /// Rows of watch lists.
    Watch = 10,
    /// Draws of a virtual user.
    User = 11,
    /// Draws of the warm-up pass.
    WarmUp = 12,
    // 13 is crate::loading::DUPLICATE_STREAM, 14 is crate::seating::PACE_STREAM.
    /// In which order the cards of a run's decks lie.
    Deck = 15,
    /// Delays of the exchange, by number of the order.
    Exchange = 16,
    /// The constants of skewed picks.
    Constants = 17,
}

impl From<Domain> for u64 {
    fn from(domain: Domain) -> u64 {
        domain as u64
    }
}

/// Which permutation; each has its own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Shuffle {
    /// Customers of a load unit, which gives tiers and accounts.
    Customers = 1,
    /// Symbols.
    Symbols = 2,
    /// Tax numbers.
    TaxNumbers = 3,
    /// Securities, of which each account and watch list has a stretch.
    Securities = 4,
    /// Trades of a day; days of a load unit come behind it.
    Day = 1_000,
}

/// A permutation of the numbers below `count` that follows from a key (Feistel network of four rounds, walked until
/// the result is one of them).
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The permutation of a seed and a number.
    pub fn new(seed: u64, number: u64, count: u64) -> Self {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        let mut rng = Rng::of(seed, Domain::Permutation, number, count);
        Permutation {
            count,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| rng.bits()),
        }
    }

    /// Where a number below the count leads.
    pub fn of(&self, number: u64) -> u64 {
        debug_assert!(number < self.count);
        let mut at = number;
        loop {
            at = self.step(at);
            if at < self.count {
                return at;
            }
        }
    }

    fn step(&self, at: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (at >> self.half_bits, at & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (left, right) = (right, left ^ ((mixed >> 29) & mask));
        }
        (left << self.half_bits) | right
    }
}

/// A skewed number below `count`: ((rand(0, A) | rand(0, count - 1)) + c) mod count, the public formula of TPC-C
/// with A the greatest 2^k - 1 that is at most the share of the count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skew {
    count: u64,
    a: u64,
    constant: u64,
}

impl Skew {
    /// The law of one use; `part`: A is at most a `part`-th of the count.
    pub fn new(seed: u64, number: u64, count: u64, part: u64) -> Self {
        let most = count / part.max(1);
        let a = (1_u64 << (63 - (most + 1).leading_zeros())) - 1;
        let constant = Rng::of(seed, Domain::Constants, number, 0).below(count);
        Skew { count, a, constant }
    }

    /// Draws a number.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let skewed = rng.below(self.a + 1) | rng.below(self.count);
        (skewed + self.constant) % self.count
    }

    /// A, as a run's summary says it.
    pub fn a(&self) -> u64 {
        self.a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number is reached once, whatever the count.
    #[test]
    fn a_permutation_reaches_every_number_once() {
        for count in [1, 2, 3, 685, 1_000, 57_600] {
            let permutation = Permutation::new(7, 1, count);
            let mut seen = vec![false; count as usize];
            (0..count).for_each(|at| seen[permutation.of(at) as usize] = true);
            assert!(seen.into_iter().all(|seen| seen), "{count}");
        }
    }

    /// Another seed or number orders otherwise, and neighbours do not stay neighbours.
    #[test]
    fn permutations_differ_and_spread() {
        let places = |seed, number| -> Vec<u64> {
            let permutation = Permutation::new(seed, number, 1_000);
            (0..1_000).map(|at| permutation.of(at)).collect()
        };
        let one = places(1, 1);
        assert!(one != places(2, 1) && one != places(1, 2));
        let near = one.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 10);
        assert!(near.count() < 50);
    }

    /// The greatest power of two that fits, every number in bounds, and some far more often than others.
    #[test]
    fn skewed_numbers_have_their_bounds_and_their_favourites() {
        let skew = Skew::new(3, 1, 10_000, 4);
        assert_eq!(2_047, skew.a());
        let (mut rng, mut counts) = (Rng::new(1, 1), vec![0_u32; 10_000]);
        (0..1_000_000).for_each(|_| counts[skew.draw(&mut rng) as usize] += 1);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let first: u32 = counts[..1_000].iter().sum();
        assert!(first > 400_000, "a tenth has {first} of a million");
    }
}
