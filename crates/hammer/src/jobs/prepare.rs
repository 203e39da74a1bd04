//! The job `prepare`: from an empty database to a loaded one, or back to an empty one.

use std::sync::Arc;
use std::time::Instant;

use stithy_wire::{Message, PrepareJob, PrepareSummary};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

use crate::engines::{Control, Target};
use crate::error::{ErrorClass, HammerError};
use crate::loading::loader::{create_for_loading, run_loader, Event, Shared};
use crate::loading::schedule::copied_whole;
use crate::loading::tally::Tally;
use crate::loading::{sample, Load, Shape, TableLoad};
use crate::stop::{stop_pair, Stop};
use crate::workloads::{Context, Workload};

/// Loads an empty database.
///
/// On an error or a request to stop every table that was made is dropped again.
/// Errors: those of the workload's options and SQL; `tables-exist`, `too-many-connections`
/// (precondition), `interrupted`, those of connecting and of the server.
pub(super) async fn prepare<T: Target, W: Workload>(
    job: &PrepareJob,
    mut context: Context<'_>,
) -> Result<PrepareSummary, HammerError> {
    let options = W::options(&job.workload)?;
    let load = Arc::new(W::load(job, &options)?);
    let target = T::parse(&job.url)?;
    let control = target.connect_to_load().await?;
    control.require_connections(job.loaders).await?;
    let filling = Filling {
        sharing: T::Control::TABLE_ORDER.sharing(job.loaders),
        job,
        target,
        control,
        tables: load.tables().into(),
        load,
        shape: Shape::new(job.seed, job.data),
    };
    filling.claim().await?;
    let result = filling.fill(&mut context).await;
    if result.is_err() {
        filling.drop_all().await;
    }
    result
}

/// A database that is being filled.
struct Filling<'a, T: Target, L> {
    job: &'a PrepareJob,
    /// Loaders that may share a table.
    sharing: u32,
    target: T,
    control: T::Control,
    load: Arc<L>,
    tables: Arc<[TableLoad]>,
    shape: Shape,
}

impl<T: Target, L: Load> Filling<'_, T, L> {
    /// Every table that loading makes.
    fn names(&self) -> Vec<&str> {
        let tables = self.tables.iter().map(|table| &*table.name);
        tables.chain([self.load.mark().0]).collect()
    }

    /// Refuses a database with tables of these names; otherwise makes the first one, which no two
    /// prepare jobs can do at once.
    async fn claim(&self) -> Result<(), HammerError> {
        let present = self.control.present_tables(&self.names()).await?;
        if !present.is_empty() {
            return Err(HammerError::precondition(
                "tables-exist",
                format!(
                    "the database holds tables of these names: {}",
                    present.join(", ")
                ),
                self.target.place(),
                "name an empty database in the URL, or drop these tables",
            ));
        }
        let (name, create) = self.load.mark();
        let doing = format!("creating {name}");
        self.control.execute(&doing, create).await
    }

    async fn fill(&self, context: &mut Context<'_>) -> Result<PrepareSummary, HammerError> {
        let start = Instant::now();
        self.create_shared_tables().await?;
        let mut tally = Tally::new(&self.tables, start);
        self.load(&mut tally, context).await?;
        self.finish().await?;
        let duration_s = start.elapsed().as_secs_f64();
        Ok(PrepareSummary {
            duration_s,
            copy_s: tally.copy_s,
            index_s: duration_s - tally.copy_s,
            tables: tally.table_rows(),
            workload: self.load.told(),
            sample: sample::measure(T::Control::FORMAT, &*self.load, self.shape)?,
        })
    }

    /// Tables that several loaders fill must exist before the first of them begins.
    async fn create_shared_tables(&self) -> Result<(), HammerError> {
        for (number, table) in self.tables.iter().enumerate() {
            if !copied_whole(&self.tables, number, self.sharing) {
                let doing = format!("creating {}", table.name);
                let create = create_for_loading::<T>(table);
                self.control.execute(&doing, &create).await?;
            }
        }
        Ok(())
    }

    /// Starts the loaders and waits until the last has ended.
    async fn load(&self, tally: &mut Tally, context: &mut Context<'_>) -> Result<(), HammerError> {
        let shared = Arc::new(Shared::new(
            self.target.clone(),
            self.load.clone(),
            self.tables.clone(),
            self.shape,
            self.sharing,
        ));
        let (stopper, stop) = stop_pair();
        let (sender, mut events) = unbounded_channel();
        for _ in 0..self.job.loaders {
            let (shared, sender, stop) = (shared.clone(), sender.clone(), stop.clone());
            std::thread::spawn(move || run_loader(&shared, &sender, stop));
        }
        drop(sender);
        let stop_all = || {
            stopper.request();
            shared.wake();
        };
        wait_for_loaders(&mut events, context.stop.clone(), stop_all, |event| {
            if let Some(progress) = tally.take(event) {
                (context.sink)(Message::Progress(progress));
            }
        })
        .await
    }

    /// What makes a database with rows a loaded one, all of it or nothing: keys, the server's own
    /// housekeeping as it was, and what the workload adds.
    async fn finish(&self) -> Result<(), HammerError> {
        self.control.begin("finishing").await?;
        for table in self.tables.iter() {
            let doing = format!("adding keys to {}", table.name);
            for key in &table.keys {
                self.control.execute(&doing, key).await?;
            }
            if let Some(reset) = T::Control::end_loading(&table.name) {
                self.control.execute(&doing, &reset).await?;
            }
        }
        self.load.finish(&self.control).await?;
        self.control.commit("finishing").await?;
        self.control.finish_loading().await
    }

    /// Drops what was made; a server that is gone keeps it, and the next prepare job says so.
    async fn drop_all(&self) {
        let names = self.names();
        if self.control.drop_tables(&names).await.is_err() {
            if let Ok(control) = self.target.connect_to_load().await {
                let _ = control.drop_tables(&names).await;
            }
        }
    }
}

/// Hands on events until every loader has ended; the first error stops the other loaders.
async fn wait_for_loaders(
    events: &mut UnboundedReceiver<Event>,
    mut stop: Stop,
    stop_all: impl Fn(),
    mut take: impl FnMut(Event),
) -> Result<(), HammerError> {
    let mut result = Ok(());
    let mut asked = false;
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(Event::Ended(Err(error))) => {
                    result = worse(result, error);
                    stop_all();
                }
                Some(event) => take(event),
                None => return result,
            },
            () = stop.wait(), if !asked => {
                asked = true;
                stop_all();
            }
        }
    }
}

/// The error to tell: the first one, unless that is only "interrupted".
fn worse(so_far: Result<(), HammerError>, error: HammerError) -> Result<(), HammerError> {
    match so_far {
        Err(first) if first.class != ErrorClass::Interrupted => Err(first),
        _ => Err(error),
    }
}
