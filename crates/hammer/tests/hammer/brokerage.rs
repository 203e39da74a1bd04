//! Brokerage on a real PostgreSQL: what is loaded, that each condition can fail, that a run keeps all of them, and what
//! the ledger finds of it.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use serde_json::json;

use crate::support::{self, jobs, Place};
use stithy_hammer::engines::postgresql;
use stithy_hammer::engines::{Control, Target};
use stithy_hammer::workloads::brokerage::conditions::conditions;
use stithy_hammer::workloads::brokerage::statements::{OnPostgresql, Pair};
use stithy_wire::{
    CheckJob, Job, LedgerSummary, Message, PrepareJob, RunJob, RunSummary, VerifyLedgerJob,
    WarmUpJob, WorkloadChoice,
};

fn choice() -> WorkloadChoice {
    // Limits are reached within the seconds of a test, and every table has its upkeep.
    let keys = json!({
        "customers": 1_000, "days": 12, "price_period_s": 2.0, "exchange_delay_s": 0.1,
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
        let Job::Prepare(job) = jobs::prepare(&url, 1, 2) else {
            unreachable!("a prepare job is one");
        };
        jobs::done_elsewhere(Job::Prepare(PrepareJob {
            workload: choice(),
            ..job
        }));
        url
    })
}

async fn broken(url: &str, after_load: bool) -> Vec<u32> {
    let Job::Check(job) = jobs::check(url, 1, false, after_load) else {
        unreachable!("a check job is one");
    };
    let workload = choice();
    jobs::broken(&Job::Check(CheckJob { workload, ..job })).await
}

/// A damage, and exactly those conditions that it breaks.
const DAMAGES: &[(&str, &[u32])] = &[
    ("UPDATE broker SET b_num_trades = b_num_trades + 1 WHERE b_id = 3", &[1, 16]),
    ("UPDATE broker SET b_comm_total = b_comm_total + 0.01 WHERE b_id = 3", &[2]),
    (
        "UPDATE holding_summary SET hs_qty = hs_qty + 100 WHERE (hs_ca_id, hs_s_symb) = \
         (SELECT hs_ca_id, hs_s_symb FROM holding_summary WHERE hs_qty > 0 LIMIT 1)",
        &[3, 12],
    ),
    (
        "INSERT INTO holding_summary SELECT 1, s_symb, 0 FROM security \
         WHERE s_symb NOT IN (SELECT hs_s_symb FROM holding_summary WHERE hs_ca_id = 1) LIMIT 1",
        &[4],
    ),
    ("DELETE FROM settlement WHERE se_t_id = 77", &[5, 16]),
    ("UPDATE trade SET t_trade_price = NULL WHERE t_id = 78", &[5]),
    (
        "DELETE FROM cash_transaction WHERE ct_t_id = (SELECT min(ct_t_id) FROM cash_transaction)",
        &[6, 7],
    ),
    ("UPDATE customer_account SET ca_bal = ca_bal - 0.01 WHERE ca_id = 9", &[7]),
    ("DELETE FROM trade_history WHERE th_t_id = 79 AND th_st_id = 'SBMT'", &[8]),
    ("UPDATE trade SET t_dts = t_dts + interval '1 second' WHERE t_id = 80", &[8]),
    (
        "INSERT INTO trade_request SELECT t_id, t_tt_id, t_s_symb, t_qty, t_bid_price, ca_b_id \
         FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_id = 81",
        &[9, 15],
    ),
    (
        "UPDATE holding_history SET hh_after_qty = hh_after_qty + 1 WHERE hh_t_id = hh_h_t_id \
         AND hh_t_id = (SELECT min(h_t_id) FROM holding WHERE h_t_id NOT IN \
         (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id <> hh_h_t_id))",
        &[10, 11],
    ),
    (
        "UPDATE holding SET h_qty = CASE WHEN h_t_id = least THEN h_qty - 1 ELSE h_qty + 1 END FROM \
         (SELECT min(h_t_id) AS least, max(h_t_id) AS most FROM holding WHERE h_qty > 1 \
          GROUP BY h_ca_id, h_s_symb HAVING count(*) > 1 LIMIT 1) AS pair WHERE h_t_id IN (least, most)",
        &[11],
    ),
    ("UPDATE settlement SET se_amt = se_amt + 1 WHERE se_t_id = \
      (SELECT min(t_id) FROM trade WHERE t_is_cash = 0)", &[13]),
    ("UPDATE trade SET t_comm = t_comm + 1, t_chrg = t_chrg - 1 WHERE t_id = 82", &[2, 14]),
    ("DELETE FROM news_xref WHERE nx_ni_id = 5", &[15]),
    ("UPDATE exchange SET ex_num_symb = ex_num_symb + 1 WHERE ex_id = 'ALPHEX'", &[15]),
];

async fn broken_now(control: &impl Control) -> BTreeSet<u32> {
    let mut broken = BTreeSet::new();
    for condition in conditions(OnPostgresql::STATEMENTS) {
        let rows = control
            .query("counting", &condition.counting_sql(), &[])
            .await;
        let row = &rows.expect("the query is valid")[0];
        assert_eq!(
            row[0].integer() > 0,
            row[1].text().is_some(),
            "{}",
            condition.number
        );
        if row[0].integer() > 0 {
            broken.insert(condition.number);
        }
    }
    broken
}

/// Everything is there with all its keys, the conditions hold, and each damage breaks exactly those that it should;
/// together they break all sixteen.
#[tokio::test]
async fn every_condition_of_brokerage_holds_and_can_fail() {
    let instance = support::shared();
    let url = &instance.copy_database(loaded());
    for (kind, count) in [("p", "33"), ("f", "49"), ("c", "22")] {
        let sql = format!(
            "SELECT count(*) FROM pg_constraint WHERE contype = '{kind}' AND connamespace = 'public'::regnamespace"
        );
        assert_eq!(count, instance.sql_at(url, &sql), "{kind}");
    }
    assert_eq!("691200", instance.sql_at(url, "SELECT count(*) FROM trade"));
    assert_eq!(
        "5000",
        instance.sql_at(url, "SELECT count(*) FROM customer_account")
    );
    assert_eq!(Vec::<u32>::new(), broken(url, true).await);
    let control = postgresql::Target::parse(url)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let settings = "SET jit = off; SET work_mem = '128MB'; SET enable_nestloop = off";
    control.execute("setting", settings).await.unwrap();
    for (damage, expected) in DAMAGES {
        control
            .execute("damaging", &format!("BEGIN; {damage}"))
            .await
            .unwrap();
        let expected = BTreeSet::from_iter(expected.iter().copied());
        assert_eq!(expected, broken_now(&control).await, "{damage}");
        control.execute("mending", "ROLLBACK").await.unwrap();
    }
    let covered: BTreeSet<u32> = DAMAGES
        .iter()
        .flat_map(|(_, broken)| *broken)
        .copied()
        .collect();
    assert_eq!((1..=16).collect::<BTreeSet<_>>(), covered);
}

async fn run(url: &str, place: &Place, seed: u64) -> RunSummary {
    let job = RunJob {
        workload: choice(),
        ledger: Some(place.text()),
        seed,
        ..jobs::run(url, 1, 4, 6.0)
    };
    jobs::window(job, |_| ()).await.1
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

/// A run has every type without errors and is counted rightly; the conditions hold, the ledger agrees, and a result or
/// an order that is gone is found. A second run cancels what the first left open.
#[tokio::test]
async fn a_run_of_brokerage_keeps_its_books() {
    let instance = support::shared();
    let url = instance.copy_database(loaded());
    let Job::WarmUp(job) = jobs::warm_up(&url, 1, 200) else {
        unreachable!("a warm-up job is one");
    };
    let workload = choice();
    jobs::done(&Job::WarmUp(WarmUpJob { workload, ..job })).await;
    let place = Place::new("brokerage");
    let summary = run(&url, &place, 5).await;
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
    assert_eq!(Vec::<u32>::new(), broken(&url, false).await);

    let ledger = verify(&url, &place).await;
    assert!(ledger.holds, "{ledger:?}");
    assert_eq!(proof.acknowledged, ledger.entries["result"].acknowledged);
    let reached = summary.workload["limits_reached"].as_u64().unwrap();
    assert!(
        reached > 0 && reached == ledger.entries["feed"].acknowledged,
        "{ledger:?}"
    );
    assert!(
        ledger.entries["order"].refused > 0,
        "one order in 101 is rolled back"
    );
    instance.sql_at(
        &url,
        "DELETE FROM settlement WHERE se_t_id = (SELECT max(se_t_id) FROM settlement)",
    );
    instance.sql_at(
        &url,
        "UPDATE trade SET t_qty = t_qty + 1 WHERE t_id = (SELECT max(t_id) FROM trade)",
    );
    let damaged = verify(&url, &place).await;
    let found = ["result", "order"].map(|kind| damaged.entries[kind].differing);
    assert_eq!((false, [1, 1]), (damaged.holds, found));

    let again = run(&url, &Place::new("brokerage-again"), 6).await;
    assert!(again.errors.is_empty(), "{:?}", again.errors);
    let cancelled = instance.sql_at(
        &url,
        "SELECT count(*) > 0 FROM trade WHERE t_st_id = 'CNCL'",
    );
    assert_eq!("t", cancelled);
    instance.drop_database(&url);
}
