//! The job `prepare`: from an empty database to a loaded one, or back to an empty one.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Map;
use stithy_wire::{Message, PrepareJob, PrepareSummary};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};

use super::load::{create_for_loading, run_loader, Event, Shared};
use super::options::Options;
use super::sample;
use super::schedule::copied_whole;
use super::schema::{self, SCHEMA_VERSION};
use super::sql::{self, Sql};
use super::tables::{Population, Table, TABLES};
use super::tally::Tally;
use crate::client::{Control, Target, Value};
use crate::error::{ErrorClass, HammerError};
use crate::stop::{stop_pair, Stop};
use crate::workload::Context;

/// Loads an empty database.
///
/// On an error or a request to stop every table that was made is dropped again.
/// Errors: `tables-exist`, `too-many-connections` (precondition), `interrupted`, those of connecting and of the server.
pub async fn prepare<T: Target>(
    job: &PrepareJob,
    mut context: Context<'_>,
) -> Result<PrepareSummary, HammerError> {
    let warehouses = Options::read(&job.workload)?.warehouses;
    let sql = sql::of(T::ENGINE)?;
    let target = T::parse(&job.url)?;
    let control = target.connect().await?;
    control.require_connections(job.loaders).await?;
    claim(&target, &control, sql).await?;
    let filling = Filling {
        job,
        warehouses,
        target: &target,
        control: &control,
        sql,
        population: Population::shaped(job.seed, job.data),
    };
    let result = filling.fill(&mut context).await;
    if result.is_err() {
        drop_all(&target, control).await;
    }
    result
}

/// Refuses a database with tables of these names; otherwise makes the first one, which no two
/// prepare jobs can do at once.
async fn claim<T: Target>(target: &T, control: &T::Control, sql: &Sql) -> Result<(), HammerError> {
    let present = control.present_tables(&schema::table_names()).await?;
    if !present.is_empty() {
        return Err(HammerError::precondition(
            "tables-exist",
            format!(
                "the database holds tables of these names: {}",
                present.join(", ")
            ),
            target.place(),
            "name an empty database in the URL, or drop these tables",
        ));
    }
    let doing = "creating stithy_meta";
    control.execute(doing, sql.create_meta).await
}

/// A database that is being filled.
struct Filling<'a, T: Target> {
    job: &'a PrepareJob,
    warehouses: u32,
    target: &'a T,
    control: &'a T::Control,
    sql: &'static Sql,
    population: Population,
}

impl<T: Target> Filling<'_, T> {
    async fn fill(&self, context: &mut Context<'_>) -> Result<PrepareSummary, HammerError> {
        let start = Instant::now();
        self.create_shared_tables().await?;
        let mut tally = Tally::new(self.sql, self.warehouses, start);
        self.load(&mut tally, context).await?;
        self.finish().await?;
        let duration_s = start.elapsed().as_secs_f64();
        Ok(PrepareSummary {
            duration_s,
            copy_s: tally.copy_s,
            index_s: duration_s - tally.copy_s,
            tables: tally.table_rows(),
            workload: Map::from_iter([(
                "c_last_load".into(),
                self.population.constants.c_last.into(),
            )]),
            sample: sample::measure(T::Control::FORMAT, &self.population)?,
        })
    }

    /// Tables that several loaders fill must exist before the first of them begins.
    async fn create_shared_tables(&self) -> Result<(), HammerError> {
        let shared = |table: &&&'static dyn Table| !copied_whole(**table, self.job.loaders);
        for table in TABLES.iter().filter(shared) {
            let doing = format!("creating {}", table.name());
            let create = create_for_loading::<T>(self.sql, *table);
            self.control.execute(&doing, &create).await?;
        }
        Ok(())
    }

    /// Starts the loaders and waits until the last has ended.
    async fn load(&self, tally: &mut Tally, context: &mut Context<'_>) -> Result<(), HammerError> {
        let (warehouses, loaders) = (self.warehouses, self.job.loaders);
        let target = self.target.clone();
        let shared = Shared::new(target, self.sql, self.population, warehouses, loaders);
        let shared = Arc::new(shared);
        let (stopper, stop) = stop_pair();
        let (sender, mut events) = unbounded_channel();
        for _ in 0..loaders {
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

    /// What makes a database with rows a loaded one, all of it or nothing.
    async fn finish(&self) -> Result<(), HammerError> {
        self.control.execute("finishing", "BEGIN").await?;
        self.finish_tables().await?;
        self.write_meta().await?;
        self.control.execute("finishing", "COMMIT").await
    }

    /// Keys, procedures, and the server's own housekeeping as it was.
    async fn finish_tables(&self) -> Result<(), HammerError> {
        for table in TABLES {
            let doing = format!("adding keys to {}", table.name());
            for key in schema::statements(self.sql, *table).keys {
                self.control.execute(&doing, &key).await?;
            }
            let reset = T::Control::end_loading(table.name());
            self.control.execute(&doing, &reset).await?;
        }
        for procedure in self.sql.procedures {
            let doing = "creating procedures";
            self.control.execute(doing, procedure).await?;
        }
        Ok(())
    }

    async fn write_meta(&self) -> Result<(), HammerError> {
        let (job, data) = (self.job, self.job.data);
        let percent = |value: u8| Value::Integer(value.into());
        let values = [
            Value::Text(job.workload.name.clone()),
            Value::Integer(SCHEMA_VERSION.into()),
            Value::Integer(self.warehouses.into()),
            Value::Text(job.seed.to_string()),
            Value::Integer(self.population.constants.c_last.into()),
            data.compressible_percent.map_or(Value::Null, percent),
            percent(data.duplicate_percent),
        ];
        let written = self
            .control
            .query("writing stithy_meta", self.sql.write_meta, &values);
        written.await.map(|_| ())
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

/// Drops what was made; a server that is gone keeps it, and the next prepare job says so.
async fn drop_all<T: Target>(target: &T, control: T::Control) {
    let names = schema::table_names().join(", ");
    let sql = format!("ROLLBACK; DROP TABLE IF EXISTS {names}");
    let doing = "dropping what was made";
    if control.execute(doing, &sql).await.is_err() {
        if let Ok(control) = target.connect().await {
            let _ = control.execute(doing, &sql).await;
        }
    }
}
