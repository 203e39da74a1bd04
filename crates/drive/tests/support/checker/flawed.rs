//! Disks in memory with one planted fault each, as a drive with a mistake in it would behave: whoever checks
//! disks must find each of them.

use std::io;
use std::sync::Mutex;

use super::disk::Disk;
use super::pattern::UNIT_BYTES;
use stithy_drive::backing::{MemoryImage, Store, Write};
use stithy_wire::CutRule;

/// What is wrong with a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    Sound,
    /// A read gives one unit as it was before its last write.
    StaleRead,
    /// A write leaves its last unit as it was.
    TornWrite,
    /// A write changes nothing.
    LostWrite,
    /// A write of two units or more has two of them in each other's place.
    SwappedUnits,
    /// A write lands one unit further than it should.
    MisplacedWrite,
    /// A unit is half of one write, half of another.
    MixedUnit,
    /// A discard leaves what was there.
    KeptDiscard,
    /// A flush forgets to make its writes durable: seen after a cut alone.
    ForgottenFlush,
    /// A write that comes after the cut is done: a dirty page that arrives late.
    LateWrite,
}

/// All flaws that a check must find, and when: while the disk works, or after a cut.
pub const FLAWS: &[(Flaw, bool)] = &[
    (Flaw::StaleRead, false),
    (Flaw::TornWrite, false),
    (Flaw::LostWrite, false),
    (Flaw::SwappedUnits, false),
    (Flaw::MisplacedWrite, false),
    (Flaw::MixedUnit, false),
    (Flaw::KeptDiscard, false),
    (Flaw::ForgottenFlush, true),
    (Flaw::LateWrite, true),
];

/// Of so many requests of its kind one is wrong.
const SELDOM: u64 = 20;

struct Inner {
    store: Store,
    requests: u64,
    powered: bool,
    /// What a unit held before its last write.
    former: Option<(u64, Vec<u8>)>,
}

/// A disk with a flaw.
pub struct Flawed {
    flaw: Flaw,
    inner: Mutex<Inner>,
}

impl Flawed {
    pub fn new(flaw: Flaw, size_bytes: u64) -> Self {
        let image = MemoryImage::new(size_bytes).expect("memory");
        let inner = Inner {
            store: Store::new(Box::new(image), Some(u64::MAX)),
            requests: 0,
            powered: true,
            former: None,
        };
        Flawed {
            flaw,
            inner: Mutex::new(inner),
        }
    }

    /// Loses every volatile write. From now on requests fail.
    pub fn cut(&self) {
        let rule = CutRule {
            seed: 1,
            lost_share: 1.0,
            torn_share: 0.0,
            unit_bytes: 512,
        };
        let mut inner = self.inner.lock().expect("nobody panicked");
        inner.store.cut(Vec::new(), &rule).expect("memory");
        inner.powered = false;
    }

    /// Requests succeed again.
    pub fn power_on(&self) {
        self.inner.lock().expect("nobody panicked").powered = true;
    }
}

impl Inner {
    /// Whether this request is one of those that go wrong.
    fn is_its_turn(&mut self) -> bool {
        self.requests += 1;
        self.requests.is_multiple_of(SELDOM)
    }

    fn put(&mut self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        let first = self.store.read(offset_bytes, UNIT_BYTES)?.to_vec();
        self.former = Some((offset_bytes, first));
        self.store.write(Write {
            offset_bytes,
            content: Box::from(content),
        })
    }

    fn unpowered(&self) -> io::Result<()> {
        match self.powered {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }
}

/// What a flawed write puts where; nothing for one that is lost.
fn spoil(flaw: Flaw, offset_bytes: u64, content: &[u8], size_bytes: u64) -> Option<(u64, Vec<u8>)> {
    let mut content = content.to_vec();
    let units = content.len() / UNIT_BYTES;
    match flaw {
        Flaw::LostWrite => return None,
        Flaw::TornWrite => content.truncate(content.len() - UNIT_BYTES),
        Flaw::MixedUnit => {
            let other = content.len() - UNIT_BYTES / 2;
            content[other..].fill(0);
        }
        Flaw::SwappedUnits if units > 1 => {
            let (first, rest) = content.split_at_mut(UNIT_BYTES);
            first.swap_with_slice(&mut rest[..UNIT_BYTES]);
        }
        Flaw::MisplacedWrite => {
            let last = size_bytes - content.len() as u64;
            return Some(((offset_bytes + UNIT_BYTES as u64).min(last), content));
        }
        _ => {}
    }
    Some((offset_bytes, content))
}

impl Disk for Flawed {
    fn read(&self, offset_bytes: u64, content: &mut [u8]) -> io::Result<()> {
        let mut inner = self.inner.lock().expect("nobody panicked");
        inner.unpowered()?;
        content.copy_from_slice(inner.store.read(offset_bytes, content.len())?);
        if self.flaw == Flaw::StaleRead {
            let end = offset_bytes + content.len() as u64;
            if let Some((at, former)) = &inner.former {
                if (offset_bytes..end).contains(at) {
                    let start = (at - offset_bytes) as usize;
                    content[start..start + UNIT_BYTES].copy_from_slice(former);
                }
            }
        }
        Ok(())
    }

    fn write(&self, offset_bytes: u64, content: &[u8]) -> io::Result<()> {
        let mut inner = self.inner.lock().expect("nobody panicked");
        if self.flaw == Flaw::LateWrite && !inner.powered {
            return inner.put(offset_bytes, content);
        }
        inner.unpowered()?;
        if !inner.is_its_turn() {
            return inner.put(offset_bytes, content);
        }
        let size_bytes = inner.store.size_bytes();
        match spoil(self.flaw, offset_bytes, content, size_bytes) {
            Some((at, content)) => inner.put(at, &content),
            None => Ok(()),
        }
    }

    fn discard(&self, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
        let mut inner = self.inner.lock().expect("nobody panicked");
        inner.unpowered()?;
        match self.flaw {
            Flaw::KeptDiscard => Ok(()),
            _ => inner.store.discard(offset_bytes, length_bytes),
        }
    }

    fn flush(&self) -> io::Result<()> {
        let mut inner = self.inner.lock().expect("nobody panicked");
        inner.unpowered()?;
        if self.flaw != Flaw::ForgottenFlush {
            let mark = inner.store.mark();
            inner.store.settle(mark);
        }
        Ok(())
    }
}
