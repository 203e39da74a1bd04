//! What holds of the tables at any time, as transactions replace rows but never lose one.

use super::loaded::Loaded;
use super::statements::{name_table, Statements};
use super::text::{length, C_GROUPS, PAD_GROUPS};
use crate::condition::ConditionQuery;

/// Each with whether a quick check verifies it, whether it holds only after loading, and a query of each
/// table, which begins with what must hold.
const CONDITIONS: [(bool, bool, &str, &str); 5] = [
    (
        true,
        false,
        "Every row that was loaded is there",
        "SELECT concat('sbtest{n}: ', present, ' of {rows} rows') FROM \
         (SELECT count(*) AS present FROM sbtest{n} WHERE id BETWEEN 1 AND {rows}) AS t{n} \
         WHERE present <> {rows}",
    ),
    (
        false,
        false,
        "No id is in a table twice",
        "SELECT concat('sbtest{n}: id ', id) FROM sbtest{n} GROUP BY id HAVING count(*) > 1",
    ),
    (
        false,
        false,
        "c and pad are groups of eleven digits",
        "SELECT concat('sbtest{n}: id ', id) FROM sbtest{n} \
         WHERE length(rtrim(c)) <> {c} OR length(replace(rtrim(c), '-', '')) <> {c_digits} \
         OR length(rtrim(pad)) <> {pad} OR length(replace(rtrim(pad), '-', '')) <> {pad_digits}",
    ),
    (
        false,
        false,
        "k is at least 1",
        "SELECT concat('sbtest{n}: id ', id, ' has k ', k) FROM sbtest{n} WHERE k < 1",
    ),
    (
        false,
        true,
        "There are no other rows, and no k is above their number",
        "SELECT concat('sbtest{n}: id ', id, ' has k ', k) FROM sbtest{n} \
         WHERE id < 1 OR id > {rows} OR k > {rows}",
    ),
];

/// All of them, in their order, over all tables of a database.
pub fn conditions(loaded: &Loaded, statements: &Statements) -> Vec<ConditionQuery> {
    let numbered = (1..).zip(CONDITIONS);
    numbered
        .map(
            |(number, (quick, only_after_load, text, sql))| ConditionQuery {
                number,
                quick,
                only_after_load,
                sql: format!(
                    "-- {text}\n{}",
                    join_tables(loaded, &statements.translate(sql))
                )
                .into(),
            },
        )
        .collect()
}

fn join_tables(loaded: &Loaded, sql: &str) -> String {
    let filled = sql
        .replace("{rows}", &loaded.rows.to_string())
        .replace("{c}", &length(C_GROUPS).to_string())
        .replace("{c_digits}", &(11 * C_GROUPS).to_string())
        .replace("{pad}", &length(PAD_GROUPS).to_string())
        .replace("{pad_digits}", &(11 * PAD_GROUPS).to_string());
    let queries: Vec<String> = (1..=loaded.tables)
        .map(|table| name_table(&filled, table))
        .collect();
    queries.join("\nUNION ALL ")
}
