//! The messages between Stithy and its native programs, and nothing else.
//!
//! A program reads one [`Job`] as JSON on standard input and writes one [`Message`] a line on
//! standard output. `wire/README.md` tells the protocol in words; `wire/examples/` holds one file
//! a message, which both languages must read and re-write unchanged. Types here decide nothing.

mod drive;
mod job;
mod message;

pub use drive::*;
pub use job::{
    Arrivals, BaselineJob, CalibrateJob, CheckJob, DataShape, Isolation, Job, Pace, PrepareJob,
    RunJob, Share, VerifyLedgerJob, WarmUpJob, WorkloadChoice,
};
pub use message::{
    BaselineSummary, CalibrateSummary, Calibration, CheckSummary, CommitGaps, Condition,
    ConnectionCounts, DataSample, DriverCost, ErrorCount, ErrorKind, Failure, LedgerCounts,
    LedgerFinding, LedgerFindingKind, LedgerSummary, LedgerWritten, Message, OwnGaps,
    PackedHistogram, Percentiles, Phase, PrepareSummary, Progress, Proof, RunSummary, Second,
    Sizes, Started, TableRows, TransactionSecond, TransactionTotal, WarmUpSummary, Warning,
};

/// The version of the protocol. Its history is in `wire/README.md`.
pub const WIRE_VERSION: u32 = 9;
