//! One end of a FUSE connection: receives and answers without waiting.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use super::mount::{self, Mount};
use super::protocol::{self, Asked};
use crate::error::DriveError;
use crate::request::Operation;
use crate::transport::nudge::Nudge;
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
    fn readiness(&self) -> RawFd {
        self.device.as_raw_fd()
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
