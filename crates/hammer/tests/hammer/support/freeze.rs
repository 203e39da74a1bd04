//! Lets a server stand still, as one does whose storage answers nothing.

use std::fs;
use std::path::Path;
use std::process::Command;

/// While this lives, no process of the server but the first does anything.
pub struct Frozen(Vec<String>);

/// Stops the processes of the server whose data lies in `directory/data`.
pub fn freeze(directory: &Path) -> Frozen {
    let file = fs::read_to_string(directory.join("data/postmaster.pid"));
    let file = file.expect("the server runs");
    let first = file
        .lines()
        .next()
        .expect("the file begins with the process id");
    let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"));
    let children = children.expect("the server has processes");
    let frozen = Frozen(children.split_whitespace().map(str::to_owned).collect());
    frozen.signal("-STOP");
    frozen
}

impl Frozen {
    fn signal(&self, name: &str) {
        let sent = Command::new("kill").arg(name).args(&self.0).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "the server's processes are there"
        );
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}
