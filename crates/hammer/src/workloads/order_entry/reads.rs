//! The read-only pass of order entry: what the transactions of a run touch, drawn as a run draws it.

use stithy_measure::Outcome;

use super::input::{Customer, District, Draws, Input};
use super::input_profile::{InputProfile, TouchedWarehouses};
use super::options::Profile;
use super::plain::put_district;
use super::random::NurandConstants;
use super::statements::{Pair, Statements};
use super::OrderEntry;
use crate::engines::{Access, Batch, Params, Session, SessionError, Statement};
use crate::transaction_script::TransactionScript;
use crate::workloads::{Base, Reads};

/// The pass.
pub struct OrderEntryReads {
    statements: &'static Statements,
    seed: u64,
    profile: InputProfile,
}

impl OrderEntryReads {
    /// The pass of a seed, over the warehouses that users touch.
    pub fn new<P: Pair>(seed: u64, base: &Base<OrderEntry<P>>) -> Self {
        OrderEntryReads {
            statements: P::STATEMENTS,
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
            prepared: Prepared::prepare(session, self.statements).await?,
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
        session.start(Batch::Whole(Access::Read));
        if let Some(input) = &self.input {
            self.prepared.queue(session, input);
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}

/// The prepared statements that read, as [`Statements::reads`] lists them.
#[derive(Clone, Copy)]
struct Prepared([Statement; 7]);

impl Prepared {
    async fn prepare(
        session: &mut impl Session,
        statements: &Statements,
    ) -> Result<Self, SessionError> {
        let prepared = session.prepare(&statements.reads).await?;
        let reads = prepared.try_into();
        Ok(Prepared(reads.expect("each statement is prepared once")))
    }

    fn queue(&self, session: &mut impl Session, input: &Input) {
        let [district, by_id, by_name, lines, last_order, oldest, stock_level] = self.0;
        match input {
            Input::NewOrder(order) => {
                session.queue(district, |params| put_district(params, order.district));
                session.queue(by_id, |params| {
                    put_district(params, order.district);
                    params.int4(order.c_id);
                });
                session.queue(lines, |params| {
                    params.int4_list(order.lines.iter().map(|line| line.i_id));
                    params.int4_list(order.lines.iter().map(|line| line.supply_w_id));
                });
            }
            Input::Payment(payment) => {
                session.queue(district, |params| put_district(params, payment.district));
                let at = payment.customer_district;
                queue_customer(session, [by_id, by_name], at, &payment.customer);
            }
            Input::OrderStatus(question) => {
                let at = question.district;
                queue_customer(session, [by_id, by_name], at, &question.customer);
                if let Customer::Id(c_id) = question.customer {
                    session.queue(last_order, |params| {
                        put_district(params, at);
                        params.int4(c_id);
                    });
                }
            }
            Input::Delivery(delivery) => {
                for d_id in 1..=10 {
                    session.queue(oldest, |params| {
                        params.int4(delivery.w_id);
                        params.int2(d_id);
                    });
                }
            }
            Input::StockLevel(question) => {
                session.queue(stock_level, |params| {
                    put_district(params, question.district)
                });
            }
        }
    }
}

fn queue_customer(
    session: &mut impl Session,
    [by_id, by_name]: [Statement; 2],
    at: District,
    customer: &Customer,
) {
    let statement = match customer {
        Customer::Id(_) => by_id,
        Customer::LastName(_) => by_name,
    };
    session.queue(statement, |params| {
        put_district(params, at);
        match customer {
            Customer::Id(c_id) => params.int4(*c_id),
            Customer::LastName(name) => params.text(name.as_bytes()),
        }
    });
}
