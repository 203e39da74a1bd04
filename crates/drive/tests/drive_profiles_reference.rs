//! The reference page of drive profiles is what the declarations say.

use std::fs;
use std::path::Path;

use stithy_drive::profile::reference;

/// The page in the documentation is the one that follows from the keys and the shipped profiles.
#[test]
fn the_reference_page_is_up_to_date() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/drive-profiles.md");
    let written = fs::read_to_string(&page).unwrap_or_default();
    if written != reference() {
        let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drive-profiles.md");
        fs::write(&made, reference()).expect("the folder of the tests can be written to");
        panic!(
            "docs/reference/drive-profiles.md is not up to date; look at the difference, then\n\
             cp {} docs/reference/drive-profiles.md",
            made.display()
        );
    }
}
