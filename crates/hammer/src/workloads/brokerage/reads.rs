//! The read-only pass of brokerage: what the transactions of a run read, drawn as a run draws it.

use std::sync::Arc;

use stithy_measure::Outcome;
use stithy_wire::WarmUpJob;

use super::input::{Input, Source, CARDS};
use super::random::{Domain, Rng};
use super::statements::{Pair, Statements};
use super::transactions::Prepared;
use super::Brokerage;
use crate::engines::{Access, Batch, Session, SessionError};
use crate::transaction_script::TransactionScript;
use crate::workloads::deck::Deck;
use crate::workloads::{Base, Reads};

/// The pass.
pub struct BrokerageReads {
    statements: &'static Statements,
    seed: u64,
    source: Arc<Source>,
    deck: Arc<Deck>,
}

impl BrokerageReads {
    /// The pass of a job.
    pub fn new<P: Pair>(job: &WarmUpJob, base: &Base<Brokerage<P>>) -> Self {
        let facts = &base.facts;
        BrokerageReads {
            statements: P::STATEMENTS,
            seed: job.seed,
            source: Source::new(&facts.population, job.seed, &base.options, facts.last_trade),
            deck: Arc::new(Deck::new(Rng::of(job.seed, Domain::Deck, 1, 0), &CARDS)),
        }
    }
}

impl Reads for BrokerageReads {
    type Script = BrokerageReader;

    async fn script<C: Session>(
        &self,
        number: u32,
        session: &mut C,
    ) -> Result<BrokerageReader, SessionError> {
        let prepared = Prepared::prepare_reads(session, &self.statements.texts).await?;
        Ok(BrokerageReader {
            rng: Rng::of(self.seed, Domain::WarmUp, number.into(), 0),
            source: self.source.clone(),
            deck: self.deck.clone(),
            prepared,
            input: None,
        })
    }
}

/// One session of the pass.
#[derive(Clone)]
pub struct BrokerageReader {
    rng: Rng,
    source: Arc<Source>,
    deck: Arc<Deck>,
    prepared: Prepared,
    input: Option<Input>,
}

impl TransactionScript for BrokerageReader {
    /// An order reads what its account has.
    fn draw(&mut self) -> usize {
        let kind = self.deck.deal();
        let input = match self.source.draw(kind, &mut self.rng) {
            Input::TradeOrder(order) => Input::CustomerPosition {
                customer: order.account.customer,
                by_tax_number: false,
                history_of: None,
            },
            input => input,
        };
        self.input = Some(input);
        kind
    }

    async fn attempt<C: Session>(&mut self, session: &mut C) -> Result<Outcome, SessionError> {
        session.start(Batch::Whole(Access::Read));
        if let Some(input) = &self.input {
            self.prepared
                .queue_reads(session, &self.source.population, input);
        }
        session.exchange().await?;
        Ok(Outcome::Committed)
    }
}
