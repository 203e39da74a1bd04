//! A workload that counts: one transaction, which adds a step to one of the counters that are touched.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use stithy_hammer::condition::ConditionQuery;
use stithy_hammer::connections::Statements;
use stithy_hammer::engines::{
    self, Access, Batch, Control, Params, Session, SessionError, Statement,
};
use stithy_hammer::error::HammerError;
use stithy_hammer::ledger::write::Ledger;
use stithy_hammer::ledger::{Kept, Stage};
use stithy_hammer::loading::{Load, Rows, TableLoad};
use stithy_hammer::pace::Waits;
use stithy_hammer::transaction_script::TransactionScript;
use stithy_hammer::workloads::{self, Account, Base, Deferrable, Reads, Run, Workload};
use stithy_measure::{Outcome, Rng};
use stithy_wire::{PrepareJob, RunJob, WarmUpJob, WorkloadChoice};

/// The workload.
pub struct Counter;

/// What a job says to it, all of it: `tests/fakes/plugins/workloads/counter.py` writes these keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Number of counters.
    pub counters: u32,
    /// Only the first so many are incremented.
    pub touched: u32,
    /// What an increment adds.
    pub step: u32,
}

impl Workload for Counter {
    const NAME: &'static str = "counter";
    const TYPES: &'static [&'static str] = &["increment"];

    type Facts = u32;
    type Options = Options;
    type Load = CounterLoad;
    type Run = CounterRun;
    type Reads = CounterReads;
    type Kept = Increment;

    async fn facts(_: &str, _: &impl Control, options: &Options) -> Result<u32, HammerError> {
        Ok(options.counters)
    }

    fn loaded(counters: &u32) -> Map<String, Value> {
        Map::from_iter([("counters".into(), (*counters).into())])
    }

    fn load(_: &PrepareJob, options: &Options) -> Result<CounterLoad, HammerError> {
        let counters = options.counters;
        Ok(CounterLoad { counters })
    }

    fn options(choice: &WorkloadChoice) -> Result<Options, HammerError> {
        workloads::options(choice)
    }

    fn refuse_misfit(options: &Options, _: u32) -> Result<(), HammerError> {
        if (1..=options.counters).contains(&options.touched) && options.step > 0 {
            return Ok(());
        }
        let problem = format!("{options:?} increments nothing");
        let remedy = "touch from 1 to all counters, with a step above 0";
        Err(HammerError::usage(
            "job-invalid",
            problem,
            "workload",
            remedy,
        ))
    }

    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<CounterRun, HammerError> {
        Ok(CounterRun::new(job.seed, base, ledger))
    }

    fn reads(job: &WarmUpJob, base: &Base<Self>) -> CounterReads {
        CounterReads(CounterRun::new(job.seed, base, None))
    }

    fn conditions(_: &u32) -> Vec<ConditionQuery> {
        vec![ConditionQuery {
            number: 1,
            quick: true,
            only_after_load: false,
            sql: "-- No counter is below zero.\nbelow zero".into(),
        }]
    }

    fn kept_rows(_: usize) -> &'static str {
        "increments"
    }
}

/// Counters at zero in one table, three a slice.
pub struct CounterLoad {
    counters: u32,
}

const SLICE: u32 = 3;

impl Load for CounterLoad {
    fn mark(&self) -> (&'static str, &'static str) {
        ("loaded", "create loaded")
    }

    fn tables(&self) -> Vec<TableLoad> {
        vec![TableLoad {
            name: "counters".into(),
            create: "create counters".into(),
            indexes: vec!["index counters".into()],
            keys: vec!["key counters".into()],
            slices: self.counters.div_ceil(SLICE).into(),
            sampled: 1,
            cost: 1,
        }]
    }

    fn write_slice(&self, _: usize, slice: u64, rows: &mut Rows) {
        let first = slice as u32 * SLICE;
        for number in first..self.counters.min(first + SLICE) {
            rows.begin(1);
            rows.int4(number);
        }
    }

    async fn finish(&self, control: &impl Control) -> Result<(), HammerError> {
        control.execute("finishing", "loaded").await
    }

    fn told(&self) -> Map<String, Value> {
        Map::from_iter([("counters".into(), self.counters.into())])
    }
}

/// An increment, by its number over all of a run's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Increment {
    number: i64,
    counter: u32,
}

impl Kept for Increment {
    const KINDS: &'static [&'static str] = &["increment"];
    const BYTES: usize = 4;

    fn kind(&self) -> usize {
        0
    }

    fn key(&self) -> i64 {
        self.number
    }

    fn words(&self) -> String {
        format!("increment {} of counter {}", self.number, self.counter)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.counter.to_le_bytes());
    }

    fn read(_: usize, number: i64, rest: &[u8]) -> Option<Self> {
        let counter = u32::from_le_bytes(rest.try_into().ok()?);
        Some(Increment { number, counter })
    }

    fn of_row(_: usize, number: i64, columns: &[engines::Value]) -> Self {
        let counter = columns[0].integer() as u32;
        Increment { number, counter }
    }
}

#[derive(Default)]
struct Books {
    begun: AtomicI64,
    acknowledged: AtomicU64,
    in_doubt: AtomicU64,
}

/// A run.
pub struct CounterRun {
    seed: u64,
    options: Options,
    books: Arc<Books>,
    ledger: Option<Arc<Ledger>>,
}

impl CounterRun {
    fn new(seed: u64, base: &Base<Counter>, ledger: Option<Arc<Ledger>>) -> Self {
        CounterRun {
            seed,
            options: base.options,
            books: Arc::default(),
            ledger,
        }
    }

    fn user(&self, number: u32, statement: Statement) -> User {
        User {
            rng: Rng::of(self.seed, 1_u64, number.into(), 0),
            options: self.options,
            next: Increment {
                number: 0,
                counter: 0,
            },
            statement,
            books: self.books.clone(),
            ledger: self.ledger.clone(),
        }
    }
}

impl Run for CounterRun {
    type Statements = Text;
    type Script = User;

    fn statements(&self) -> Text {
        Text("increment")
    }

    fn script(&self, user: u32, statement: &Statement) -> User {
        self.user(user, *statement)
    }

    fn waits(&self) -> Waits {
        Waits {
            weights: vec![1],
            keying_s: vec![0.0],
            think_mean_s: vec![0.0],
        }
    }

    fn deferrable(&self) -> Option<Deferrable> {
        None
    }

    async fn count(&self, control: &impl Control) -> Result<u64, HammerError> {
        let rows = control.query("counting", "sum", &[]).await?;
        Ok(rows[0][0].integer().unsigned_abs() / u64::from(self.options.step))
    }

    fn account(&self) -> Account {
        Account {
            acknowledged: self.books.acknowledged.load(Ordering::Relaxed),
            in_doubt: self.books.in_doubt.load(Ordering::Relaxed),
        }
    }

    /// The engine in memory always counts before it loses a connection.
    async fn found(&self, _: &impl Control) -> Result<u64, HammerError> {
        Ok(self.account().in_doubt)
    }

    fn told(&self) -> Map<String, Value> {
        Map::from_iter([
            ("units_touched".into(), self.options.touched.into()),
            ("units_total".into(), self.options.counters.into()),
        ])
    }
}

/// One statement.
#[derive(Clone)]
pub struct Text(&'static str);

impl Statements for Text {
    type Prepared = Statement;

    async fn prepare<C: Session>(&self, session: &mut C) -> Result<Statement, SessionError> {
        Ok(session.prepare(&[self.0]).await?[0])
    }
}

/// A user.
#[derive(Clone)]
pub struct User {
    rng: Rng,
    options: Options,
    next: Increment,
    statement: Statement,
    books: Arc<Books>,
    ledger: Option<Arc<Ledger>>,
}

impl User {
    fn note(&self, stage: Stage) {
        if let Some(ledger) = &self.ledger {
            ledger.note(stage, self.next);
        }
    }
}

impl TransactionScript for User {
    fn draw(&mut self) -> usize {
        self.next = Increment {
            number: self.books.begun.fetch_add(1, Ordering::Relaxed),
            counter: self.rng.uniform(0, self.options.touched - 1),
        };
        0
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        let Increment { number, counter } = self.next;
        let step = self.options.step;
        self.note(Stage::Sent);
        session.start(Batch::Whole(Access::Write));
        session.queue(self.statement, |params| {
            params.int4(counter as i32);
            params.timestamp(number);
            params.int4(step as i32);
        });
        let result = session.exchange().await.map(|_| Outcome::Committed);
        let outcome = Stage::of(&result);
        outcome.into_iter().for_each(|stage| self.note(stage));
        let counted = match outcome {
            Some(Stage::Acknowledged) => &self.books.acknowledged,
            None => &self.books.in_doubt,
            _ => return result,
        };
        counted.fetch_add(1, Ordering::Relaxed);
        result
    }
}

/// A read-only pass.
pub struct CounterReads(CounterRun);

impl Reads for CounterReads {
    type Script = User;

    async fn script<C: Session>(&self, number: u32, session: &mut C) -> Result<User, SessionError> {
        let statement = session.prepare(&["read"]).await?[0];
        Ok(self.0.user(number, statement))
    }
}
