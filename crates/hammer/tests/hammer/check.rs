//! Verifying the consistency conditions on a real PostgreSQL: each can fail, and says where.

use std::collections::BTreeSet;

use crate::support::{self, jobs};
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::workloads::order_entry::{OnPostgresql, OrderEntry};
use stithy_hammer::workloads::Workload;
use stithy_wire::Message;

/// A damage, and exactly those conditions that it breaks.
const DAMAGES: &[(&str, &[u32])] = &[
    ("UPDATE warehouse SET w_ytd = w_ytd + 1", &[1, 8]),
    ("DELETE FROM district WHERE d_id = 3", &[1, 9]),
    (
        "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 4",
        &[2],
    ),
    (
        "DELETE FROM orders WHERE o_d_id = 1 AND o_id = 3000",
        &[2, 4, 5, 6, 11],
    ),
    (
        "DELETE FROM new_order WHERE no_d_id = 2 AND no_o_id = 2500",
        &[3, 5, 11],
    ),
    (
        "DELETE FROM order_line WHERE ol_d_id = 5 AND ol_o_id = 7 AND ol_number = 1",
        &[4, 6],
    ),
    ("INSERT INTO new_order VALUES (1, 2100, 1)", &[5, 11]),
    (
        "UPDATE orders SET o_carrier_id = NULL WHERE o_d_id = 6 AND o_id = 9",
        &[5, 7],
    ),
    (
        "UPDATE orders SET o_ol_cnt = o_ol_cnt + CASE WHEN o_id = 1 THEN 1 ELSE -1 END \
         WHERE o_d_id = 7 AND o_id < 3",
        &[6],
    ),
    (
        "UPDATE order_line SET ol_delivery_d = NULL \
         WHERE ol_d_id = 8 AND ol_o_id = 11 AND ol_number = 1",
        &[7],
    ),
    (
        "UPDATE history SET h_amount = 11 WHERE h_d_id = 9 AND h_c_id = 5",
        &[8, 9, 10],
    ),
    (
        "UPDATE history SET h_d_id = 2 WHERE h_d_id = 1 AND h_c_id = 5",
        &[9],
    ),
    (
        "UPDATE customer SET c_balance = 0 WHERE c_d_id = 10 AND c_id = 1",
        &[10, 12],
    ),
    (
        "UPDATE customer SET c_balance = -9, c_ytd_payment = 9 WHERE c_d_id = 10 AND c_id = 1",
        &[10],
    ),
    (
        "UPDATE customer SET c_ytd_payment = 11 WHERE c_d_id = 10 AND c_id = 1",
        &[12],
    ),
    (
        "DELETE FROM new_order WHERE no_d_id = 1 AND no_o_id = 2101; \
         UPDATE orders SET o_carrier_id = 1 WHERE o_d_id = 1 AND o_id = 2101; \
         UPDATE order_line SET ol_delivery_d = now() WHERE ol_d_id = 1 AND ol_o_id = 2101; \
         UPDATE customer SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line \
             WHERE ol_d_id = 1 AND ol_o_id = 2101) \
         WHERE c_d_id = 1 AND c_id = (SELECT o_c_id FROM orders WHERE o_d_id = 1 AND o_id = 2101)",
        &[11],
    ),
];

async fn broken_now(control: &impl Control) -> BTreeSet<u32> {
    let mut broken = BTreeSet::new();
    for condition in OrderEntry::<OnPostgresql>::conditions(&support::LOADED) {
        let query = condition.counting_sql();
        let rows = control.query("counting", &query, &[]).await;
        let row = &rows.expect("the query is valid")[0];
        let (violations, example) = (row[0].integer(), row[1].text());
        assert_eq!(
            violations > 0,
            example.is_some(),
            "condition {}",
            condition.number
        );
        if violations > 0 {
            broken.insert(condition.number);
        }
    }
    broken
}

/// Each damage breaks exactly the conditions it should; together they break all twelve.
#[tokio::test]
async fn every_condition_can_fail() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let control = postgresql::Target::parse(&url)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let settings = "SET jit = off; SET work_mem = '64MB'; SET enable_nestloop = off";
    control.execute("setting", settings).await.unwrap();
    for (damage, expected) in DAMAGES {
        let damage = format!("BEGIN; {damage}");
        control.execute("damaging", &damage).await.unwrap();
        assert_eq!(
            BTreeSet::from_iter(expected.iter().copied()),
            broken_now(&control).await,
            "{damage}"
        );
        control.execute("mending", "ROLLBACK").await.unwrap();
    }
    assert_eq!(BTreeSet::new(), broken_now(&control).await);
    let covered: BTreeSet<u32> = DAMAGES
        .iter()
        .flat_map(|(_, broken)| *broken)
        .copied()
        .collect();
    assert_eq!((1..=12).collect::<BTreeSet<_>>(), covered);
}

/// The job tells every condition, with the number of violations and an example in words.
#[tokio::test]
async fn the_job_tells_where_a_condition_is_broken() {
    let instance = support::shared();
    let url = instance.loaded_database();
    instance.sql_at(&url, "UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id > 5");
    let messages = jobs::done(&jobs::check(&url, 1, false, false)).await;
    let told: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            Message::Condition(c) => Some((c.number, c.holds, c.violations)),
            _ => None,
        })
        .collect();
    assert_eq!(11, told.len());
    let broken: Vec<_> = told.iter().filter(|(_, holds, _)| !holds).collect();
    assert_eq!(vec![&(1, false, 1), &(9, false, 5)], broken);
    let example = messages.iter().find_map(|message| match message {
        Message::Condition(c) if c.number == 1 => c.example.clone(),
        _ => None,
    });
    let expected = "warehouse 1: W_YTD 300000.00, sum of D_YTD 300005.00";
    assert_eq!(Some(expected), example.as_deref());
    let quick = jobs::broken(&jobs::check(&url, 1, true, false)).await;
    assert_eq!(vec![1], quick);
}

/// What cannot be checked is a precondition that names its remedy.
#[tokio::test]
async fn a_database_that_was_not_loaded_so_is_refused() {
    let instance = support::shared();
    let url = instance.new_database();
    let code = |error: stithy_hammer::error::HammerError| {
        assert_eq!(3, error.exit(), "{error}");
        error.code
    };
    assert_eq!(
        "tables-missing",
        code(jobs::failed(&jobs::check(&url, 1, true, false)).await)
    );
    let url = instance.loaded_database();
    let differs = jobs::failed(&jobs::check(&url, 2, true, false)).await;
    assert!(
        differs.problem.contains("1 loaded, 2 in the job"),
        "{differs}"
    );
    assert_eq!("size-differs", code(differs));
    instance.sql_at(&url, "UPDATE stithy_meta SET schema_version = 99");
    let other = jobs::failed(&jobs::check(&url, 1, true, false)).await;
    assert_eq!("schema-version-differs", code(other));
    instance.sql_at(&url, "DELETE FROM stithy_meta");
    let incomplete = jobs::failed(&jobs::check(&url, 1, true, false)).await;
    assert_eq!("load-incomplete", code(incomplete));
    instance.sql_at(&url, "DROP TABLE history");
    let missing = jobs::failed(&jobs::check(&url, 1, true, false)).await;
    assert_eq!("tables are missing: history", missing.problem);
}
