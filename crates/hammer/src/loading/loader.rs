//! Loaders: threads with a connection each, which take work from a common schedule until there is
//! none left.
//!
//! A thread each, because making rows is work for a CPU; a loader's rows are made while the server
//! stores the ones before.

use std::ops::Range;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use stithy_measure::locked;
use tokio::sync::mpsc::UnboundedSender;

use super::schedule::{Next, Schedule, Work};
use super::{Load, Rows, Shape, TableLoad};
use crate::engines::{Control, Copying, Target};
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
        table: String,
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
pub struct Shared<T, L> {
    target: T,
    load: Arc<L>,
    tables: Arc<[TableLoad]>,
    shape: Shape,
    schedule: Mutex<Schedule>,
    changed: Condvar,
}

impl<T: Target, L: Load> Shared<T, L> {
    /// The work of a load that has not begun, in which up to `sharing` loaders share a table; text of its
    /// rows is to be of a shape.
    pub fn new(
        target: T,
        load: Arc<L>,
        tables: Arc<[TableLoad]>,
        shape: Shape,
        sharing: u32,
    ) -> Self {
        Shared {
            target,
            load,
            schedule: Mutex::new(Schedule::new(tables.clone(), sharing)),
            tables,
            shape,
            changed: Condvar::new(),
        }
    }

    /// Wakes loaders that wait for work, so that they see a request to stop.
    pub fn wake(&self) {
        let _guard = locked(&self.schedule);
        self.changed.notify_all();
    }

    fn next(&self, stop: &Stop) -> Result<Option<Work>, HammerError> {
        let mut schedule = locked(&self.schedule);
        loop {
            refuse_when_stopped(&self.target, stop)?;
            match schedule.next() {
                Next::Do(work) => return Ok(Some(work)),
                Next::End => return Ok(None),
                Next::Wait => {
                    let waited = self.changed.wait(schedule);
                    schedule = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn done(&self, work: &Work) {
        locked(&self.schedule).done(work);
        self.changed.notify_all();
    }
}

/// Runs one loader to its end; the last event tells how it ended.
pub fn run_loader<T: Target, L: Load>(
    shared: &Shared<T, L>,
    events: &UnboundedSender<Event>,
    stop: Stop,
) {
    // A loader that panicked must still tell its end, or the others would wait for its work.
    let result = catch_unwind(AssertUnwindSafe(|| run_on_runtime(shared, events, stop)));
    let result = result.unwrap_or_else(|_| Err(HammerError::bug("a loader panicked", "loading")));
    // Nobody listens any more only when the whole job ended already.
    let _ = events.send(Event::Ended(result));
}

fn run_on_runtime<T: Target, L: Load>(
    shared: &Shared<T, L>,
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

async fn work_until_done<T: Target, L: Load>(
    shared: &Shared<T, L>,
    events: &UnboundedSender<Event>,
    stop: Stop,
) -> Result<(), HammerError> {
    let control = shared.target.connect_to_load().await?;
    control.begin_loading().await?;
    let mut loader = Loader {
        shared,
        events,
        stop,
        control,
    };
    while let Some(work) = shared.next(&loader.stop)? {
        loader.perform(&work).await?;
        shared.done(&work);
    }
    Ok(())
}

struct Loader<'a, T: Target, L> {
    shared: &'a Shared<T, L>,
    events: &'a UnboundedSender<Event>,
    stop: Stop,
    control: T::Control,
}

impl<T: Target, L: Load> Loader<'_, T, L> {
    async fn perform(&mut self, work: &Work) -> Result<(), HammerError> {
        let tables = &self.shared.tables;
        match work {
            Work::Whole(table) => self.create_and_copy(*table).await,
            Work::Part(table, slices) => self.copy(*table, slices.clone(), false).await,
            Work::Index(table, index) => {
                let table = &tables[*table];
                let doing = format!("indexing {}", table.name);
                self.execute(&doing, &table.indexes[*index]).await?;
                self.tell(Event::IndexBuilt);
                Ok(())
            }
            Work::Analyze(table) => {
                let name = &tables[*table].name;
                let sql = T::Control::analyze(name);
                self.execute(&format!("analysing {name}"), &sql).await
            }
        }
    }

    async fn create_and_copy(&mut self, table: usize) -> Result<(), HammerError> {
        let created = &self.shared.tables[table];
        let doing = format!("creating {}", created.name);
        self.control.begin(&doing).await?;
        self.execute(&doing, &create_for_loading::<T>(created))
            .await?;
        self.copy(table, 0..created.slices, true).await?;
        self.control.commit(&doing).await
    }

    async fn copy(
        &mut self,
        table: usize,
        slices: Range<u64>,
        created: bool,
    ) -> Result<(), HammerError> {
        let (shared, name) = (self.shared, &self.shared.tables[table].name);
        let doing = format!("copying {name}");
        let mut copying = self.control.copy(&doing, name, created).await?;
        let mut rows = Rows::new(T::Control::FORMAT, shared.shape);
        let (mut told_slices, mut told_rows) = (slices.start, 0);
        for slice in slices.clone() {
            refuse_when_stopped(&shared.target, &self.stop)?;
            shared.load.write_slice(table, slice, &mut rows);
            if rows.bytes.len() >= SEND_BYTES || slice + 1 == slices.end {
                copying.send(rows.take_bytes()).await?;
                let (slices, copied) = (slice + 1 - told_slices, rows.count - told_rows);
                self.tell(Event::Copied {
                    table: name.clone(),
                    slices,
                    rows: copied,
                });
                (told_slices, told_rows) = (slice + 1, rows.count);
            }
        }
        copying.finish().await
    }

    /// Executes SQL; on a request to stop the server is asked to cancel it.
    async fn execute(&mut self, doing: &str, sql: &str) -> Result<(), HammerError> {
        tokio::select! {
            result = self.control.execute(doing, sql) => result,
            () = self.stop.wait() => {
                self.control.cancel().await;
                Err(HammerError::interrupted(self.shared.target.place()))
            }
        }
    }

    fn tell(&self, event: Event) {
        // Nobody listens any more only when the whole job ended already.
        let _ = self.events.send(event);
    }
}

/// The SQL that creates a table for being loaded.
pub fn create_for_loading<T: Target>(table: &TableLoad) -> String {
    T::Control::create_for_loading(&table.create, &table.name)
}

fn refuse_when_stopped(target: &impl Target, stop: &Stop) -> Result<(), HammerError> {
    match stop.requested() {
        true => Err(HammerError::interrupted(target.place())),
        false => Ok(()),
    }
}
