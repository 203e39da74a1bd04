//! Strings that order entry alone has.

use super::random::Rng;
use crate::loading::Shape;

const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const ORIGINAL: &[u8] = b"ORIGINAL";

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
pub fn push_data(shape: &Shape, out: &mut Vec<u8>, rng: &mut Rng) {
    let start = out.len();
    shape.push_text_of(out, rng, 26..=50);
    if rng.percent(10) {
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
        Rng::of(11, Domain::User, 0, 0)
    }

    /// A tenth of the rows hold ORIGINAL, at varying places, and the length bounds still hold.
    #[test]
    fn a_tenth_of_data_holds_original() {
        let mut rng = rng();
        let mut places = std::collections::HashSet::new();
        let mut original = 0;
        for _ in 0..20_000 {
            let mut out = Vec::new();
            push_data(&Shape::default(), &mut out, &mut rng);
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
