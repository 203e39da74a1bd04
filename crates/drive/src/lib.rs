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
pub mod latency_compensation;
pub mod latency_log;
pub mod model;
pub mod output;
pub mod profile;
pub mod request;
pub mod room;
pub mod serve;
pub mod spec;
pub mod trace;
pub mod transport;
pub mod transport_latency;
pub mod wake;
pub mod wakefulness;
