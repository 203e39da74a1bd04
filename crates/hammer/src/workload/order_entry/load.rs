//! Loaders: threads with a connection each, which take work from a common schedule until there is
//! none left.
//!
//! A thread each, because making rows is work for a CPU; a loader's rows are made while the server
//! stores the ones before.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::SinkExt;
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::{Client, CopyInSink};

use super::binary::{Rows, HEADER, TRAILER};
use super::schedule::{Next, Schedule, Work};
use super::schema;
use super::tables::{Population, Table};
use crate::client::postgresql::Target;
use crate::client::Target as _;
use crate::error::HammerError;
use crate::stop::Stop;

/// Rows are sent when so many bytes have come together.
const SEND_BYTES: usize = 128 << 10;

/// What a loader tells the one who waits for it.
#[derive(Debug)]
pub enum Event {
    /// Rows of some slices reached the server.
    Copied {
        /// Table.
        table: &'static str,
        /// Slices.
        slices: u64,
        /// Their rows.
        rows: u64,
    },
    /// One index was built.
    IndexBuilt,
    /// The loader ended.
    Ended(Result<(), HammerError>),
}

/// What all loaders share.
pub struct Shared {
    /// Where to load.
    pub target: Target,
    /// What to load.
    pub population: Population,
    /// Number of warehouses.
    pub warehouses: u32,
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

impl Shared {
    /// The work of a load that has not begun.
    pub fn new(target: Target, population: Population, warehouses: u32, loaders: u32) -> Self {
        let schedule = Mutex::new(Schedule::new(warehouses, loaders));
        Shared {
            target,
            population,
            warehouses,
            schedule,
            changed: Condvar::new(),
        }
    }

    /// Wakes loaders that wait for work, so that they see a request to stop.
    pub fn wake(&self) {
        let _guard = self.lock();
        self.changed.notify_all();
    }

    fn next(&self, stop: &Stop) -> Result<Option<Work>, HammerError> {
        let mut schedule = self.lock();
        loop {
            refuse_when_stopped(self, stop)?;
            match schedule.next() {
                Next::Do(work) => return Ok(Some(work)),
                Next::End => return Ok(None),
                Next::Wait => {
                    schedule = self
                        .changed
                        .wait(schedule)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn done(&self, work: &Work) {
        self.lock().done(work);
        self.changed.notify_all();
    }

    /// A loader that panicked has not harmed the schedule: it is only changed in whole steps.
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs one loader to its end; the last event tells how it ended.
pub fn run_loader(shared: &Shared, events: &UnboundedSender<Event>, stop: Stop) {
    // A loader that panicked must still tell its end, or the others would wait for its work.
    let result = catch_unwind(AssertUnwindSafe(|| run_on_runtime(shared, events, stop)));
    let result = result.unwrap_or_else(|_| Err(HammerError::bug("a loader panicked", "loading")));
    // Nobody listens any more only when the whole job ended already.
    let _ = events.send(Event::Ended(result));
}

fn run_on_runtime(
    shared: &Shared,
    events: &UnboundedSender<Event>,
    stop: Stop,
) -> Result<(), HammerError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime =
        runtime.map_err(|e| HammerError::bug(e.to_string(), "starting a loader").caused_by(e))?;
    runtime.block_on(work_until_done(shared, events, stop))
}

async fn work_until_done(
    shared: &Shared,
    events: &UnboundedSender<Event>,
    stop: Stop,
) -> Result<(), HammerError> {
    let client = shared.target.connect().await?;
    let mut loader = Loader {
        shared,
        events,
        stop,
        client,
    };
    loader.execute("preparing a loader", SESSION).await?;
    while let Some(work) = shared.next(&loader.stop)? {
        loader.perform(&work).await?;
        shared.done(&work);
    }
    Ok(())
}

/// Settings of a loader's session. Commits need not wait for the disk: the row that says "loaded to
/// the end" is committed last and waits for all of them. The memory suffices to sort the keys of some
/// warehouses at once and stays small beside the database's own. A small sample tells the planner
/// enough; a full VACUUM ANALYZE is the caller's.
const SESSION: &str = "SET synchronous_commit = off; SET maintenance_work_mem = '64MB'; \
     SET default_statistics_target = 10; SET client_min_messages = warning; \
     SET statement_timeout = 0; SET lock_timeout = 0";

struct Loader<'a> {
    shared: &'a Shared,
    events: &'a UnboundedSender<Event>,
    stop: Stop,
    client: Client,
}

impl Loader<'_> {
    async fn perform(&mut self, work: &Work) -> Result<(), HammerError> {
        match work {
            Work::Whole(table) => self.create_and_copy(*table).await,
            Work::Part(table, slices) => self.copy(*table, slices.clone(), "").await,
            Work::Index(table, sql) => {
                self.execute(&format!("indexing {}", table.name()), sql)
                    .await?;
                self.tell(Event::IndexBuilt);
                Ok(())
            }
            Work::Analyze(table) => {
                let sql = format!("ANALYZE {}", table.name());
                self.execute(&format!("analysing {}", table.name()), &sql)
                    .await
            }
        }
    }

    async fn create_and_copy(&mut self, table: &'static dyn Table) -> Result<(), HammerError> {
        let slices = 0..table.slices(self.shared.warehouses);
        let creating = format!("creating {}", table.name());
        let sql = format!("BEGIN; {}", create_without_autovacuum(table));
        self.execute(&creating, &sql).await?;
        self.copy(table, slices, ", FREEZE").await?;
        self.execute(&creating, "COMMIT").await
    }

    async fn copy(
        &mut self,
        table: &'static dyn Table,
        slices: std::ops::Range<u64>,
        options: &str,
    ) -> Result<(), HammerError> {
        let sql = format!("COPY {} FROM STDIN (FORMAT binary{options})", table.name());
        let doing = format!("copying {}", table.name());
        let sink = self.client.copy_in::<_, Bytes>(&sql).await;
        let sink = sink.map_err(|e| self.shared.target.error(&doing, e))?;
        let mut sink = std::pin::pin!(sink);
        let mut rows = Rows::new(self.shared.population.shape);
        let (mut told_slices, mut told_rows) = (slices.start, 0);
        self.send(&mut sink, Bytes::from_static(HEADER), &doing)
            .await?;
        for slice in slices.clone() {
            refuse_when_stopped(self.shared, &self.stop)?;
            table.write_slice(&self.shared.population, slice, &mut rows);
            if rows.bytes().len() >= SEND_BYTES || slice + 1 == slices.end {
                self.send(&mut sink, rows.take_bytes().into(), &doing)
                    .await?;
                let (slices, copied) = (slice + 1 - told_slices, rows.count() - told_rows);
                self.tell(Event::Copied {
                    table: table.name(),
                    slices,
                    rows: copied,
                });
                (told_slices, told_rows) = (slice + 1, rows.count());
            }
        }
        self.send(&mut sink, Bytes::from_static(TRAILER), &doing)
            .await?;
        sink.finish()
            .await
            .map_err(|e| self.shared.target.error(&doing, e))?;
        Ok(())
    }

    async fn send(
        &self,
        sink: &mut std::pin::Pin<&mut CopyInSink<Bytes>>,
        bytes: Bytes,
        doing: &str,
    ) -> Result<(), HammerError> {
        sink.feed(bytes)
            .await
            .map_err(|e| self.shared.target.error(doing, e))
    }

    /// Executes SQL; on a request to stop the server is asked to cancel it.
    async fn execute(&mut self, doing: &str, sql: &str) -> Result<(), HammerError> {
        tokio::select! {
            result = self.client.batch_execute(sql) => {
                result.map_err(|e| self.shared.target.error(doing, e))
            }
            () = self.stop.wait() => {
                // Where the request does not arrive, closing the connection ends the statement.
                self.shared.target.cancel(&self.client).await;
                Err(HammerError::interrupted(self.shared.target.place()))
            }
        }
    }

    fn tell(&self, event: Event) {
        // Nobody listens any more only when the whole job ended already.
        let _ = self.events.send(event);
    }
}

/// The SQL that creates a table which autovacuum leaves alone while it is loaded: it would only find
/// work that loading is about to do, and hold up the building of indexes.
pub fn create_without_autovacuum(table: &dyn Table) -> String {
    let create = schema::statements(table).create;
    format!(
        "{create}; ALTER TABLE {} SET (autovacuum_enabled = false)",
        table.name()
    )
}

fn refuse_when_stopped(shared: &Shared, stop: &Stop) -> Result<(), HammerError> {
    match stop.requested() {
        true => Err(HammerError::interrupted(shared.target.place())),
        false => Ok(()),
    }
}
