//! The store against a literal model: a durable copy and the list of everything written since.

use super::*;
use crate::backing::MemoryImage;

const UNIT: usize = 512;
const UNITS: u64 = 64;
const SIZE: usize = UNIT * UNITS as usize;

/// What a disk is, described in the longest way.
struct Literal {
    durable: Vec<u8>,
    /// Answered and not flushed, in the order of the answers.
    volatile: Vec<Write>,
}

impl Literal {
    fn newest(&self) -> Vec<u8> {
        let mut image = self.durable.clone();
        for write in &self.volatile {
            put(&mut image, write);
        }
        image
    }

    fn settle(&mut self, count: usize) {
        for write in self.volatile.drain(..count) {
            put(&mut self.durable, &write);
        }
    }

    /// Zeroes a range. A unit with volatile writes may still show what was there before the newest of them:
    /// it and the discard are lost together.
    fn discard(&mut self, offset: usize, length: usize) {
        for start in (offset..offset + length).step_by(UNIT) {
            let unit = start..start + UNIT;
            let newest = self.volatile.iter_mut().rev().find(|write| {
                let first = write.offset_bytes as usize;
                first <= unit.start && unit.end <= first + write.content.len()
            });
            match newest {
                None => self.durable[unit].fill(0),
                Some(write) => {
                    let first = write.offset_bytes as usize;
                    write.content[unit.start - first..unit.end - first].fill(0);
                }
            }
        }
    }

    /// Whether a unit of `image` is the durable one or one that a volatile write brought.
    fn permits(&self, image: &[u8], unit: usize) -> bool {
        let range = unit * UNIT..(unit + 1) * UNIT;
        let seen = &image[range.clone()];
        seen == &self.durable[range.clone()]
            || self.volatile.iter().any(|write| {
                let start = write.offset_bytes as usize;
                range.start >= start
                    && range.end <= start + write.content.len()
                    && seen == &write.content[range.start - start..range.end - start]
            })
    }
}

fn put(image: &mut [u8], write: &Write) {
    let start = write.offset_bytes as usize;
    image[start..start + write.content.len()].copy_from_slice(&write.content);
}

/// A store and its literal model after the same `steps` random steps, and the flushes under way.
fn grown(seed: u64, steps: u64) -> (Store, Literal) {
    let image = MemoryImage::new(SIZE as u64).expect("memory");
    let mut store = Store::new(Box::new(image), Some(u64::MAX));
    let mut literal = Literal {
        durable: vec![0; SIZE],
        volatile: Vec::new(),
    };
    let mut rng = Rng::new(seed, 9);
    let mut flush: Option<(Mark, usize)> = None;
    for step in 0..steps {
        let offset = rng.below(UNITS) * UNIT as u64;
        let length = ((1 + rng.below(9)) * UNIT as u64).min(SIZE as u64 - offset);
        match rng.below(20) {
            0 => flush = flush.or(Some((store.mark(), literal.volatile.len()))),
            1 => {
                if let Some((mark, count)) = flush.take() {
                    store.settle(mark);
                    literal.settle(count);
                }
            }
            2 if flush.is_none() => {
                store.discard(offset, length).unwrap();
                literal.discard(offset as usize, length as usize);
            }
            _ => {
                let content = vec![step as u8 + 1; length as usize].into_boxed_slice();
                let write = Write {
                    offset_bytes: offset,
                    content,
                };
                literal.volatile.push(write.clone());
                store.write(write).unwrap();
            }
        }
    }
    (store, literal)
}

fn content(store: &mut Store) -> Vec<u8> {
    store.read(0, SIZE).unwrap().to_vec()
}

fn rule(seed: u64, lost_share: f64, torn_share: f64) -> CutRule {
    CutRule {
        seed,
        lost_share,
        torn_share,
        unit_bytes: UNIT as u32,
    }
}

/// Reads see the newest write, whatever was flushed or discarded.
#[test]
fn reads_see_the_newest_write() {
    for seed in 0..200 {
        let (mut store, literal) = grown(seed, 120);
        assert!(literal.newest() == content(&mut store), "seed {seed}");
    }
}

/// A cut that loses everything volatile leaves exactly what flushes promised; writes that a flush found
/// under way are not among it.
#[test]
fn what_was_flushed_survives_and_nothing_else_must() {
    for seed in 0..200 {
        let (mut store, literal) = grown(seed, 120);
        let report = store.cut(Vec::new(), &rule(seed, 1.0, 0.0)).unwrap();
        assert!(literal.durable == content(&mut store), "seed {seed}");
        assert_eq!(literal.volatile.len() as u64, report.lost);
    }
}

/// A cut that keeps everything leaves the newest image.
#[test]
fn a_cut_may_keep_everything() {
    for seed in 0..50 {
        let (mut store, literal) = grown(seed, 120);
        let report = store.cut(Vec::new(), &rule(seed, 0.0, 0.0)).unwrap();
        assert!(literal.newest() == content(&mut store), "seed {seed}");
        assert_eq!(literal.volatile.len() as u64, report.kept);
    }
}

/// After any cut each unit is the durable one or one that was written since, and whole; and afterwards
/// nothing is volatile any more.
#[test]
fn nothing_appears_that_was_never_written() {
    for seed in 0..400 {
        let (mut store, mut literal) = grown(seed, 150);
        let under_way = Write {
            offset_bytes: 4 * UNIT as u64,
            content: vec![0xEE; 8 * UNIT].into_boxed_slice(),
        };
        literal.volatile.push(under_way.clone());
        store.cut(vec![under_way], &rule(seed, 0.3, 0.4)).unwrap();
        let image = content(&mut store);
        for unit in 0..UNITS as usize {
            assert!(literal.permits(&image, unit), "seed {seed}, unit {unit}");
        }
        assert_eq!(0, store.volatile_bytes());
        store.cut(Vec::new(), &rule(1, 1.0, 0.0)).unwrap();
        assert!(image == content(&mut store), "seed {seed}");
    }
}

/// The same seed makes the same choice, another one another.
#[test]
fn a_cut_follows_from_its_seed() {
    let cut = |seed| {
        let (mut store, _) = grown(3, 150);
        store.cut(Vec::new(), &rule(seed, 0.3, 0.4)).unwrap();
        content(&mut store)
    };
    assert!(cut(1) == cut(1));
    assert!(cut(1) != cut(2));
}

/// Of many torn writes some are kept in part: a cut that never tears would prove nothing.
#[test]
fn writes_are_torn() {
    let (mut store, _) = grown(5, 150);
    let report = store.cut(Vec::new(), &rule(5, 0.0, 1.0)).unwrap();
    assert!(report.torn > 10, "{report:?}");
}

/// A protected cache loses nothing that was answered; a volatile one no more than it holds.
#[test]
fn the_cache_decides_what_can_be_lost() {
    for (volatile_bytes, survivors) in [(None, 8), (Some(3 * 512), 5)] {
        let image = MemoryImage::new(SIZE as u64).expect("memory");
        let mut store = Store::new(Box::new(image), volatile_bytes);
        for unit in 0..8_u64 {
            let content = vec![1; UNIT].into_boxed_slice();
            let offset_bytes = unit * UNIT as u64;
            store
                .write(Write {
                    offset_bytes,
                    content,
                })
                .unwrap();
        }
        store.cut(Vec::new(), &rule(1, 1.0, 0.0)).unwrap();
        let left = content(&mut store)
            .iter()
            .filter(|&&byte| byte == 1)
            .count();
        assert_eq!(survivors * UNIT, left, "{volatile_bytes:?}");
    }
}

/// Corruption flips bits of its range and no other.
#[test]
fn corruption_stays_in_its_range() {
    let (mut store, _) = grown(1, 50);
    let before = content(&mut store);
    store.corrupt(1024, 512, 1, 4).unwrap();
    let after = content(&mut store);
    let flipped: Vec<usize> = (0..SIZE).filter(|&at| before[at] != after[at]).collect();
    assert_eq!(1, flipped.len());
    assert!((1024..1536).contains(&flipped[0]));
}

/// As many bits flip as are asked for, though the same place may be drawn twice.
#[test]
fn corruption_flips_as_many_bits_as_asked() {
    let (mut store, _) = grown(1, 50);
    let before = content(&mut store);
    store.corrupt(100, 2, 16, 4).unwrap();
    let after = content(&mut store);
    let expected: Vec<u8> = before[100..102].iter().map(|byte| !byte).collect();
    assert_eq!(expected, after[100..102]);
}

/// A drive with a protected cache that lies loses what it answered meanwhile, and nothing from before or
/// after.
#[test]
fn a_drive_that_lies_protects_nothing_meanwhile() {
    let image = MemoryImage::new(SIZE as u64).expect("memory");
    let mut store = Store::new(Box::new(image), None);
    let write = |store: &mut Store, unit: usize| {
        let content = vec![1; UNIT].into_boxed_slice();
        let offset_bytes = (unit * UNIT) as u64;
        let write = Write {
            offset_bytes,
            content,
        };
        store.write(write).unwrap();
    };
    write(&mut store, 0);
    store.lie(true);
    write(&mut store, 1);
    assert_eq!(UNIT as u64, store.volatile_bytes());
    store.lie(false);
    assert_eq!(0, store.volatile_bytes(), "it is protected from now on");
    write(&mut store, 2);
    store.lie(true);
    write(&mut store, 3);
    store.cut(Vec::new(), &rule(1, 1.0, 0.0)).unwrap();
    let kept: Vec<u8> = content(&mut store)
        .chunks(UNIT)
        .map(|unit| unit[0])
        .collect();
    assert_eq!([1, 1, 1, 0], kept[..4]);
}
