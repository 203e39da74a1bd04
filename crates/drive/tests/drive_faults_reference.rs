//! The reference page of faults is what the shipped schedules say.

use std::fs;
use std::path::Path;

use stithy_drive::fault::reference;

/// The page in the documentation is the one that follows from the shipped schedules.
#[test]
fn the_reference_page_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/drive-faults.md");
    let written = fs::read_to_string(&page).unwrap_or_default();
    if written != reference() {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drive-faults.md");
        fs::write(&made, reference()).expect("the folder of the tests can be written to");
        panic!(
            "docs/reference/drive-faults.md is not up to date; look at the difference, then\n\
             cp {} docs/reference/drive-faults.md",
            made.display()
        );
    }
}
