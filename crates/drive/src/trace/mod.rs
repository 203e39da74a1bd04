//! The trace of a drive: every request as one small record, written by a thread of its own.
//!
//! [`record`] is the format (docs/reference/drive-trace.md); a [`Tracer`] is the drive's end, which never
//! waits; a [`Trace`] is the other, which owns the file.

mod record;
mod tracer;
mod writer;

pub use record::{Head, Record, ERROR, LATE, UNPACED};
pub use tracer::Tracer;
pub use writer::Trace;
