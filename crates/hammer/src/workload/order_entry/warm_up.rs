//! The job `warm-up`: the same fixed, seeded, read-only pass before every window.
//!
//! Rows are chosen by the seed alone and with the distributions of a run, so that what a run would find
//! in memory is there. The sessions are read-only: no file of the database changes.

use std::time::Instant;

use stithy_wire::{Message, Profile, Progress, WarmUpJob, WarmUpSummary};
use tokio::task::JoinSet;

use super::input::{Customer, Draws, Input};
use super::input_profile::{touched, InputProfile, TouchedWarehouses};
use super::loaded::Loaded;
use super::random::NurandConstants;
use super::sql::{self, Sql};
use crate::client::{Control, Params, Session, SessionError, SessionSettings, Statement, Target};
use crate::connections;
use crate::error::HammerError;
use crate::workload::Context;

/// Sessions that share the pass; which of them reads a row does not matter.
const SESSIONS: u32 = 4;

/// Progress is reported after so many transactions of each session.
const PROGRESS_STEP: u64 = 1_000;

/// Reads the rows of `transactions` transactions.
///
/// Errors: those of [`Loaded::read`] and of connecting; `connection-lost` (infrastructure);
/// `interrupted`.
pub async fn warm_up<T: Target>(
    job: &WarmUpJob,
    context: Context<'_>,
) -> Result<WarmUpSummary, HammerError> {
    let start = Instant::now();
    let warehouses = touched(job.warehouses_touched, job.workload.warehouses)?;
    let sql = sql::of(T::ENGINE)?;
    let target = T::parse(&job.url)?;
    let control = target.connect().await?;
    let loaded = Loaded::read(target.place(), &control, sql, &job.workload).await?;
    control.require_connections(SESSIONS).await?;
    drop(control);
    let profile = InputProfile {
        constants: NurandConstants::for_run(job.seed, loaded.c_last_load),
        kind: Profile::Specification,
        touched: TouchedWarehouses::spread(warehouses),
    };
    let sessions = connections::open_all(&target, SESSIONS, SessionSettings::ReadOnly).await?;
    let (sender, mut steps) = tokio::sync::mpsc::unbounded_channel();
    let mut readers = JoinSet::new();
    for (number, session) in (0..).zip(sessions) {
        let draws = Draws::new(job.seed, number, profile);
        let count = share(job.transactions, number);
        let (sender, stop) = (sender.clone(), context.stop.clone());
        let reader = Reader {
            draws,
            session,
            sql,
        };
        readers.spawn(reader.read(count, stop, sender));
    }
    drop(sender);
    let mut done = 0;
    while let Some(step) = steps.recv().await {
        done += step;
        (context.sink)(progress(done, job.transactions));
    }
    for ended in readers.join_all().await {
        ended.map_err(|e| connections::failed(&target, "warming up", e))?;
    }
    if done < job.transactions {
        return Err(HammerError::interrupted(target.place()));
    }
    Ok(WarmUpSummary {
        duration_s: start.elapsed().as_secs_f64(),
        transactions: done,
    })
}

/// The part of a number of transactions that one of the sessions does.
fn share(transactions: u64, number: u32) -> u64 {
    let (number, sessions) = (u64::from(number), u64::from(SESSIONS));
    transactions / sessions + u64::from(number < transactions % sessions)
}

fn progress(done: u64, total: u64) -> Message {
    Message::Progress(Progress {
        stage: "reading rows".to_string(),
        done,
        total,
    })
}

/// One session of the pass.
struct Reader<S> {
    draws: Draws,
    session: S,
    sql: &'static Sql,
}

impl<S: Session> Reader<S> {
    async fn read(
        mut self,
        count: u64,
        stop: crate::stop::Stop,
        steps: tokio::sync::mpsc::UnboundedSender<u64>,
    ) -> Result<(), SessionError> {
        let reads = Reads::prepare(&mut self.session, self.sql).await?;
        let mut untold = 0;
        for _ in 0..count {
            if stop.requested() {
                break;
            }
            reads.queue(&mut self.session, &self.draws.next_input());
            self.session.exchange().await?;
            untold += 1;
            if untold == PROGRESS_STEP {
                let _ = steps.send(std::mem::take(&mut untold));
            }
        }
        if untold > 0 {
            let _ = steps.send(untold);
        }
        self.session.close().await;
        Ok(())
    }
}

/// The prepared statements that read.
struct Reads {
    district: Statement,
    customer_by_id: Statement,
    customer_by_name: Statement,
    lines: Statement,
    last_order: Statement,
    oldest: Statement,
    stock_level: Statement,
}

impl Reads {
    async fn prepare(session: &mut impl Session, sql: &Sql) -> Result<Self, SessionError> {
        let prepared = session.prepare(&sql.reads).await?;
        let [district, customer_by_id, customer_by_name, lines, last_order, oldest, stock_level] =
            prepared[..]
        else {
            unreachable!("each statement is prepared once");
        };
        Ok(Reads {
            district,
            customer_by_id,
            customer_by_name,
            lines,
            last_order,
            oldest,
            stock_level,
        })
    }

    fn queue(&self, session: &mut impl Session, input: &Input) {
        match input {
            Input::NewOrder(order) => {
                let (w_id, d_id) = (order.district.w_id, order.district.d_id);
                self.queue_district(session, w_id, d_id);
                self.queue_customer(session, w_id, d_id, &Customer::Id(order.c_id));
                session.queue(self.lines, |params| {
                    params.int4_array(order.lines.iter().map(|line| line.i_id));
                    params.int4_array(order.lines.iter().map(|line| line.supply_w_id));
                });
            }
            Input::Payment(payment) => {
                let at = payment.customer_district;
                self.queue_district(session, payment.district.w_id, payment.district.d_id);
                self.queue_customer(session, at.w_id, at.d_id, &payment.customer);
            }
            Input::OrderStatus(question) => {
                let (w_id, d_id) = (question.district.w_id, question.district.d_id);
                self.queue_customer(session, w_id, d_id, &question.customer);
                if let Customer::Id(c_id) = question.customer {
                    session.queue(self.last_order, |params| {
                        params.int4(w_id);
                        params.int2(d_id);
                        params.int4(c_id);
                    });
                }
            }
            Input::Delivery(delivery) => {
                for d_id in 1..=10 {
                    session.queue(self.oldest, |params| {
                        params.int4(delivery.w_id);
                        params.int2(d_id);
                    });
                }
            }
            Input::StockLevel(question) => session.queue(self.stock_level, |params| {
                params.int4(question.district.w_id);
                params.int2(question.district.d_id);
            }),
        }
    }

    fn queue_district(&self, session: &mut impl Session, w_id: i32, d_id: i16) {
        session.queue(self.district, |params| {
            params.int4(w_id);
            params.int2(d_id);
        });
    }

    fn queue_customer(
        &self,
        session: &mut impl Session,
        w_id: i32,
        d_id: i16,
        customer: &Customer,
    ) {
        let statement = match customer {
            Customer::Id(_) => self.customer_by_id,
            Customer::LastName(_) => self.customer_by_name,
        };
        session.queue(statement, |params| {
            params.int4(w_id);
            params.int2(d_id);
            match customer {
                Customer::Id(c_id) => params.int4(*c_id),
                Customer::LastName(name) => params.text(name.as_bytes()),
            }
        });
    }
}
