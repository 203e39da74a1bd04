//! How requests of the kernel reach a drive and answers reach the kernel.
//!
//! [`Transport`] is the seam; [`fuse`] speaks the FUSE protocol over `/dev/fuse`, under a loop device
//! ([`LoopDevice`]). Times, contents and faults of answers are decided elsewhere.

mod block_times;
pub mod fuse;
mod kernel_support;
mod loop_device;

use std::io;
use std::os::fd::BorrowedFd;

pub use block_times::{BlockTimes, Ended};
pub use kernel_support::{kernel_support, KernelSupport};
pub use loop_device::LoopDevice;

use crate::request::Request;

/// A request with the transport's own name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// Unique among the requests under way.
    pub id: u64,
    /// What is asked.
    pub request: Request,
}

/// What [`Transport::receive`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A request; [`Transport::payload`] holds what a write brings.
    Request(Incoming),
    /// Something the transport has dealt with itself.
    Housekeeping,
    /// Nothing now.
    Nothing,
    /// The kernel has let go of the drive; nothing more will come.
    Closed,
}

/// A way for requests and answers. A seam: tests put a script here.
pub trait Transport {
    /// Becomes readable when there is something to receive.
    fn readiness(&self) -> BorrowedFd<'_>;

    /// Takes the next request without waiting.
    fn receive(&mut self) -> io::Result<Received>;

    /// What the write received last brings; valid until the next [`Transport::receive`].
    fn payload(&self) -> &[u8];

    /// Answers a request, in any order: the bytes of a read, nothing for others, or the number of an
    /// error of the system.
    fn answer(&mut self, incoming: &Incoming, outcome: Result<&[u8], i32>) -> io::Result<()>;
}
