//! The read-only pass of order entry: what the transactions of a run touch, drawn as a run draws it.

use stithy_measure::Outcome;

use super::input::{Customer, Draws, Input};
use super::input_profile::{InputProfile, TouchedWarehouses};
use super::options::Profile;
use super::random::NurandConstants;
use super::sql::Sql;
use super::OrderEntry;
use crate::client::{Params, Session, SessionError, Statement};
use crate::transaction_script::TransactionScript;
use crate::workload::{Base, Reads};

/// The pass.
pub struct OrderEntryReads {
    sql: &'static Sql,
    seed: u64,
    profile: InputProfile,
}

impl OrderEntryReads {
    /// The pass of a seed, over the warehouses that users touch.
    pub fn new(seed: u64, base: &Base<OrderEntry>) -> Self {
        OrderEntryReads {
            sql: base.sql,
            seed,
            profile: InputProfile {
                constants: NurandConstants::for_run(seed, base.facts.c_last_load),
                kind: Profile::Specification,
                touched: TouchedWarehouses::spread(base.options.touched()),
            },
        }
    }
}

impl Reads for OrderEntryReads {
    type Script = Reader;

    async fn script<C: Session>(
        &self,
        number: u32,
        session: &mut C,
    ) -> Result<Reader, SessionError> {
        Ok(Reader {
            draws: Draws::new(self.seed, number, self.profile),
            prepared: Prepared::prepare(session, self.sql).await?,
            input: None,
        })
    }
}

/// One session of the pass.
#[derive(Clone)]
pub struct Reader {
    draws: Draws,
    prepared: Prepared,
    input: Option<Input>,
}

impl TransactionScript for Reader {
    fn draw(&mut self) -> usize {
        let input = self.draws.next_input();
        let kind = input.kind();
        self.input = Some(input);
        kind
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        if let Some(input) = &self.input {
            self.prepared.queue(session, input);
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}

/// The prepared statements that read.
#[derive(Clone, Copy)]
struct Prepared {
    district: Statement,
    customer_by_id: Statement,
    customer_by_name: Statement,
    lines: Statement,
    last_order: Statement,
    oldest: Statement,
    stock_level: Statement,
}

impl Prepared {
    async fn prepare(session: &mut impl Session, sql: &Sql) -> Result<Self, SessionError> {
        let prepared = session.prepare(&sql.reads).await?;
        let [district, customer_by_id, customer_by_name, lines, last_order, oldest, stock_level] =
            prepared[..]
        else {
            unreachable!("each statement is prepared once");
        };
        Ok(Prepared {
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
