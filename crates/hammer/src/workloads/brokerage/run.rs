//! A run of brokerage, with the proof that its results were counted rightly: the growth of what brokers have
//! completed against the results that were acknowledged.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use serde_json::{json, Map};
use stithy_measure::locked;
use stithy_wire::RunJob;

use super::exchange::Exchange;
use super::input::{Source, CARDS, NAMES, UNATTENDED};
use super::options::Options;
use super::random::{Domain, Rng};
use super::statements::{Pair, Transactions};
use super::user::{Shared, User};
use super::Brokerage;
use crate::agenda::Agenda;
use crate::connections::Statements;
use crate::engines::{Control, Session, SessionError, Value};
use crate::error::HammerError;
use crate::ledger::unique_dates::UniqueDates;
use crate::ledger::write::Ledger;
use crate::pace::Waits;
use crate::workloads::deck::Deck;
use crate::workloads::{Account, Base, Deferrable, Run};

/// A run of brokerage.
pub struct BrokerageRun<P: Pair> {
    pair: PhantomData<P>,
    seed: u64,
    options: Options,
    shared: Arc<Shared<P::Transactions>>,
}

impl<P: Pair> BrokerageRun<P> {
    /// A run that has not begun.
    pub fn new(job: &RunJob, base: &Base<Brokerage<P>>, ledger: Option<Arc<Ledger>>) -> Self {
        let (options, facts) = (&base.options, &base.facts);
        let source = Source::new(&facts.population, job.seed, options, facts.last_trade);
        let agenda = Agenda::new(options.exchange_connections(job.users), UNATTENDED);
        BrokerageRun {
            pair: PhantomData,
            seed: job.seed,
            options: options.clone(),
            shared: Arc::new(Shared {
                deck: Deck::new(Rng::of(job.seed, Domain::Deck, 0, 0), &CARDS),
                dates: UniqueDates::new(job.share),
                ledger,
                exchange: Exchange::new(job.seed, source.clone(), options, agenda),
                source,
                completed: Default::default(),
                in_doubt: Default::default(),
            }),
        }
    }
}

impl<P: Pair> Run for BrokerageRun<P> {
    type Statements = Prepare<P>;
    type Script = User<P::Transactions>;

    fn statements(&self) -> Prepare<P> {
        Prepare(PhantomData)
    }

    fn script(&self, user: u32, transactions: &P::Transactions) -> User<P::Transactions> {
        let rng = Rng::of(self.seed, Domain::User, user.into(), 0);
        let script = User::new(self.shared.clone(), rng, transactions.clone());
        if user == 0 {
            script.schedule(self.shared.exchange.plan_upkeep());
        }
        script
    }

    /// No keying and no think times are specified.
    fn waits(&self) -> Waits {
        let mut weights = CARDS.to_vec();
        weights.resize(NAMES.len(), 0);
        Waits {
            keying_s: vec![0.0; weights.len()],
            think_mean_s: vec![0.0; weights.len()],
            weights,
        }
    }

    fn deferrable(&self) -> Option<Deferrable> {
        None
    }

    fn agenda(&self) -> Option<Arc<Agenda<User<P::Transactions>>>> {
        Some(self.shared.exchange.agenda.clone())
    }

    /// Orders that an earlier run left open are cancelled: their exchange is gone.
    async fn clean_up(&self, control: &impl Control) -> Result<(), HammerError> {
        let doing = "cancelling open orders";
        control.begin(doing).await?;
        for sql in P::STATEMENTS.clean_up {
            control.execute(doing, sql).await?;
        }
        control.commit(doing).await
    }

    /// Sum of B_NUM_TRADES; nothing else may run on the database.
    async fn count(&self, control: &impl Control) -> Result<u64, HammerError> {
        control
            .query_count("reading completed trades", P::STATEMENTS.completed, &[])
            .await
    }

    fn account(&self) -> Account {
        Account {
            acknowledged: self.shared.completed.load(Ordering::Relaxed),
            in_doubt: locked(&self.shared.in_doubt).len() as u64,
        }
    }

    async fn found(&self, control: &impl Control) -> Result<u64, HammerError> {
        let ids = locked(&self.shared.in_doubt).iter().copied().collect();
        let sql = P::STATEMENTS.completed_of;
        control
            .query_count("looking for settlements", sql, &[Value::Integers(ids)])
            .await
    }

    /// Prices, delays and skews; what the exchange got and gave, and what it had not answered at the end.
    fn told(&self) -> Map<String, serde_json::Value> {
        let (counts, limits_open) = self.shared.exchange.counts();
        let all = self.options.customers * self.options.days;
        let told = json!({
            "units_touched": all,
            "units_total": all,
            "price_period_s": self.options.price_period_s,
            "exchange_delay_s": self.options.exchange_delay_s,
            "maintenance_interval_s": self.options.maintenance_interval_s,
            "skews": self.shared.source.skews(),
            "exchange_connections": self.shared.exchange.agenda.connections,
            "orders": counts.orders,
            "limits_reached": counts.limits_reached,
            "limits_open": limits_open,
            "results_open": counts.executions - counts.results,
            "feeds": counts.feeds,
        });
        told.as_object().cloned().unwrap_or_default()
    }
}

/// Prepares the statements of a session.
pub struct Prepare<P>(PhantomData<P>);

impl<P> Clone for Prepare<P> {
    fn clone(&self) -> Self {
        Prepare(PhantomData)
    }
}

impl<P: Pair> Statements for Prepare<P> {
    type Prepared = P::Transactions;

    fn prepare<C: Session>(
        &self,
        session: &mut C,
    ) -> impl Future<Output = Result<P::Transactions, SessionError>> + Send {
        P::Transactions::prepare(session)
    }
}
