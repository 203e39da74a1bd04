//! What the kernel counts of a block device: how many requests ended, and how long they took altogether.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Requests of one operation since the device was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ended {
    /// How many ended; requests that were merged count as one.
    pub requests: u64,
    /// How long they took altogether, waiting included.
    pub took_ms: u64,
}

impl Ended {
    /// What was counted since an earlier reading.
    pub fn since(self, before: Ended) -> Ended {
        Ended {
            requests: self.requests.saturating_sub(before.requests),
            took_ms: self.took_ms.saturating_sub(before.took_ms),
        }
    }
}

/// The open counters of a device.
#[derive(Debug)]
pub struct BlockTimes(File);

impl BlockTimes {
    /// The counters of a device such as `/dev/loop3`. Errors: the kernel has none.
    pub fn of(device: &str) -> io::Result<Self> {
        let name = device.rsplit('/').next().unwrap_or(device);
        File::open(format!("/sys/block/{name}/stat")).map(BlockTimes)
    }

    /// What was counted so far, of reads, writes and flushes: the order of [`crate::request::Operation`].
    ///
    /// Errors: those of reading; `InvalidData` from a kernel older than 5.5, which does not count flushes.
    pub fn read(&self) -> io::Result<[Ended; 3]> {
        let mut text = [0; 512];
        let length = self.0.read_at(&mut text, 0)?;
        parse(&text[..length]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Source: Documentation/block/stat.rst of the kernel.
fn parse(text: &[u8]) -> Option<[Ended; 3]> {
    let text = std::str::from_utf8(text).ok()?;
    let numbers: Vec<u64> = text
        .split_ascii_whitespace()
        .map_while(|each| each.parse().ok())
        .collect();
    let ended = |requests: usize, took: usize| {
        Some(Ended {
            requests: *numbers.get(requests)?,
            took_ms: *numbers.get(took)?,
        })
    };
    Some([ended(0, 3)?, ended(4, 7)?, ended(15, 16)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each operation has its own columns; a line without those of flushes says nothing.
    #[test]
    fn columns_are_told_apart() {
        let line = b"   11  1  88  12  21  2 168  22  0  40  34  31  3 248  32  51  52\n";
        let ended = |requests, took_ms| Ended { requests, took_ms };
        assert_eq!(
            Some([ended(11, 12), ended(21, 22), ended(51, 52)]),
            parse(line)
        );
        assert_eq!(None, parse(b"11 1 88 12 21 2 168 22 0 40 34\n"));
    }
}
