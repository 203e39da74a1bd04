//! What the native programs share: clock, lateness, histograms, interval logs, errors.
//!
//! What a transaction's times mean is in [`Times`]; how they become figures in [`Recorder`]; how they
//! are kept for later in [`IntervalLogs`]. Nothing here speaks to a database.

mod clock;
mod cost;
pub mod error;
mod interval;
mod interval_log;
mod lock;
mod percentiles;
pub mod priority;
mod random;
mod recorder;
mod suppressed;
mod times;

pub use clock::{nanoseconds, Clock, Moment, SystemClock};
pub use cost::{this_thread, CpuUse, ThreadTime};
pub use interval::{count_time, empty_histogram, Counts, Interval, Outcome, TypeRecord};
pub use interval_log::{packed, unpacked, IntervalLog, IntervalLogs, Packer};
pub use lock::locked;
pub use percentiles::{percentiles, percentiles_in};
pub use random::Rng;
pub use recorder::{Phases, Recorder};
pub use suppressed::{suppressed_arrivals, Unanswered};
pub use times::{Sample, Times};
