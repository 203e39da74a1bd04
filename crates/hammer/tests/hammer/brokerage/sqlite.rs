//! The same on SQLite, in a file.

use std::sync::OnceLock;

use stithy_hammer::engines::sqlite::Target;
use stithy_hammer::engines::Control;
use stithy_hammer::workloads::brokerage::statements::OnSqlite;
use stithy_wire::Isolation;

use super::{assert_a_run_keeps_its_books, connect, load};
use crate::sqlite::{Folder, Kept};

/// A copy of a file that is loaded once.
pub(super) fn copy() -> Folder {
    static LOADED: OnceLock<Kept> = OnceLock::new();
    let kept = LOADED.get_or_init(|| {
        let folder = Folder::new();
        load(&folder.url(""));
        Kept::of(&folder)
    });
    kept.copy()
}

/// Everything is there with all its keys, which are enforced; the conditions hold, and each of the sixteen can fail; a
/// run keeps its books.
#[tokio::test]
async fn conditions_can_fail_and_a_run_keeps_its_books_on_sqlite() {
    let folder = copy();
    let url = folder.url("");
    let control = connect::<Target>(&url).await;
    let tables =
        "FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('stithy_meta', 'sqlite_stat1')";
    for (count, what) in [
        (33, "sum(sql LIKE '%PRIMARY KEY%STRICT, WITHOUT ROWID')"),
        (
            49,
            "sum((SELECT count(DISTINCT id) FROM pragma_foreign_key_list(name)))",
        ),
        (
            22,
            "sum((length(sql) - length(replace(sql, 'CHECK', ''))) / 5)",
        ),
    ] {
        let sql = format!("SELECT {what} {tables}");
        let found = control.query_count("counting", &sql, &[]);
        assert_eq!(count, found.await.unwrap(), "{what}");
    }
    for (harm, because) in [
        ("INSERT INTO watch_list VALUES (2000, 2000)", "FOREIGN KEY"),
        (
            "DELETE FROM holding_summary WHERE hs_ca_id = (SELECT max(h_ca_id) FROM holding)",
            "FOREIGN KEY",
        ),
        ("UPDATE trade SET t_qty = 0 WHERE t_id = 5", "CHECK"),
        (
            "UPDATE trade SET t_qty = 'many' WHERE t_id = 5",
            "cannot store TEXT",
        ),
    ] {
        let refused = control.execute("damaging", harm).await.unwrap_err();
        assert!(refused.problem.contains(because), "{refused:?}");
    }
    drop(control);
    let settings = "PRAGMA cache_size = -400000; PRAGMA temp_store = memory";
    // Amounts are in hundredths.
    let (isolation, dialect) = (Isolation::ReadCommitted, (settings, &[("0.01", "1")][..]));
    assert_a_run_keeps_its_books::<Target, OnSqlite>(&url, 4.0, isolation, dialect).await;
}
