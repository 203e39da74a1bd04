//! What every workload refuses of a database by its table `stithy_meta`, which says what was loaded.

use crate::engines::{Control, Value};
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

/// Reads the row of a workload: its version, which is checked, and what else was loaded.
///
/// Errors (precondition): `load-incomplete`, `schema-version-differs`.
pub async fn read_row<const N: usize>(
    place: &str,
    control: &impl Control,
    sql: &str,
    workload: &str,
    known: i32,
) -> Result<[Value; N], HammerError> {
    let name = [Value::Text(workload.into())];
    let rows = control.query("reading stithy_meta", sql, &name).await?;
    let mut row = rows
        .into_iter()
        .next_back()
        .ok_or_else(|| incomplete(place))?;
    if row.len() != N + 1 {
        return Err(incomplete(place));
    }
    let found = row.remove(0).integer();
    if found != i64::from(known) {
        let problem = format!("the tables have version {found}, this hammer knows {known}");
        return Err(unusable(place, "schema-version-differs", problem));
    }
    row.try_into().map_err(|_| incomplete(place))
}

/// Compares the size of a load with a job's; both as `--size` takes them, such as `tables=8,rows=1000`.
///
/// Errors (precondition): `load-incomplete`, `size-differs`.
pub fn refuse_other_size(place: &str, loaded: &Value, expected: &str) -> Result<(), HammerError> {
    let loaded = loaded.text().ok_or_else(|| incomplete(place))?;
    if loaded == expected {
        return Ok(());
    }
    let problem = format!("the size differs: {loaded} loaded, {expected} in the job");
    let all = loaded.replace('=', " to ").replace(',', " and ");
    Err(other_size(place, problem, format!("set {all}")))
}

/// Errors: `load-incomplete` (precondition).
pub fn read_seed(place: &str, seed: &Value) -> Result<u64, HammerError> {
    let seed = seed.text().and_then(|seed| seed.parse().ok());
    seed.ok_or_else(|| incomplete(place))
}

/// The row is not there, or not as the workload writes it.
fn incomplete(place: &str) -> HammerError {
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
