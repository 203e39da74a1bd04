//! Random strings of the order-entry workload, fast enough not to be what loading waits for.
//!
//! Letters and digits are drawn from 62 symbols: the data neither compresses nor deduplicates well,
//! as that of a real application would not flatter a drive that does either.

use super::random::Rng;

const SYMBOLS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ORIGINAL: &[u8] = b"ORIGINAL";

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
    let length = rng.uniform(*lengths.start(), *lengths.end()) as usize;
    push_text(out, rng, length);
}

/// Appends `length` digits.
#[inline]
pub fn push_digits(out: &mut Vec<u8>, rng: &mut Rng, length: usize) {
    for _ in 0..length {
        out.push(b'0' + rng.uniform(0, 9) as u8);
    }
}

/// Appends `length` capital letters.
#[inline]
pub fn push_letters(out: &mut Vec<u8>, rng: &mut Rng, length: usize) {
    for _ in 0..length {
        out.push(LETTERS[rng.uniform(0, 25) as usize]);
    }
}

/// Appends a postal code: four random digits and `11111` (clause 4.3.2.7).
#[inline]
pub fn push_zip(out: &mut Vec<u8>, rng: &mut Rng) {
    push_digits(out, rng, 4);
    out.extend_from_slice(b"11111");
}

/// Appends I_DATA or S_DATA: 26 to 50 symbols, a tenth of them with ORIGINAL somewhere inside.
#[inline]
pub fn push_data(out: &mut Vec<u8>, rng: &mut Rng) {
    let start = out.len();
    push_text_of(out, rng, 26..=50);
    if rng.chance(10) {
        let last = (out.len() - start - ORIGINAL.len()) as u32;
        let at = start + rng.uniform(0, last) as usize;
        out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Domain;
    use super::*;

    fn rng() -> Rng {
        Rng::new(11, Domain::User, 0, 0)
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

    /// Clause 4.3.2.2: both bounds of a length are reached.
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

    /// A tenth of the rows hold ORIGINAL, at varying places, and the length bounds still hold.
    #[test]
    fn a_tenth_of_data_holds_original() {
        let mut rng = rng();
        let mut places = std::collections::HashSet::new();
        let mut original = 0;
        for _ in 0..20_000 {
            let mut out = Vec::new();
            push_data(&mut out, &mut rng);
            assert!((26..=50).contains(&out.len()));
            if let Some(at) = out.windows(8).position(|w| w == ORIGINAL) {
                original += 1;
                places.insert(at);
            }
        }
        assert!((1_800..2_200).contains(&original), "{original} of 20000");
        assert!(places.contains(&0) && places.contains(&42), "{places:?}");
    }

    /// Clause 4.3.2.7.
    #[test]
    fn a_zip_is_four_digits_and_five_ones() {
        let mut out = Vec::new();
        push_zip(&mut out, &mut rng());
        assert!(out.len() == 9 && out.ends_with(b"11111") && out.iter().all(u8::is_ascii_digit));
    }

    /// States are capital letters.
    #[test]
    fn letters_are_capitals() {
        let mut out = Vec::new();
        push_letters(&mut out, &mut rng(), 100);
        assert!(out.iter().all(u8::is_ascii_uppercase));
    }
}
