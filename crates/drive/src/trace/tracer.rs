//! The drive's end of a trace: gathers records and hands them on in batches, without ever waiting.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::Arc;

use stithy_measure::Moment;

use super::record::{gap, Record, RECORD_BYTES};

/// Records handed on at once.
const BATCH_RECORDS: usize = 2_048;
const BATCH_BYTES: usize = BATCH_RECORDS * RECORD_BYTES;

/// Batches that may wait for the file: half a second of the fastest drive, 4 MiB.
pub(super) const BATCHES: usize = 64;

/// What the drive's thread gives records to.
pub struct Tracer {
    batch: Vec<u8>,
    /// Requests in the batch; a gap is none.
    gathered: u64,
    /// Lost ones that the gap at the begin of the batch tells of.
    told: u64,
    /// Lost ones that no gap tells of yet.
    untold: u64,
    batches: SyncSender<Vec<u8>>,
    lost: Arc<AtomicU64>,
}

impl Tracer {
    pub(super) fn new(batches: SyncSender<Vec<u8>>, lost: Arc<AtomicU64>) -> Self {
        Tracer {
            batch: Vec::with_capacity(BATCH_BYTES),
            gathered: 0,
            told: 0,
            untold: 0,
            batches,
            lost,
        }
    }

    /// Adds a request.
    pub fn record(&mut self, record: &Record) {
        if self.untold > 0 && self.batch.is_empty() {
            let noticed = Moment(record.arrived.0.saturating_add(record.latency_ns));
            self.told = std::mem::take(&mut self.untold);
            self.batch.extend_from_slice(&gap(noticed, self.told));
        }
        self.batch.extend_from_slice(&record.bytes());
        self.gathered += 1;
        if self.batch.len() >= BATCH_BYTES {
            self.hand_on();
        }
    }

    /// Hands on what was gathered. Where too much waits for the file already it is lost, and counted.
    pub fn hand_on(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let full = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH_BYTES));
        let (gathered, told) = (self.gathered, self.told);
        (self.gathered, self.told) = (0, 0);
        if self.batches.try_send(full).is_err() {
            self.lost.fetch_add(gathered, Ordering::Relaxed);
            // A gap that was lost with its batch is to be reported again.
            self.untold += gathered + told;
        }
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.hand_on();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::request::{Operation, Request};

    fn record(n: u64) -> Record {
        Record {
            arrived: Moment(n),
            request: Request {
                operation: Operation::Read,
                offset_bytes: n * 4096,
                length_bytes: 4096,
            },
            latency_ns: 5,
            depth: 1,
            flags: 0,
        }
    }

    /// A file that is too slow costs whole batches, which are counted and told where they are missing; the
    /// drive does not wait.
    #[test]
    fn what_does_not_fit_is_counted_and_told() {
        let (sender, receiver) = sync_channel(1);
        let lost = Arc::new(AtomicU64::new(0));
        let mut tracer = Tracer::new(sender, Arc::clone(&lost));
        let batch = BATCH_RECORDS as u64;
        // One batch waits, two do not fit: the second of these begins with a gap, which takes a place.
        (0..3 * batch - 1).for_each(|n| tracer.record(&record(n)));
        assert_eq!(2 * batch - 1, lost.load(Ordering::Relaxed));
        assert_eq!(BATCH_BYTES, receiver.recv().expect("the first fits").len());
        tracer.record(&record(7));
        tracer.hand_on();
        let expected = [gap(Moment(12), 2 * batch - 1), record(7).bytes()].concat();
        assert_eq!(expected, receiver.recv().expect("it fits again"));
    }
}
