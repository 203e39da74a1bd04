//! What every workload refuses of a database by its table `stithy_meta`, which says what was loaded.

use crate::engines::Control;
use crate::error::HammerError;

/// The table of one row that says what was loaded.
pub const META_TABLE: &str = "stithy_meta";

const LOAD_AGAIN: &str = "load an empty database with `stithy hammer prepare`";

/// Errors: `tables-missing` (precondition).
pub async fn refuse_missing_tables(
    place: &str,
    control: &impl Control,
    names: &[&str],
) -> Result<(), HammerError> {
    let present = control.present_tables(names).await?;
    let missing: Vec<&str> = names
        .iter()
        .filter(|name| !present.iter().any(|p| p == *name))
        .copied()
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let problem = format!("tables are missing: {}", missing.join(", "));
    Err(unusable(place, "tables-missing", problem))
}

/// Errors: `schema-version-differs` (precondition).
pub fn refuse_other_version(place: &str, found: i64, known: i32) -> Result<(), HammerError> {
    if found == i64::from(known) {
        return Ok(());
    }
    let problem = format!("the tables have version {found}, this hammer knows {known}");
    Err(unusable(place, "schema-version-differs", problem))
}

/// The row is not there, or not as the workload writes it.
pub fn incomplete(place: &str) -> HammerError {
    let problem = "the database was not loaded to the end, or with another workload";
    unusable(place, "load-incomplete", problem.into())
}

/// The database has another size than the job says; `remedy` names the right one.
pub fn other_size(place: &str, problem: String, remedy: String) -> HammerError {
    let remedy = format!("{remedy}, or {LOAD_AGAIN}");
    HammerError::precondition("size-differs", problem, place, remedy)
}

fn unusable(place: &str, code: &'static str, problem: String) -> HammerError {
    HammerError::precondition(code, problem, place, LOAD_AGAIN)
}
