//! Random numbers of which each stream follows from a named seed.
//!
//! The generator is counter based: a stream is a 64-bit key, its n-th number is a mixing function of
//! key + n * gamma (SplitMix64: Steele, Lea and Flood, OOPSLA 2014). The key is made of the seed and of
//! what the stream is for. So each row of a table can be made alone, any split over loaders gives the
//! same rows, and a drive's state can be put back with its image. Not for secrets.

/// Odd, close to 2^64 divided by the golden ratio; the constant of SplitMix64.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// One stream of random numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream of one purpose; streams of the same seed and different purposes are independent.
    pub fn new(seed: u64, purpose: u64) -> Self {
        Rng {
            state: mix(keyed(seed, purpose.wrapping_add(1))),
        }
    }

    /// The stream of `domain` for two numbers, such as table and row, or user and 0.
    pub fn of(seed: u64, domain: impl Into<u64>, major: u64, minor: u64) -> Self {
        let key = keyed(keyed(seed, domain.into()), major.wrapping_add(1));
        Rng {
            state: keyed(key, minor.wrapping_add(1)),
        }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// A number from `low` to `high`, both included, each equally likely (to within 2^-32).
    #[inline]
    pub fn uniform(&mut self, low: u32, high: u32) -> u32 {
        debug_assert!(low <= high);
        let span = u64::from(high - low) + 1;
        low + (((self.bits() >> 32) * span) >> 32) as u32
    }

    /// A number from 0 to `bound` - 1, each equally likely (to within 2^-32); 0 where `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 up to, and without, 1.
    #[inline]
    pub fn share(&mut self) -> f64 {
        // 53 bits are as many as the fraction of a double holds.
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number above 0 and up to 1, of which there is a logarithm.
    #[inline]
    pub fn positive_share(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// True with the given probability, 0 to 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// True in `percent` of 100 draws.
    #[inline]
    pub fn percent(&mut self, percent: u32) -> bool {
        self.uniform(0, 99) < percent
    }
}

/// The key of a stream within another one.
#[inline]
fn keyed(key: u64, number: u64) -> u64 {
    mix(key.wrapping_add(GAMMA.wrapping_mul(number)))
}

/// SplitMix64's finaliser: every bit of the result depends on every bit of `z`.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seed gives the same data, faults and latencies in every version: results say only the seed.
    #[test]
    fn the_numbers_of_a_seed_never_change() {
        assert_eq!(0xB539_B516_4607_F867, Rng::new(7, 1).bits());
        assert_eq!(0x8F78_63BC_297B_00AB, Rng::of(7, 14_u64, 3, 9).bits());
    }

    /// The same seed gives the same numbers, another purpose gives others.
    #[test]
    fn a_stream_follows_from_seed_and_purpose() {
        let mut first = Rng::new(7, 1);
        let mut again = Rng::new(7, 1);
        let mut other = Rng::new(7, 2);
        let drawn: Vec<u64> = (0..4).map(|_| first.bits()).collect();
        assert_eq!(drawn, (0..4).map(|_| again.bits()).collect::<Vec<_>>());
        assert_ne!(drawn, (0..4).map(|_| other.bits()).collect::<Vec<_>>());
    }

    /// Shares and bounded numbers keep their bounds and their mean.
    #[test]
    fn numbers_keep_their_bounds() {
        let mut rng = Rng::new(1, 1);
        let mean = (0..10_000).map(|_| rng.share()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert!((0..1_000).all(|_| rng.below(3) < 3));
        assert_eq!(0, rng.below(0));
        assert!(!rng.chance(0.0) && rng.chance(1.0));
        assert!(!rng.percent(0) && rng.percent(100));
    }
}
