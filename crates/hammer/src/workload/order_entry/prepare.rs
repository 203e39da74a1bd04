//! The job `prepare`: from an empty database to a loaded one, or back to an empty one.

use std::sync::Arc;
use std::time::Instant;

use stithy_wire::{Message, PrepareJob, PrepareSummary};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};
use tokio_postgres::Client;

use super::load::{create_without_autovacuum, run_loader, Event, Shared};
use super::loaded::present_tables;
use super::procedures::PROCEDURES;
use super::sample;
use super::schedule::copied_whole;
use super::schema::{self, META, META_TABLE, SCHEMA_VERSION};
use super::tables::{Population, TABLES};
use super::tally::Tally;
use crate::client::postgresql::Target;
use crate::client::Target as _;
use crate::connections;
use crate::error::{ErrorClass, HammerError};
use crate::stop::{stop_pair, Stop};
use crate::workload::Context;

/// Loads an empty database.
///
/// On an error or a request to stop every table that was made is dropped again.
/// Errors: `tables-exist`, `too-many-connections` (precondition), `interrupted`, those of connecting and of the server.
pub async fn prepare(
    job: &PrepareJob,
    mut context: Context<'_>,
) -> Result<PrepareSummary, HammerError> {
    let target = Target::parse(&job.url)?;
    let client = target.connect().await?;
    connections::require(&target, &client, job.loaders).await?;
    claim(&target, &client).await?;
    let result = fill(job, &target, &client, &mut context).await;
    if result.is_err() {
        drop_all(&target, client).await;
    }
    result
}

/// Refuses a database with tables of these names; otherwise makes the first one, which no two
/// prepare jobs can do at once.
async fn claim(target: &Target, client: &Client) -> Result<(), HammerError> {
    let present = present_tables(target, client).await?;
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
    execute(target, client, "creating stithy_meta", META).await
}

async fn fill(
    job: &PrepareJob,
    target: &Target,
    client: &Client,
    context: &mut Context<'_>,
) -> Result<PrepareSummary, HammerError> {
    let start = Instant::now();
    let population = Population::shaped(job.seed, job.data);
    create_shared_tables(target, client, job.loaders).await?;
    let mut tally = Tally::new(job.workload.warehouses, start);
    load(job, target, population, &mut tally, context).await?;
    finish(job, target, client, population.constants.c_last).await?;
    let duration_s = start.elapsed().as_secs_f64();
    Ok(PrepareSummary {
        duration_s,
        copy_s: tally.copy_s,
        index_s: duration_s - tally.copy_s,
        tables: tally.table_rows(),
        c_last_load: population.constants.c_last,
        sample: sample::measure(&population)?,
    })
}

/// Tables that several loaders fill must exist before the first of them begins.
async fn create_shared_tables(
    target: &Target,
    client: &Client,
    loaders: u32,
) -> Result<(), HammerError> {
    for table in TABLES
        .iter()
        .filter(|table| !copied_whole(**table, loaders))
    {
        let doing = format!("creating {}", table.name());
        execute(target, client, &doing, &create_without_autovacuum(*table)).await?;
    }
    Ok(())
}

/// Starts the loaders and waits until the last has ended.
async fn load(
    job: &PrepareJob,
    target: &Target,
    population: Population,
    tally: &mut Tally,
    context: &mut Context<'_>,
) -> Result<(), HammerError> {
    let warehouses = job.workload.warehouses;
    let shared = Arc::new(Shared::new(
        target.clone(),
        population,
        warehouses,
        job.loaders,
    ));
    let (stopper, stop) = stop_pair();
    let (sender, mut events) = unbounded_channel();
    for _ in 0..job.loaders {
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

/// What makes a database with rows a loaded one, all of it or nothing.
async fn finish(
    job: &PrepareJob,
    target: &Target,
    client: &Client,
    c_last_load: u32,
) -> Result<(), HammerError> {
    execute(target, client, "finishing", "BEGIN").await?;
    finish_tables(target, client).await?;
    write_meta(job, target, client, c_last_load).await?;
    execute(target, client, "finishing", "COMMIT").await
}

/// Keys, procedures, and autovacuum as the server has it.
async fn finish_tables(target: &Target, client: &Client) -> Result<(), HammerError> {
    for table in TABLES {
        let doing = format!("adding keys to {}", table.name());
        for key in schema::statements(*table).keys {
            execute(target, client, &doing, &key).await?;
        }
        let reset = format!("ALTER TABLE {} RESET (autovacuum_enabled)", table.name());
        execute(target, client, &doing, &reset).await?;
    }
    for procedure in PROCEDURES {
        execute(target, client, "creating procedures", procedure).await?;
    }
    Ok(())
}

async fn write_meta(
    job: &PrepareJob,
    target: &Target,
    client: &Client,
    c_last_load: u32,
) -> Result<(), HammerError> {
    let sql = format!(
        "INSERT INTO {META_TABLE} (workload, schema_version, warehouses, seed, c_last_load, \
         data_compressible_percent, data_duplicate_percent) \
         VALUES ($1, $2, $3, $4::text::numeric, $5, $6, $7)"
    );
    let (warehouses, c_last) = (job.workload.warehouses as i32, c_last_load as i32);
    let compressible = job.data.compressible_percent.map(i16::from);
    let duplicate = i16::from(job.data.duplicate_percent);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 7] = [
        &job.workload.name,
        &SCHEMA_VERSION,
        &warehouses,
        &job.seed.to_string(),
        &c_last,
        &compressible,
        &duplicate,
    ];
    let written = client.execute(&sql, &values).await;
    written
        .map_err(|e| target.error("writing stithy_meta", e))
        .map(|_| ())
}

/// Drops what was made; a server that is gone keeps it, and the next prepare job says so.
async fn drop_all(target: &Target, client: Client) {
    let names = schema::table_names().join(", ");
    let sql = format!("ROLLBACK; DROP TABLE IF EXISTS {names}");
    if client.batch_execute(&sql).await.is_err() {
        if let Ok(client) = target.connect().await {
            let _ = client.batch_execute(&sql).await;
        }
    }
}

async fn execute(
    target: &Target,
    client: &Client,
    doing: &str,
    sql: &str,
) -> Result<(), HammerError> {
    client
        .batch_execute(sql)
        .await
        .map_err(|e| target.error(doing, e))
}
