//! Random numbers of which each stream follows from a named seed.
//!
//! The generator is counter based: a stream is a 64-bit key, its n-th number is a mixing function of
//! key + n * gamma (SplitMix64: Steele, Lea and Flood, OOPSLA 2014). The key is made of the seed,
//! what the stream is for, and two numbers such as warehouse and row. So each row can be made
//! alone, and any split over loaders gives the same rows. Not for secrets.

/// Odd, close to 2^64 divided by the golden ratio; the constant of SplitMix64.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The stream of `domain` for two numbers, such as warehouse and row, or user and 0.
    pub fn new(seed: u64, domain: impl Into<u64>, major: u64, minor: u64) -> Self {
        let keyed = mix(seed.wrapping_add(GAMMA.wrapping_mul(domain.into())));
        let keyed = mix(keyed.wrapping_add(GAMMA.wrapping_mul(major.wrapping_add(1))));
        Rng {
            state: mix(keyed.wrapping_add(GAMMA.wrapping_mul(minor.wrapping_add(1)))),
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

    /// True in `percent` of 100 draws.
    #[inline]
    pub fn chance(&mut self, percent: u32) -> bool {
        self.uniform(0, 99) < percent
    }

    /// A number above 0 and up to 1.
    #[inline]
    pub fn share(&mut self) -> f64 {
        // 53 bits are as many as the fraction of a double holds.
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// SplitMix64's finaliser: every bit of the result depends on every bit of `z`.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
