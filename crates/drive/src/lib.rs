//! The emulated drive: a block device with the service times, caches and faults of a described one.

pub mod backing;
pub mod calibrate;
pub mod control;
pub mod counters;
pub mod device;
pub mod drive;
pub mod error;
pub mod fault;
pub mod figures;
pub mod fleet;
pub mod host;
pub mod job;
pub mod latency_log;
pub mod model;
pub mod own_time;
pub mod profile;
pub mod random;
pub mod request;
pub mod room;
pub mod serve;
pub mod spec;
pub mod thread_time;
pub mod trace;
pub mod transport;
pub mod wake;
pub mod wakefulness;
