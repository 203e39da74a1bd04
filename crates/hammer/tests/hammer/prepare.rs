//! Loading a real PostgreSQL: what it holds afterwards, and what loading refuses.

use crate::support::{self, jobs};
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::stop::stop_pair;
use stithy_wire::{DataShape, Job, Message, PrepareJob, PrepareSummary};

async fn load(job: &Job) -> PrepareSummary {
    match jobs::done(job).await.pop() {
        Some(Message::PrepareSummary(summary)) => summary,
        other => panic!("the last message is no prepare summary: {other:?}"),
    }
}

/// Every table has its specified number of rows, in the summary and in the database, and every
/// condition holds.
#[tokio::test]
async fn loading_gives_the_specified_rows_and_all_conditions_hold() {
    let instance = support::shared();
    let summary = instance.load(2);
    let url = instance.loaded_database_of(2);
    let expected = [
        ("customer", 60_000),
        ("district", 20),
        ("history", 60_000),
        ("item", 100_000),
        ("new_order", 18_000),
        ("orders", 60_000),
        ("stock", 200_000),
        ("warehouse", 2),
    ];
    for (table, rows) in expected {
        let told = summary
            .tables
            .iter()
            .find(|t| t.table == table)
            .map(|t| t.rows);
        assert_eq!(Some(rows), told, "{table}");
        let count = instance.sql_at(&url, &format!("SELECT count(*) FROM {table}"));
        assert_eq!(rows.to_string(), count, "{table}");
    }
    let lines = instance.sql_at(&url, "SELECT sum(o_ol_cnt) FROM orders");
    let told = summary
        .tables
        .iter()
        .find(|t| t.table == "order_line")
        .map(|t| t.rows.to_string());
    assert_eq!(Some(lines), told);
    assert_eq!(
        Vec::<u32>::new(),
        jobs::broken(&jobs::check(&url, 2, false, true)).await
    );
}

/// Keys, indexes, procedures and the planner's statistics are there; autovacuum is as the server
/// has it. Rows that a table's only loader copied are frozen at once: a later vacuum need not write them.
#[tokio::test]
async fn loading_leaves_keys_and_statistics() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let open = "SELECT sum((relallvisible < relpages)::int) FROM pg_class \
        WHERE relname IN ('stock', 'customer', 'order_line', 'orders', 'history', 'new_order')";
    assert_eq!("0", instance.sql_at(&url, open));
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'p' AND conname ~ '_pkey$'";
    assert_eq!("8", instance.sql_at(&url, keys));
    let options = "SELECT count(*) FROM pg_class WHERE reloptions::text ~ 'autovacuum'";
    assert_eq!("0", instance.sql_at(&url, options));
    let unknown = "SELECT string_agg(relname, ' ') FROM pg_class JOIN pg_namespace n \
        ON n.oid = relnamespace WHERE nspname = 'public' AND relkind = 'r' AND reltuples <= 0 \
        AND relname <> 'stithy_meta'";
    assert_eq!("", instance.sql_at(&url, unknown));
    let meta = "SELECT workload, schema_version, units, seed, \
        data_compressible_percent IS NULL, data_duplicate_percent FROM stithy_meta";
    assert_eq!("order-entry|4|1|42|t|0", instance.sql_at(&url, meta));
}

/// Text of another shape breaks no condition, is known to the database, and is measured.
#[tokio::test]
async fn the_shape_of_the_text_is_the_one_asked_for() {
    let instance = support::shared();
    let url = instance.new_database();
    let shaped = |compressible_percent| {
        let Job::Prepare(job) = jobs::prepare(&url, 1, 2) else {
            unreachable!("a prepare job is one");
        };
        let data = DataShape {
            compressible_percent: Some(compressible_percent),
            duplicate_percent: 20,
        };
        Job::Prepare(PrepareJob { data, ..job })
    };
    let refused = jobs::failed(&shaped(10)).await;
    assert_eq!(("job-invalid", 2), (refused.code, refused.exit()));
    let sample = load(&shaped(60)).await.sample;
    let share = |part: u64| 100 * part / sample.text_bytes;
    assert!(
        (30..44).contains(&share(sample.text_compressed_bytes)),
        "{sample:?}"
    );
    assert!(
        (10..25).contains(&share(sample.text_repeated_bytes)),
        "{sample:?}"
    );
    let meta = "SELECT data_compressible_percent, data_duplicate_percent FROM stithy_meta";
    assert_eq!("60|20", instance.sql_at(&url, meta));
    let same = "SELECT count(*) - count(DISTINCT s_dist_01) > 10000 FROM stock";
    assert_eq!("t", instance.sql_at(&url, same));
    let broken = jobs::broken(&jobs::check(&url, 1, false, true)).await;
    assert_eq!(Vec::<u32>::new(), broken);
    instance.drop_database(&url);
}

/// A database that holds any table of these names is not touched.
#[tokio::test]
async fn existing_tables_are_refused_and_left_alone() {
    let instance = support::shared();
    let url = instance.new_database();
    instance.sql_at(
        &url,
        "CREATE TABLE stock (mine int); INSERT INTO stock VALUES (7)",
    );
    let error = jobs::failed(&jobs::prepare(&url, 1, 2)).await;
    assert_eq!(("tables-exist", 3), (error.code, error.exit()));
    assert!(error.problem.contains("stock"), "{error}");
    assert_eq!("7", instance.sql_at(&url, "SELECT mine FROM stock"));
    assert_eq!(
        "1",
        instance.sql_at(
            &url,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        )
    );
}

/// A request to stop in the middle of loading ends it and leaves an empty database.
#[tokio::test]
async fn a_stopped_load_leaves_nothing() {
    let instance = support::shared();
    let url = instance.new_database();
    let (stopper, stop) = stop_pair();
    let ask = |message: &Message| {
        if matches!(message, Message::Progress(_)) {
            stopper.request();
        }
    };
    let (_, result) = jobs::outcome(&jobs::prepare(&url, 3, 3), stop, ask).await;
    let error = result.expect_err("the load was stopped");
    assert_eq!(("interrupted", 130), (error.code, error.exit()));
    assert_eq!(
        "0",
        instance.sql_at(
            &url,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        )
    );
}

/// A server that dies while it is loaded ends the job with an error that says so.
#[tokio::test]
async fn a_server_that_dies_ends_the_load() {
    let instance = support::Instance::start_empty(&[]);
    let url = instance.new_database();
    let mut crashed = false;
    let (_stopper, stop) = stop_pair();
    let crash = |message: &Message| {
        if matches!(message, Message::Progress(_)) && !std::mem::replace(&mut crashed, true) {
            instance.crash();
        }
    };
    let (_, result) = jobs::outcome(&jobs::prepare(&url, 3, 2), stop, crash).await;
    let error = result.expect_err("the server is gone");
    assert_eq!(
        ("connection-lost", 4),
        (error.code, error.exit()),
        "{error}"
    );
}

/// Numbers and dates of loaded rows reach the server as they were meant.
#[tokio::test]
async fn values_reach_the_server_as_meant() {
    let instance = support::shared();
    let url = instance.loaded_database();
    let control = postgresql::Target::parse(&url)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let one = |sql: &'static str| {
        let control = &control;
        async move { control.query("asking", sql, &[]).await.unwrap()[0][0].integer() == 1 }
    };
    for sql in [
        "SELECT every(w_ytd = 300000 AND w_tax BETWEEN 0 AND 0.2 AND w_zip ~ '^[0-9]{4}11111$') FROM warehouse",
        "SELECT every(d_ytd = 30000 AND d_tax BETWEEN 0 AND 0.2 AND d_next_o_id = 3001) FROM district",
        "SELECT every(c_balance = -10 AND c_ytd_payment = 10 AND c_credit_lim = 50000
            AND c_discount BETWEEN 0 AND 0.5 AND c_middle = 'OE' AND c_payment_cnt = 1
            AND c_delivery_cnt = 0 AND length(c_data) BETWEEN 300 AND 500
            AND c_since = timestamptz '2026-01-01 00:00:00+00') FROM customer",
        "SELECT min(c_discount) < 0.001 AND max(c_discount) > 0.499 FROM customer",
        "SELECT every(h_amount = 10 AND length(h_data) BETWEEN 12 AND 24) FROM history",
        "SELECT min(i_price) BETWEEN 1 AND 1.02 AND max(i_price) BETWEEN 99.98 AND 100 FROM item",
        "SELECT every(s_quantity BETWEEN 10 AND 100 AND length(s_dist_10) = 24
            AND s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0) FROM stock",
        "SELECT every(CASE WHEN ol_o_id < 2101 THEN ol_amount = 0 AND ol_delivery_d = o_entry_d
            ELSE ol_amount BETWEEN 0.01 AND 9999.99 AND ol_delivery_d IS NULL END AND ol_quantity = 5
            AND ol_supply_w_id = ol_w_id) FROM order_line
            JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id",
        "SELECT every((o_carrier_id IS NULL) = (o_id >= 2101) AND o_ol_cnt BETWEEN 5 AND 15
            AND o_all_local = 1) FROM orders",
        "SELECT count(DISTINCT (o_d_id, o_c_id)) = 30000 FROM orders",
        "SELECT count(*) = 10 * 1000 FROM (SELECT 1 FROM customer GROUP BY c_d_id, c_last) AS names",
    ] {
        assert!(one(sql).await, "{sql}");
    }
}

/// More loaders than the server takes connections: the job names the limit and leaves nothing.
#[tokio::test]
async fn too_many_loaders_are_told_and_leave_nothing() {
    let instance = support::Instance::start_empty(&["max_connections=10"]);
    let url = instance.new_database();
    let error = jobs::failed(&jobs::prepare(&url, 1, 20)).await;
    assert_eq!(
        ("too-many-connections", 3),
        (error.code, error.exit()),
        "{error}"
    );
    assert!(
        error.problem.contains("21 connections are needed"),
        "{error}"
    );
    assert!(error.remedy.contains("max_connections"), "{error}");
    assert_eq!(
        "0",
        instance.sql_at(
            &url,
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        )
    );
}
