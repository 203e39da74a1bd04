//! The text of rows: groups of eleven random digits, as sysbench writes them.

use stithy_measure::Rng;

/// Groups in `c`.
pub const C_GROUPS: usize = 10;
/// Groups in `pad`.
pub const PAD_GROUPS: usize = 5;
const DIGITS: usize = 11;

/// The length of so many groups and what joins them.
pub const fn length(groups: usize) -> usize {
    groups * (DIGITS + 1) - 1
}

/// The numbers from 00 to 99, one after the other.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut number = 0;
    while number < 100 {
        pairs[2 * number] = b'0' + (number / 10) as u8;
        pairs[2 * number + 1] = b'0' + (number % 10) as u8;
        number += 1;
    }
    pairs
};

/// Appends groups of digits, joined by hyphens.
#[inline]
pub fn push_digits(out: &mut Vec<u8>, rng: &mut Rng, groups: usize) {
    for group in 0..groups {
        if group > 0 {
            out.push(b'-');
        }
        // One draw a group: its digits are as independent as eleven draws would be, to within 2^-27.
        let mut number = rng.below(100_000_000_000);
        let mut digits = [0; DIGITS];
        for pair in digits.rchunks_exact_mut(2) {
            let at = (number % 100) as usize * 2;
            pair.copy_from_slice(&PAIRS[at..at + 2]);
            number /= 100;
        }
        digits[0] = b'0' + number as u8;
        out.extend_from_slice(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 119 and 59 characters, digits but for the hyphens, each digit as often as any other.
    #[test]
    fn text_is_groups_of_even_digits() {
        let (mut rng, mut counts) = (Rng::new(7, 1), [0_u32; 10]);
        for groups in [C_GROUPS, PAD_GROUPS].repeat(500) {
            let mut text = Vec::new();
            push_digits(&mut text, &mut rng, groups);
            assert_eq!(groups * 12 - 1, text.len());
            assert_eq!(length(groups), text.len());
            for group in text.split(|byte| *byte == b'-') {
                assert_eq!(11, group.len());
                group
                    .iter()
                    .for_each(|digit| counts[usize::from(digit - b'0')] += 1);
            }
        }
        let expected = 82_500.0 / 10.0;
        assert!(counts
            .iter()
            .all(|count| (f64::from(*count) / expected - 1.0).abs() < 0.05));
    }
}
