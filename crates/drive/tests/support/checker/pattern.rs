//! What is in a unit of 512 bytes: its generation, and bytes that all follow from lane, place and
//! generation. Zeros are generation 0. So a unit that was misplaced, mixed, torn or made up is seen.

use stithy_measure::Rng;

pub const UNIT_BYTES: usize = 512;

/// Writes the pattern of a unit.
pub fn fill(unit: &mut [u8], lane: u64, place: u64, generation: u64) {
    let mut rng = Rng::new(lane << 32 | place, generation);
    unit[..8].copy_from_slice(&generation.to_le_bytes());
    for eight in unit[8..].chunks_exact_mut(8) {
        eight.copy_from_slice(&rng.bits().to_le_bytes());
    }
}

/// Which generation a unit is, if it is whole and in its place.
pub fn generation_of(unit: &[u8], lane: u64, place: u64) -> Option<u64> {
    let generation = u64::from_le_bytes(unit[..8].try_into().ok()?);
    let mut expected = [0; UNIT_BYTES];
    if generation != 0 {
        fill(&mut expected, lane, place, generation);
    }
    (expected[..] == *unit).then_some(generation)
}
