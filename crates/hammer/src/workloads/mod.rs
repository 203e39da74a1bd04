//! What a workload gives. Users, pools, pace, timing and summaries lie outside: a workload is one folder
//! here, and its type in the list of `crates/hammer/src/plugins.rs`.

pub mod brokerage;
pub mod deck;
pub mod meta;
pub mod oltp;
pub mod order_entry;

use std::future::Future;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use stithy_wire::{Message, PrepareJob, RunJob, WarmUpJob, WorkloadChoice};

use crate::agenda::Agenda;
use crate::condition::ConditionQuery;
use crate::connections::Statements;
use crate::engines::{Control, Session, SessionError};
use crate::error::HammerError;
use crate::ledger::{write::Ledger, Kept};
use crate::loading::Load;
use crate::pace::Waits;
use crate::stop::Stop;
use crate::transaction_script::TransactionScript;

/// The statements of steps, each at the place by which an enumeration counts it.
macro_rules! list_steps {
    ($step:ty: $($name:ident: $sql:literal;)*) => {{
        let numbers = [$(<$step>::$name as usize),*];
        let mut place = 0;
        while place < numbers.len() {
            assert!(numbers[place] == place, "a step stands at its own number");
            place += 1;
        }
        [$($sql),*]
    }};
}
pub(crate) use list_steps;

/// What a job is given besides its own text.
pub struct Context<'a> {
    /// Takes every message of the job but the first and the last.
    pub sink: &'a mut dyn FnMut(Message),
    /// Whether somebody asked the job to stop.
    pub stop: Stop,
}

/// A loaded database as a workload knows it.
pub struct Base<W: Workload> {
    /// What the job says of it.
    pub options: W::Options,
    /// What was loaded.
    pub facts: W::Facts,
}

/// A kind of work that databases are measured with, on one engine: where a workload has statements of its
/// own for each, its type has the engine's as a parameter.
pub trait Workload: Sized + 'static {
    /// Its name in jobs.
    const NAME: &'static str;
    /// Its transaction types, in its order.
    const TYPES: &'static [&'static str];
    /// Whether its users need nothing of each other, so that several hammers can have them.
    const IS_DIVISIBLE: bool = true;

    /// What is known of a loaded database.
    type Facts;
    /// What a job says to it alone.
    type Options;
    /// A load.
    type Load: Load;
    /// A run.
    type Run: Run;
    /// A read-only pass.
    type Reads: Reads;
    /// What it keeps of a transaction in a ledger.
    type Kept: Kept;

    /// What a database was loaded with.
    ///
    /// Errors (precondition): what is there is not what the job expects.
    fn facts(
        place: &str,
        control: &impl Control,
        options: &Self::Options,
    ) -> impl Future<Output = Result<Self::Facts, HammerError>>;

    /// What tells the data of a database from that of another; a ledger belongs to one.
    fn loaded(facts: &Self::Facts) -> Map<String, Value>;

    /// What is loaded into an empty database. Errors: usage.
    fn load(job: &PrepareJob, options: &Self::Options) -> Result<Self::Load, HammerError>;

    /// Reads what a job says to it, before anything is connected. Errors: usage.
    fn options(choice: &WorkloadChoice) -> Result<Self::Options, HammerError>;

    /// Refuses a run of so many users that its options do not fit. Errors: usage.
    fn refuse_misfit(options: &Self::Options, users: u32) -> Result<(), HammerError>;

    /// A run that has not begun; its users leave in the ledger what they send and what becomes of it.
    fn run(
        job: &RunJob,
        base: &Base<Self>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<Self::Run, HammerError>;

    /// The read-only pass that fills caches before a run.
    fn reads(job: &WarmUpJob, base: &Base<Self>) -> Self::Reads;

    /// The consistency conditions of a loaded database, in their order.
    fn conditions(facts: &Self::Facts) -> Vec<ConditionQuery>;

    /// SQL for the rows of a kind of kept transactions whose keys lie within two bounds, both included:
    /// the key, then the columns of [`Kept::of_row`], in the order of the keys.
    fn kept_rows(kind: usize) -> &'static str;
}

/// Reads a job's choice into what a workload knows.
///
/// Errors: `job-invalid` (usage).
pub fn options<O: DeserializeOwned>(choice: &WorkloadChoice) -> Result<O, HammerError> {
    serde_json::from_value(Value::Object(choice.options.clone())).map_err(|e| {
        let remedy = format!("give the keys of the workload {}", choice.name);
        HammerError::usage("job-invalid", e.to_string(), "workload", remedy).caused_by(e)
    })
}

/// A transaction type that may be left to be done behind the users' backs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferrable {
    /// The type.
    pub kind: usize,
    /// Users with connections of their own, for whom one more connection does it.
    pub users_per_worker: u32,
}

/// What the users of a run counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Counted transactions that were acknowledged as committed.
    pub acknowledged: u64,
    /// Counted transactions whose answer never came.
    pub in_doubt: u64,
}

/// One run of a workload: what its users do, and how what they did is proven.
pub trait Run {
    /// What each session prepares.
    type Statements: Statements;
    /// What a user does.
    type Script: TransactionScript;

    /// What each session prepares.
    fn statements(&self) -> Self::Statements;

    /// What a user does, numbered from 0.
    fn script(
        &self,
        user: u32,
        prepared: &<Self::Statements as Statements>::Prepared,
    ) -> Self::Script;

    /// How often each type comes, and how long users key and think where the job leaves that to the
    /// workload.
    fn waits(&self) -> Waits;

    /// What is left to be done behind the users' backs; None where users wait for everything.
    fn deferrable(&self) -> Option<Deferrable>;

    /// What the workload itself makes due besides what users do; None where users do everything.
    fn agenda(&self) -> Option<Arc<Agenda<Self::Script>>> {
        None
    }

    /// Brings a database that was run before to where a run begins.
    fn clean_up(&self, _: &impl Control) -> impl Future<Output = Result<(), HammerError>> {
        async { Ok(()) }
    }

    /// How many counted transactions the database holds by its own account: the growth over a run is
    /// compared with what users counted.
    fn count(&self, control: &impl Control) -> impl Future<Output = Result<u64, HammerError>>;

    /// What users counted.
    fn account(&self) -> Account;

    /// Of the transactions in doubt, those that the database holds.
    fn found(&self, control: &impl Control) -> impl Future<Output = Result<u64, HammerError>>;

    /// What there is to say of the run in particular.
    fn told(&self) -> Map<String, Value>;
}

/// A read-only pass: scripts whose attempts read what the transactions of a run touch.
pub trait Reads {
    /// What one of its sessions does.
    type Script: TransactionScript;

    /// What the session of a number does, counted from 0.
    fn script<C: Session>(
        &self,
        number: u32,
        session: &mut C,
    ) -> impl Future<Output = Result<Self::Script, SessionError>>;
}
