//! The same on a server that speaks SQL Server's protocol, where the environment names one.

use stithy_hammer::engines::sqlserver::Target;
use stithy_hammer::engines::Control;
use stithy_hammer::workloads::brokerage::statements::OnSqlServer;
use stithy_wire::Isolation;

use super::{assert_a_run_keeps_its_books, connect, load};
use crate::support::sqlserver::SqlServer;

/// A database of its own with everything loaded; None where there is no server.
pub(super) async fn loaded(purpose: &str) -> Option<SqlServer> {
    let database = SqlServer::new_database(purpose).await?;
    load(&database.url());
    Some(database)
}

/// What a damage says otherwise: its begin, the first row, and a row by two columns.
const WORDS: &[(&str, &str)] = &[
    ("BEGIN", "BEGIN TRANSACTION"),
    (
        "WHERE (hs_ca_id, hs_s_symb) = (SELECT hs_ca_id, hs_s_symb FROM holding_summary WHERE hs_qty > 0 LIMIT 1)",
        "WHERE hs_ca_id = (SELECT min(hs_ca_id) FROM holding_summary WHERE hs_qty > 0) AND hs_s_symb = \
         (SELECT min(hs_s_symb) FROM holding_summary AS other WHERE hs_qty > 0 AND other.hs_ca_id = \
         (SELECT min(hs_ca_id) FROM holding_summary WHERE hs_qty > 0))",
    ),
    ("SELECT 1, s_symb", "SELECT TOP (1) 1, s_symb"),
    (" LIMIT 1", ""),
];

/// Everything is there with all its keys, which are enforced; the conditions hold, and each of the sixteen can fail; a
/// run keeps its books.
#[tokio::test]
async fn every_condition_holds_and_can_fail_on_sqlserver() {
    let Some(database) = loaded("brokerage").await else {
        return;
    };
    let url = database.url();
    let control = connect::<Target>(&url).await;
    for (kind, count) in [("PK", 34), ("F", 49), ("C", 22)] {
        let sql =
            format!("SELECT COUNT(*) FROM sys.objects WHERE type = '{kind}' AND is_ms_shipped = 0");
        let found = control.query_count("counting", &sql, &[]).await;
        assert_eq!(count, found.unwrap(), "{kind}");
    }
    for harm in [
        "INSERT INTO watch_list VALUES (2000, 2000)",
        "DELETE FROM holding_summary WHERE hs_ca_id = (SELECT max(h_ca_id) FROM holding)",
        "UPDATE trade SET t_qty = 0 WHERE t_id = 5",
    ] {
        let refused = control.execute("damaging", harm).await.unwrap_err();
        assert!(refused.problem.contains("constraint"), "{refused:?}");
    }
    drop(control);
    // Babelfish takes seconds to prepare the statements of a session.
    let (isolation, dialect) = (Isolation::ReadCommitted, ("", WORDS));
    assert_a_run_keeps_its_books::<Target, OnSqlServer>(&url, 30.0, isolation, dialect).await;
    database.drop().await;
}
