//! One end of a FUSE connection: receives and answers without waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixDatagram;

use rustix::net::sockopt::set_socket_reuseaddr;

use super::mount::{self, Mount};
use super::protocol::{self, Asked};
use crate::error::DriveError;
use crate::request::Operation;
use crate::transport::{Incoming, Received, Transport};

const DEVICE: &str = "/dev/fuse";

/// Makes a file system with one file of `size_bytes` bytes. The session must be served by one thread while
/// another opens the file through the mount.
pub fn open(size_bytes: u64) -> Result<(Session, Mount), DriveError> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(DEVICE)
        .map_err(|e| unavailable("cannot be opened", e))?;
    let mount = mount::attach(&device).map_err(|e| unavailable("cannot be mounted", e))?;
    let session = Session {
        device,
        size_bytes,
        buffer: vec![0; protocol::BUFFER_BYTES].into_boxed_slice(),
        received_bytes: 0,
        under_way: 0,
        nudge: Nudge::new(),
    };
    Ok((session, mount))
}

fn unavailable(problem: &str, cause: io::Error) -> DriveError {
    let remedy = "run as root on a kernel with FUSE (modprobe fuse)";
    DriveError::precondition("no-fuse", format!("{problem}: {cause}"), DEVICE, remedy)
        .caused_by(cause)
}

/// The drive's end of a connection.
pub struct Session {
    device: File,
    size_bytes: u64,
    buffer: Box<[u8]>,
    received_bytes: usize,
    under_way: u32,
    nudge: Nudge,
}

impl Session {
    fn understand(&mut self, length: usize) -> io::Result<Received> {
        self.received_bytes = length;
        match protocol::read(&self.buffer[..length], self.size_bytes) {
            Asked::Drive(incoming) => {
                self.under_way += 1;
                Ok(Received::Request(incoming))
            }
            Asked::Silence => Ok(Received::Housekeeping),
            Asked::Housekeeping(answer) => {
                self.send(&[IoSlice::new(&answer)])?;
                Ok(Received::Housekeeping)
            }
        }
    }

    fn send(&mut self, parts: &[IoSlice<'_>]) -> io::Result<()> {
        match self.device.write_vectored(parts) {
            Ok(_) => Ok(()),
            // Whoever asked was interrupted, or the connection is gone: nobody waits for the answer.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOENT | libc::ENODEV)) => Ok(()),
            Err(e) => Err(e),
        }
    }
}

impl Transport for Session {
    fn readiness(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    fn receive(&mut self) -> io::Result<Received> {
        match self.device.read(&mut self.buffer) {
            Ok(length) => self.understand(length),
            Err(e) => match e.raw_os_error() {
                Some(libc::EAGAIN) => {
                    self.nudge.give();
                    Ok(Received::Nothing)
                }
                // The request was taken back between waking and reading.
                Some(libc::ENOENT | libc::EINTR) => Ok(Received::Housekeeping),
                Some(libc::ENODEV | libc::ECONNABORTED) => Ok(Received::Closed),
                _ => Err(e),
            },
        }
    }

    fn payload(&self) -> &[u8] {
        protocol::payload(&self.buffer[..self.received_bytes])
    }

    fn answer(&mut self, incoming: &Incoming, outcome: Result<&[u8], i32>) -> io::Result<()> {
        let written = protocol::written(incoming.request.length_bytes);
        let (error, body) = match outcome {
            Err(error) => (error, &[][..]),
            Ok(_) if incoming.request.operation == Operation::Write => (0, &written[..]),
            Ok(data) => (0, data),
        };
        let header = protocol::out_header(incoming.id, error, body.len());
        match body {
            [] => self.send(&[IoSlice::new(&header)])?,
            _ => self.send(&[IoSlice::new(&header), IoSlice::new(body)])?,
        }
        self.nudge.want(self.under_way);
        self.under_way = self.under_way.saturating_sub(1);
        Ok(())
    }
}

/// Answers that follow each other at once are handed on together, so many at most, and one for so many requests
/// under way: to hand on costs the answers behind it 2 µs, to be held back costs the first the time of
/// all that follow.
const MOST_HELD_BACK: u32 = 8;
const REQUESTS_AN_ANSWER: u32 = 8;

/// Having the kernel hand on at once what was answered.
///
/// A loop device finishes requests in the block layer's soft interrupt. Raised by a thread, this is left to
/// ksoftirqd, which waits while a thread that is served before all others runs, as a drive's does. But every
/// system call that ends a section without soft interrupts runs those that wait, in the thread that made
/// it. To set an option of a socket is the cheapest of them: 0.12 µs.
/// Source: block/blk-mq.c, blk_mq_raise_softirq; kernel/softirq.c, __local_bh_enable_ip.
///
/// The socket is good for nothing else.
struct Nudge {
    socket: Option<UnixDatagram>,
    /// Answers that were not handed on.
    answers: u32,
}

impl Nudge {
    /// Without a socket nothing is nudged, and answers arrive a little later.
    fn new() -> Self {
        Nudge {
            socket: UnixDatagram::unbound().ok(),
            answers: 0,
        }
    }

    /// Something was answered with so many requests under way: it is handed on with others, as long as others
    /// follow at once.
    fn want(&mut self, under_way: u32) {
        self.answers = self.answers.saturating_add(1);
        if self.answers >= (under_way / REQUESTS_AN_ANSWER).clamp(1, MOST_HELD_BACK) {
            self.give();
        }
    }

    /// Has the kernel hand on what was answered since the last call.
    fn give(&mut self) {
        let Some(socket) = self.socket.as_ref().filter(|_| self.answers > 0) else {
            return;
        };
        self.answers = 0;
        // What the option means is of no interest, nor whether it was set.
        let _ = set_socket_reuseaddr(socket, true);
    }
}
