//! The control socket: one request a line, one answer a line.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::Arc;

use stithy_wire::{ControlAnswer, ControlRequest};

use crate::error::DriveError;
use crate::fleet::Fleet;

/// Why the program is to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A signal said so.
    Signal,
    /// A request said so.
    Down,
}

/// The socket; its file goes with it.
pub struct Control {
    path: PathBuf,
}

impl Drop for Control {
    fn drop(&mut self) {
        // A file that somebody has removed already is as gone.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Control {
    /// Makes the socket and answers on threads of its own, until the process ends.
    ///
    /// The socket is made under another name and moved when only its owner may use it.
    pub fn open(
        path: &Path,
        fleet: Arc<Fleet>,
        ending: Sender<Ending>,
    ) -> Result<Self, DriveError> {
        remove_abandoned(path);
        if path.exists() {
            let remedy = "end the program that uses it, or remove the file";
            let place = path.display().to_string();
            return Err(DriveError::precondition(
                "control-exists",
                "it is there already",
                place,
                remedy,
            ));
        }
        let listener = listen(path).map_err(|e| {
            let remedy = "give a path of at most 100 bytes in a folder that may be written";
            let place = path.display().to_string();
            let problem = format!("the socket cannot be made: {e}");
            DriveError::precondition("no-control", problem, place, remedy).caused_by(e)
        })?;
        let control = Control {
            path: path.to_path_buf(),
        };
        std::thread::spawn(move || accept(&listener, &fleet, &ending));
        Ok(control)
    }
}

/// Removes a socket that nobody serves any more: a killed program leaves it behind.
fn remove_abandoned(path: &Path) {
    let refused =
        UnixStream::connect(path).is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused);
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|told| told.file_type().is_socket());
    if refused && is_socket {
        // Where it cannot be removed the next step tells so.
        let _ = std::fs::remove_file(path);
    }
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let mut hidden = path.as_os_str().to_owned();
    hidden.push(".new");
    let listener = UnixListener::bind(&hidden)?;
    std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&hidden, path)?;
    Ok(listener)
}

fn accept(listener: &UnixListener, fleet: &Arc<Fleet>, ending: &Sender<Ending>) {
    for stream in listener.incoming().flatten() {
        let (fleet, ending) = (Arc::clone(fleet), ending.clone());
        // A connection that breaks concerns nobody else.
        std::thread::spawn(move || converse(&stream, &fleet, &ending));
    }
}

fn converse(mut stream: &UnixStream, fleet: &Fleet, ending: &Sender<Ending>) -> io::Result<()> {
    for line in BufReader::new(stream).lines() {
        let (answer, ends) = answer(&line?, fleet);
        let mut text = serde_json::to_string(&answer)?;
        text.push('\n');
        stream.write_all(text.as_bytes())?;
        if ends {
            // The program may be ending already.
            let _ = ending.send(Ending::Down);
        }
    }
    Ok(())
}

/// The answer to one line, and whether the program is to end after it.
fn answer(line: &str, fleet: &Fleet) -> (ControlAnswer, bool) {
    let request: ControlRequest = match serde_json::from_str(line) {
        Ok(request) => request,
        Err(e) => {
            let remedy = "give one request as wire/README.md tells it";
            let error = DriveError::usage("request-invalid", e.to_string(), "request", remedy);
            return (failure(&error), false);
        }
    };
    let ends = matches!(request, ControlRequest::Down { drive: None });
    match fleet.obey(request) {
        Ok(answer) => (answer, ends),
        Err(error) => (failure(&error), false),
    }
}

fn failure(error: &DriveError) -> ControlAnswer {
    ControlAnswer::Failure(error.to_failure())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wakefulness::Wakefulness;

    /// A socket that a killed program left is replaced; one that is served, and any other file, is not.
    #[test]
    fn only_an_abandoned_socket_is_replaced() {
        let path = std::env::temp_dir().join(format!("stithy-left-{}", std::process::id()));
        let open = || {
            let fleet = Arc::new(Fleet::new(Box::new(|_| ()), Wakefulness::default()));
            Control::open(&path, fleet, std::sync::mpsc::channel().0)
        };
        drop(UnixListener::bind(&path).expect("a socket"));
        let control = open().expect("the one before is abandoned");
        assert_eq!(Some("control-exists"), open().err().map(|error| error.code));
        drop(control);
        std::fs::write(&path, "a person's").expect("a file");
        assert_eq!(Some("control-exists"), open().err().map(|error| error.code));
        std::fs::remove_file(&path).expect("it is still there");
    }
}
