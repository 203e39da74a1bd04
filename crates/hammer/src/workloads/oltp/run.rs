//! A run: what its users share, and, where it keeps a ledger, the proof by the marks of its transactions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{json, Map, Value};
use stithy_measure::locked;
use stithy_wire::RunJob;

use super::options::{Mix, Options};
use super::statements::{Statements, MARK};
use super::transaction::Shape;
use super::user::User;
use crate::connections;
use crate::engines::{self, Control, Session, SessionError, Statement};
use crate::error::HammerError;
use crate::ledger::unique_dates::UniqueDates;
use crate::ledger::write::Ledger;
use crate::pace::Waits;
use crate::workloads::{Account, Deferrable, Run};

/// Ten years, within which every run ends; microseconds.
const LONG_US: i64 = 315_360_000_000_000;

/// What all users of a run share.
pub struct Shared {
    /// Its transactions.
    pub shape: Shape,
    /// The engine's code of the error that a key is there already.
    pub duplicate_key: &'static str,
    /// Where marks are kept; None: transactions leave no marks.
    pub ledger: Option<Arc<Ledger>>,
    /// The dates of marks.
    pub dates: UniqueDates,
    /// Marks that were acknowledged.
    pub acknowledged: AtomicU64,
    /// Dates of marks that were sent and are not answered.
    pub open: Mutex<BTreeSet<i64>>,
}

/// A run.
pub struct OltpRun {
    statements: &'static Statements,
    seed: u64,
    options: Options,
    begun_us: i64,
    shared: Arc<Shared>,
}

impl OltpRun {
    /// A run that has not begun. Errors: `job-invalid` (usage) for transactions without statements, and for a
    /// ledger of what leaves no mark.
    pub fn new(
        job: &RunJob,
        options: &Options,
        ledger: Option<Arc<Ledger>>,
        statements: &'static Statements,
    ) -> Result<Self, HammerError> {
        let mut shape = Shape::new(options);
        refuse_unfit(&shape, options, ledger.is_some())?;
        // A transaction and its mark are there together, or neither.
        shape.is_block |= ledger.is_some();
        let dates = UniqueDates::new(job.share);
        Ok(OltpRun {
            statements,
            seed: job.seed,
            options: options.clone(),
            begun_us: dates.next(),
            shared: Arc::new(Shared {
                shape,
                duplicate_key: statements.duplicate_key,
                ledger,
                dates,
                acknowledged: AtomicU64::new(0),
                open: Mutex::default(),
            }),
        })
    }

    async fn count_marks(
        &self,
        control: &impl Control,
        first_us: i64,
        last_us: i64,
    ) -> Result<u64, HammerError> {
        let bounds = [first_us, last_us].map(engines::Value::Integer);
        let sql = self.statements.marks_by_date;
        let mut count = 0;
        let counting = control.each_row("counting marks", sql, &bounds, |_| count += 1);
        counting.await?;
        Ok(count)
    }
}

fn refuse_unfit(shape: &Shape, options: &Options, ledger: bool) -> Result<(), HammerError> {
    let refuse = |problem: &str, place: &str, remedy: &str| {
        Err(HammerError::usage("job-invalid", problem, place, remedy))
    };
    if shape.is_empty() {
        let remedy = "give one of its counts above 0";
        return refuse(
            "a transaction has no statement",
            "workload.statements",
            remedy,
        );
    }
    if ledger && !shape.writes() {
        let remedy = "leave it out, or choose a mix that writes";
        return refuse(
            "a ledger of transactions that write nothing",
            "ledger",
            remedy,
        );
    }
    if ledger && options.skip_trx {
        let remedy = "leave out one of the two";
        return refuse(
            "a ledger of statements without transactions",
            "ledger",
            remedy,
        );
    }
    Ok(())
}

impl Run for OltpRun {
    type Statements = Prepare;
    type Script = User;

    fn statements(&self) -> Prepare {
        let steps = self.shared.shape.steps();
        let mut texts = self.statements.texts_of(&steps, self.options.tables);
        if self.shared.ledger.is_some() {
            texts.push(self.statements.text(MARK, 0));
        }
        Prepare(texts.into())
    }

    fn script(&self, user: u32, prepared: &Arc<[Statement]>) -> User {
        User::new(self.seed, user, prepared.clone(), self.shared.clone())
    }

    /// There are no pauses but those that a job asks for.
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

    /// The marks of this run; none without a ledger.
    async fn count(&self, control: &impl Control) -> Result<u64, HammerError> {
        match self.shared.ledger {
            Some(_) => {
                let last_us = self.begun_us + LONG_US;
                self.count_marks(control, self.begun_us, last_us).await
            }
            None => Ok(0),
        }
    }

    fn account(&self) -> Account {
        Account {
            acknowledged: self.shared.acknowledged.load(Ordering::Relaxed),
            in_doubt: locked(&self.shared.open).len() as u64,
        }
    }

    async fn found(&self, control: &impl Control) -> Result<u64, HammerError> {
        let open = locked(&self.shared.open).clone();
        let mut found = 0;
        for date_us in open {
            found += self.count_marks(control, date_us, date_us).await?;
        }
        Ok(found)
    }

    fn told(&self) -> Map<String, Value> {
        let units = |rows: u32| u64::from(self.options.tables) * u64::from(rows);
        let mix: Mix = self.options.mix;
        let told = json!({
            "mix": mix,
            "distribution": self.options.distribution,
            "units_touched": units(self.options.touched()),
            "units_total": units(self.options.rows),
        });
        told.as_object().cloned().unwrap_or_default()
    }
}

/// What each session prepares.
#[derive(Clone)]
pub struct Prepare(Arc<[String]>);

impl connections::Statements for Prepare {
    type Prepared = Arc<[Statement]>;

    async fn prepare<C: Session>(&self, session: &mut C) -> Result<Arc<[Statement]>, SessionError> {
        let texts: Vec<&str> = self.0.iter().map(String::as_str).collect();
        Ok(session.prepare(&texts).await?.into())
    }
}
