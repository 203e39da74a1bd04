//! What measuring the transport leaves behind: nothing. Alone in its process, to see all of that's threads.

mod support;

use std::sync::Arc;

use stithy_drive::calibrate::calibrate;
use stithy_drive::wakefulness::Wakefulness;

/// The drive that was measured with is gone with its loop device, and nothing of the program holds it.
#[test]
fn the_drive_that_was_measured_with_is_gone() {
    if !support::drives_are_possible() {
        return;
    }
    let timing =
        calibrate(&Arc::new(Wakefulness::default())).expect("root, FUSE and a loop device");
    assert!(timing.transport.read.small > std::time::Duration::ZERO);
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux lists threads");
    let names = tasks
        .flatten()
        .map(|task| std::fs::read_to_string(task.path().join("comm")).unwrap_or_default());
    let serving: Vec<String> = names.filter(|name| name.starts_with("drive ")).collect();
    assert!(serving.is_empty(), "{serving:?}");
}
