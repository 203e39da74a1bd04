//! Random text, fast enough not to be what loading waits for.
//!
//! Letters and digits are drawn from 62 symbols: the data neither compresses nor deduplicates well, so
//! that it does not flatter a drive that does either. Where a study wants data that does, its text
//! has another [`Shape`].

use std::collections::HashMap;

use stithy_measure::Rng;
use stithy_wire::DataShape;

/// What the random numbers of the pools of text are for. A workload's own streams have other numbers.
pub const DUPLICATE_STREAM: u64 = 13;

const SYMBOLS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A random length between two bounds, both included.
pub type Lengths = std::ops::RangeInclusive<u32>;

/// Appends `length` letters and digits.
#[inline]
pub fn push_text(out: &mut Vec<u8>, rng: &mut Rng, length: usize) {
    let start = out.len();
    out.resize(start + length, 0);
    let mut groups = out[start..].chunks_exact_mut(8);
    for group in &mut groups {
        let symbols = eight_symbols(rng.bits());
        group.copy_from_slice(&symbols);
    }
    let rest = groups.into_remainder();
    if !rest.is_empty() {
        let symbols = eight_symbols(rng.bits());
        rest.copy_from_slice(&symbols[..rest.len()]);
    }
}

/// Eight symbols of 64 random bits: each half gives four, by taking the whole part of fraction * 62
/// again and again. 62^4 is 290 times smaller than 2^32, so no symbol is favoured by more than 0.4 %.
#[inline]
fn eight_symbols(bits: u64) -> [u8; 8] {
    let mut halves = [bits & 0xFFFF_FFFF, bits >> 32];
    let mut symbols = [0; 8];
    for i in 0..4 {
        for (h, half) in halves.iter_mut().enumerate() {
            let product = *half * 62;
            symbols[2 * i + h] = SYMBOLS[(product >> 32) as usize];
            *half = product & 0xFFFF_FFFF;
        }
    }
    symbols
}

/// Appends letters and digits of a random length.
#[inline]
pub fn push_text_of(out: &mut Vec<u8>, rng: &mut Rng, lengths: Lengths) {
    let length = draw_length(rng, lengths);
    push_text(out, rng, length);
}

/// A length that is fixed takes no draw.
#[inline]
fn draw_length(rng: &mut Rng, lengths: Lengths) -> usize {
    let (least, most) = lengths.into_inner();
    match least == most {
        true => least as usize,
        false => rng.uniform(least, most) as usize,
    }
}

/// What the text of the rows is like. The same shape and stream give the same text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    seed: u64,
    data: DataShape,
}

/// Compressed size of random letters and digits: close to 6 bits each, as 2^6 is close to 62.
const RANDOM_BITS: f64 = 5.97;
/// What a compressor spends on telling where a stretch of filling begins and ends. Both figures were
/// measured with zstd, level 3; a test holds the result to them.
const FILLING_BITS: f64 = 12.0;
const FILLING: u8 = b'x';

/// The different values of a length that repeat fill so many bytes: twice what file systems compress
/// at once, or the copies would show as compressibility.
const POOL_BYTES: u32 = 256 << 10;

impl Shape {
    /// The shape that a job asks for; `seed` is that of the rows.
    pub fn new(seed: u64, data: DataShape) -> Self {
        Shape { seed, data }
    }

    /// Appends text of a random length.
    #[inline]
    pub fn push_text_of(&self, out: &mut Vec<u8>, rng: &mut Rng, lengths: Lengths) {
        self.pooled(rng, *lengths.end(), |rng| {
            let length = draw_length(rng, lengths);
            self.push_text(out, rng, length);
        });
    }

    /// Lets `make` draw from the row's own stream, or from that of a value of the pool.
    #[inline]
    fn pooled(&self, rng: &mut Rng, length_max: u32, make: impl FnOnce(&mut Rng)) {
        let percent = self.data.duplicate_percent;
        if percent == 0 || !rng.percent(percent.into()) {
            return make(rng);
        }
        let value = rng.uniform(1, POOL_BYTES / length_max);
        let (major, minor) = (length_max.into(), value.into());
        make(&mut Rng::of(self.seed, DUPLICATE_STREAM, major, minor));
    }

    /// Random symbols, then as much filling as makes a compressor save the share that was asked for.
    #[inline]
    fn push_text(&self, out: &mut Vec<u8>, rng: &mut Rng, length: usize) {
        let Some(percent) = self.data.compressible_percent else {
            return push_text(out, rng, length);
        };
        let random = random_symbols(length, percent);
        push_text(out, rng, random);
        out.resize(out.len() + length - random, FILLING);
    }
}

/// How many symbols of a text must be random for a compressor to save `percent` of it.
#[inline]
fn random_symbols(length: usize, percent: u8) -> usize {
    let compressed_bits = 8.0 * length as f64 * (1.0 - f64::from(percent) / 100.0);
    let random = ((compressed_bits - FILLING_BITS) / RANDOM_BITS).round();
    (random.max(0.0) as usize).min(length)
}

/// Text kept apart, to be measured.
#[derive(Debug, Default)]
pub struct Tap {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Size of the values that occur more than once.
    pub repeated_bytes: u64,
    seen: HashMap<Vec<u8>, u32>,
}

impl Tap {
    /// Takes note of one value.
    pub fn take(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        let times = self.seen.entry(value.to_vec()).or_default();
        *times += 1;
        // The second time the first one is known to be repeated, too.
        let found = [0, 2].get(*times as usize - 1).copied().unwrap_or(1);
        self.repeated_bytes += found * value.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rng() -> Rng {
        Rng::of(11, 1_u64, 0, 0)
    }

    /// Exactly the asked number of symbols, whatever remains of a group of eight.
    #[test]
    fn text_has_the_asked_length() {
        let mut rng = rng();
        for length in 0..40 {
            let mut out = b"kept".to_vec();
            push_text(&mut out, &mut rng, length);
            assert_eq!(length + 4, out.len());
            assert!(out.starts_with(b"kept") && out.iter().all(u8::is_ascii_alphanumeric));
        }
    }

    /// Every symbol occurs about equally often at every place of a group.
    #[test]
    fn text_uses_every_symbol_evenly() {
        let mut out = Vec::new();
        push_text(&mut out, &mut rng(), 8 * 62_000);
        for place in 0..8 {
            let mut counts = [0u32; 256];
            out.iter()
                .skip(place)
                .step_by(8)
                .for_each(|c| counts[usize::from(*c)] += 1);
            for symbol in SYMBOLS {
                let n = counts[usize::from(*symbol)];
                assert!(
                    (850..1150).contains(&n),
                    "{} at {place}: {n}",
                    *symbol as char
                );
            }
        }
    }

    /// Both bounds of a length are reached.
    #[test]
    fn random_lengths_reach_both_bounds() {
        let mut rng = rng();
        let lengths: Vec<usize> = (0..500)
            .map(|_| {
                let mut out = Vec::new();
                push_text_of(&mut out, &mut rng, 8..=16);
                out.len()
            })
            .collect();
        assert_eq!(
            (Some(&8), Some(&16)),
            (lengths.iter().min(), lengths.iter().max())
        );
    }
}
