//! Random numbers that follow from a named seed: latencies, faults, what a power cut spares.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): small state that can be put back with an image.
//! Not for secrets.

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
        let keyed = mix(seed.wrapping_add(GAMMA.wrapping_mul(purpose.wrapping_add(1))));
        Rng { state: mix(keyed) }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
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

    /// True with the given probability, 0 to 1.
    #[inline]
    pub fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }
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
    }
}
