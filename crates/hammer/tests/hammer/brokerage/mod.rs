//! Brokerage on each engine: what is loaded, that a run keeps every condition, that each can fail, what the ledger
//! finds of it, and that the same transactions leave the same rows everywhere.

mod mariadb;
mod same_rows;
mod sqlite;
mod sqlserver;

use std::sync::OnceLock;

use serde_json::json;

use crate::support::{self, jobs, Place};
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::workloads::brokerage::conditions::conditions;
use stithy_hammer::workloads::brokerage::statements::{OnPostgresql, Pair};
use stithy_wire::{
    CheckJob, Isolation, Job, LedgerSummary, Message, PrepareJob, RunJob, VerifyLedgerJob,
    WarmUpJob, WorkloadChoice,
};

fn choice() -> WorkloadChoice {
    // Limits are reached within the seconds of a test, and every table has its upkeep.
    let keys = json!({
        "customers": 1_000, "days": 8, "price_period_s": 2.0, "exchange_delay_s": 0.1,
        "maintenance_interval_s": 0.2,
    });
    WorkloadChoice {
        name: "brokerage".into(),
        options: keys.as_object().unwrap().clone(),
    }
}

/// The database that all tests of this file copy, loaded once; nobody is connected to it.
fn loaded() -> &'static str {
    static LOADED: OnceLock<String> = OnceLock::new();
    LOADED.get_or_init(|| {
        let url = support::shared().new_database();
        load(&url);
        url
    })
}

fn load(url: &str) {
    let Job::Prepare(job) = jobs::prepare(url, 1, 2) else {
        unreachable!("a prepare job is one");
    };
    let workload = choice();
    jobs::done_elsewhere(Job::Prepare(PrepareJob { workload, ..job }));
}

/// Numbers of the quick conditions that a check finds broken.
async fn broken(url: &str) -> Vec<u32> {
    let Job::Check(job) = jobs::check(url, 1, true, false) else {
        unreachable!("a check job is one");
    };
    let workload = choice();
    jobs::broken(&Job::Check(CheckJob { workload, ..job })).await
}

/// Damages, and for each condition how many violations these make.
type Damages = (&'static [&'static str], &'static [(u32, i64)]);

/// After a run. Of the condition that holds only until the first order it is told that some break it.
const DAMAGES: Damages = (
    &[
        "UPDATE broker SET b_num_trades = b_num_trades + 1 WHERE b_id = 3",
        "UPDATE broker SET b_comm_total = b_comm_total + 0.01 WHERE b_id = 4",
        "UPDATE holding_summary SET hs_qty = hs_qty + 100 WHERE (hs_ca_id, hs_s_symb) = \
         (SELECT hs_ca_id, hs_s_symb FROM holding_summary WHERE hs_qty > 0 LIMIT 1)",
        "INSERT INTO holding_summary SELECT 1, s_symb, 0 FROM security \
         WHERE s_symb NOT IN (SELECT hs_s_symb FROM holding_summary WHERE hs_ca_id = 1) LIMIT 1",
        "UPDATE trade SET t_trade_price = NULL WHERE t_id = 78",
        "UPDATE cash_transaction SET ct_amt = ct_amt + 1 WHERE ct_t_id = \
         (SELECT min(ct_t_id) FROM cash_transaction)",
        "UPDATE customer_account SET ca_bal = ca_bal - 0.01 WHERE ca_id = 9",
        "DELETE FROM trade_history WHERE th_t_id = 79 AND th_st_id = 'SBMT'",
        "INSERT INTO trade_request SELECT t_id, t_tt_id, t_s_symb, t_qty, t_bid_price, ca_b_id \
         FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_id = 81",
        "UPDATE holding_history SET hh_after_qty = hh_after_qty + 1 WHERE hh_t_id = hh_h_t_id \
         AND hh_t_id = (SELECT min(h_t_id) FROM holding WHERE h_t_id NOT IN \
         (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id <> hh_h_t_id))",
        "UPDATE settlement SET se_amt = se_amt + 1 WHERE se_t_id = \
         (SELECT min(t_id) FROM trade WHERE t_is_cash = 0)",
        "UPDATE commission_rate SET cr_rate = cr_rate + 0.01 WHERE cr_to_qty > 900000 AND cr_c_tier = 1",
    ],
    &[
        (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (7, 2), (8, 1), (9, 1), (10, 1), (11, 1), (12, 1),
        (13, 1), (14, -1), (15, 1), (16, 1),
    ],
);

/// After loading: other rows that break what those break, too, and what is beside companies and securities. What a
/// condition says is the same on every engine, so one engine is enough for it.
const DAMAGES_OF_LOADED: Damages = (
    &[
        "DELETE FROM settlement WHERE se_t_id = 77",
        "DELETE FROM cash_transaction WHERE ct_t_id = (SELECT min(ct_t_id) FROM cash_transaction)",
        "UPDATE trade SET t_dts = t_dts + interval '1 second' WHERE t_id = 80",
        "UPDATE holding SET h_qty = CASE WHEN h_t_id = least THEN h_qty - 1 ELSE h_qty + 1 END FROM \
         (SELECT min(h_t_id) AS least, max(h_t_id) AS most FROM holding WHERE h_qty > 1 \
          GROUP BY h_ca_id, h_s_symb HAVING count(*) > 1 LIMIT 1) AS pair WHERE h_t_id IN (least, most)",
        "UPDATE trade SET t_comm = t_comm + 1, t_chrg = t_chrg - 1 WHERE t_id = 82",
        "DELETE FROM news_xref WHERE nx_ni_id = 5",
        "UPDATE exchange SET ex_num_symb = ex_num_symb + 1 WHERE ex_id = 'ALPHEX'",
        "DELETE FROM daily_market WHERE dm_s_symb = (SELECT min(s_symb) FROM security) AND dm_date = '2000-01-03'",
    ],
    &[(2, 1), (5, 1), (6, 1), (7, 1), (8, 1), (11, 2), (14, 1), (15, 3), (16, 1)],
);

/// Violations of each condition that has some; many are -1. After a run some are 1 of the condition that holds only
/// until the first order.
async fn broken_now<P: Pair>(control: &impl Control, has_run: bool) -> Vec<(u32, i64)> {
    let mut broken = Vec::new();
    for condition in conditions(P::STATEMENTS) {
        let rows = control
            .query("counting", &condition.counting_sql(), &[])
            .await;
        let row = &rows.expect("the query is valid")[0];
        let violations = row[0].integer();
        assert_eq!(
            violations > 0,
            row[1].text().is_some(),
            "{}",
            condition.number
        );
        let told = match violations {
            0 => continue,
            _ if has_run && condition.only_after_load => 1,
            1..=1_000 => violations,
            _ => -1,
        };
        broken.push((condition.number, told));
    }
    broken
}

/// Settings of a session that looks at everything, and what the engine calls otherwise in a damage.
type Dialect<'a> = (&'a str, &'a [(&'a str, &'a str)]);

/// The conditions hold, and each that `damages` are to break fails, with its exact number of violations: before its
/// damage there were none.
async fn assert_conditions_can_fail<T: Target, P: Pair>(
    url: &str,
    (settings, words): Dialect<'_>,
    (damages, expected): Damages,
    has_run: bool,
) {
    let control = connect::<T>(url).await;
    if !settings.is_empty() {
        control.execute("setting", settings).await.unwrap();
    }
    for damage in ["BEGIN"].iter().chain(damages) {
        let own = words.iter();
        let damage = own.fold(damage.to_string(), |sql, (common, own)| {
            sql.replace(common, own)
        });
        control.execute("damaging", &damage).await.unwrap();
    }
    assert_eq!(*expected, broken_now::<P>(&control, has_run).await);
    control.execute("mending", "ROLLBACK").await.unwrap();
}

/// Everything is there with all its keys, the conditions hold, and each of the sixteen can fail; a run keeps its books.
#[tokio::test]
async fn conditions_can_fail_and_a_run_keeps_its_books() {
    let instance = support::shared();
    let url = &instance.copy_database(loaded());
    for (kind, count) in [("p", "33"), ("f", "49"), ("c", "22")] {
        let sql = format!(
            "SELECT count(*) FROM pg_constraint WHERE contype = '{kind}' \
             AND connamespace = 'public'::regnamespace"
        );
        assert_eq!(count, instance.sql_at(url, &sql), "{kind}");
    }
    assert_eq!("460800", instance.sql_at(url, "SELECT count(*) FROM trade"));
    let dialect = (
        "SET jit = off; SET work_mem = '128MB'; SET enable_nestloop = off",
        &[][..],
    );
    assert_conditions_can_fail::<postgresql::Target, OnPostgresql>(
        url,
        dialect,
        DAMAGES_OF_LOADED,
        false,
    )
    .await;
    let isolation = Isolation::ReadCommitted;
    assert_a_run_keeps_its_books::<postgresql::Target, OnPostgresql>(url, 4.0, isolation, dialect)
        .await;
    instance.drop_database(url);
}

async fn connect<T: Target>(url: &str) -> T::Control {
    T::parse(url).unwrap().connect().await.unwrap()
}

fn job(url: &str, place: &Place, duration_s: f64) -> RunJob {
    RunJob {
        workload: choice(),
        ledger: Some(place.text()),
        ..jobs::run(url, 1, 4, duration_s)
    }
}

async fn verify(url: &str, place: &Place) -> LedgerSummary {
    let Job::VerifyLedger(job) = jobs::verify_ledger(url, 1, &place.text()) else {
        unreachable!("a verify job is one");
    };
    let workload = choice();
    let messages = jobs::done(&Job::VerifyLedger(VerifyLedgerJob { workload, ..job })).await;
    match messages.last() {
        Some(Message::LedgerSummary(summary)) => summary.clone(),
        other => panic!("the last message is no ledger summary: {other:?}"),
    }
}

/// A run has every type without errors and is counted rightly; the conditions hold and each can fail, the ledger agrees,
/// and a result or an order that is gone is found. A second run cancels what the first left open; each of its statements
/// sees what is committed.
async fn assert_a_run_keeps_its_books<T: Target, P: Pair>(
    url: &str,
    duration_s: f64,
    isolation: Isolation,
    dialect: Dialect<'_>,
) {
    let Job::WarmUp(warm_up) = jobs::warm_up(url, 1, 200) else {
        unreachable!("a warm-up job is one");
    };
    let workload = choice();
    jobs::done(&Job::WarmUp(WarmUpJob {
        workload,
        ..warm_up
    }))
    .await;
    let place = Place::new("brokerage");
    let first = RunJob {
        isolation,
        ..job(url, &place, duration_s)
    };
    let (_, summary) = jobs::window(first, |_| ()).await;
    assert!(
        summary.errors.is_empty() && summary.complete,
        "{:?}",
        summary.errors
    );
    assert!(
        summary.transactions.iter().all(|kind| kind.committed > 0),
        "{summary:?}"
    );
    let proof = &summary.proof;
    assert_eq!(
        proof.after,
        proof.before.map(|before| before + proof.acknowledged)
    );
    assert_conditions_can_fail::<T, P>(url, dialect, DAMAGES, true).await;
    let ledger = verify(url, &place).await;
    assert!(ledger.holds, "{ledger:?}");
    assert_eq!(proof.acknowledged, ledger.entries["result"].acknowledged);
    let reached = summary.workload["limits_reached"].as_u64().unwrap();
    assert!(
        reached > 0 && reached == ledger.entries["feed"].acknowledged,
        "{ledger:?}"
    );
    let control = connect::<T>(url).await;
    let ask = |sql| control.query_count("asking", sql, &[]);
    for (of, harm) in [
        (
            "SELECT max(se_t_id) FROM settlement",
            "DELETE FROM settlement WHERE se_t_id = ",
        ),
        (
            "SELECT max(t_id) FROM trade",
            "UPDATE trade SET t_qty = t_qty + 1 WHERE t_id = ",
        ),
    ] {
        let harm = format!("{harm}{}", ask(of).await.unwrap());
        control.execute("damaging", &harm).await.unwrap();
    }
    let damaged = verify(url, &place).await;
    let found = ["result", "order"].map(|kind| damaged.entries[kind].differing);
    assert_eq!((false, [1, 1]), (damaged.holds, found));

    let place = Place::new("brokerage-again");
    let second = RunJob {
        seed: 6,
        ..job(url, &place, duration_s)
    };
    let (_, again) = jobs::window(second, |_| ()).await;
    assert!(again.errors.is_empty(), "{:?}", again.errors);
    let cancelled = ask("SELECT count(*) FROM trade WHERE t_st_id = 'CNCL'").await;
    assert!(cancelled.unwrap() > 0);
}
