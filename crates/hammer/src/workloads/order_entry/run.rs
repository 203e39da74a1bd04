//! A run of order entry, with the proof that orders were counted rightly: the growth of the order
//! numbers against the orders that were acknowledged.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use serde_json::{json, Map};
use stithy_wire::{RunJob, Share};

use super::input::{Draws, DELIVERY};
use super::input_profile::{keyed, InputProfile, TouchedWarehouses, MIX};
use super::options::{Options, Profile};
use super::order_book::{OrderBook, OrderKey};
use super::random::{Domain, NurandConstants, Rng};
use super::statements::{Pair, Transactions};
use super::terminal::{Books, Terminal};
use super::OrderEntry;
use crate::connections::Statements;
use crate::engines::{Control, Session, SessionError, Value};
use crate::error::HammerError;
use crate::ledger::unique_dates::UniqueDates;
use crate::ledger::write::Ledger;
use crate::pace::Waits;
use crate::share::count;
use crate::workloads::deck::Deck;
use crate::workloads::{Account, Base, Deferrable, Run};

/// Users with connections of their own leave their deliveries to others, who have one for so many
/// users. A user who keys and thinks leaves a delivery in eight minutes.
const USERS_PER_DELIVERER: u32 = 100;

/// A run of order entry.
pub struct OrderEntryRun<P> {
    pair: PhantomData<P>,
    seed: u64,
    share: Share,
    options: Options,
    profile: InputProfile,
    /// HammerDB draws each type by itself.
    deck: Option<Arc<Deck>>,
    books: Books,
}

impl<P: Pair> OrderEntryRun<P> {
    /// A run that has not begun. Errors: those of [`TouchedWarehouses::of`].
    pub fn new(
        job: &RunJob,
        base: &Base<OrderEntry<P>>,
        ledger: Option<Arc<Ledger>>,
    ) -> Result<Self, HammerError> {
        let options = &base.options;
        let dealt = options.profile == Profile::Specification;
        Ok(OrderEntryRun {
            pair: PhantomData,
            seed: job.seed,
            share: job.share,
            options: options.clone(),
            profile: InputProfile {
                constants: NurandConstants::for_run(job.seed, base.facts.c_last_load),
                kind: options.profile,
                touched: TouchedWarehouses::of(options, job.users)?,
            },
            deck: dealt.then(|| {
                Arc::new(Deck::new(
                    Rng::of(job.seed, Domain::Deck, job.share.number.into(), 0),
                    &MIX,
                ))
            }),
            books: Books {
                orders: Arc::new(OrderBook::new(count(job.share, job.users))),
                dates: Arc::new(UniqueDates::new(job.share)),
                ledger,
            },
        })
    }
}

impl<P: Pair> Run for OrderEntryRun<P> {
    type Statements = Prepare<P>;
    type Script = Terminal<P::Transactions>;

    fn statements(&self) -> Prepare<P> {
        Prepare {
            pair: PhantomData,
            options: self.options.clone(),
        }
    }

    fn script(&self, user: u32, transactions: &P::Transactions) -> Terminal<P::Transactions> {
        let draws = Draws::new(self.seed, user, self.profile);
        let draws = match &self.deck {
            Some(deck) => draws.dealt_by(deck.clone()),
            None => draws,
        };
        let place = user / self.share.of;
        Terminal::new(place, draws, self.books.clone(), transactions.clone())
    }

    fn waits(&self) -> Waits {
        keyed()
    }

    fn deferrable(&self) -> Option<Deferrable> {
        self.options.deferred_delivery.then_some(Deferrable {
            kind: DELIVERY,
            users_per_worker: USERS_PER_DELIVERER,
        })
    }

    /// Sum of D_NEXT_O_ID; nothing else may run on the database.
    async fn count(&self, control: &impl Control) -> Result<u64, HammerError> {
        let sql = P::STATEMENTS.order_numbers;
        control.query_count("reading order numbers", sql, &[]).await
    }

    fn account(&self) -> Account {
        Account {
            acknowledged: self.books.orders.acknowledged(),
            in_doubt: self.books.orders.in_doubt().len() as u64,
        }
    }

    async fn found(&self, control: &impl Control) -> Result<u64, HammerError> {
        let keys = self.books.orders.in_doubt();
        let list = |value: fn(&OrderKey) -> i64| Value::Integers(keys.iter().map(value).collect());
        let lists = [
            list(|key| key.district.w_id.into()),
            list(|key| key.district.d_id.into()),
            list(|key| key.entry_us),
        ];
        let sql = P::STATEMENTS.present_orders;
        control.query_count("looking for orders", sql, &lists).await
    }

    /// Mix and keys; warehouses in reach and in all; the constants of NURand: C_LAST, C_ID, OL_I_ID.
    fn told(&self) -> Map<String, serde_json::Value> {
        let told = json!({
            "profile": self.profile.kind,
            "units_touched": self.profile.touched.warehouses,
            "units_total": self.options.warehouses,
            "nurand": self.profile.constants.as_array(),
        });
        told.as_object().cloned().unwrap_or_default()
    }
}

/// Prepares the statements of a user's session.
pub struct Prepare<P> {
    pair: PhantomData<P>,
    options: Options,
}

impl<P> Clone for Prepare<P> {
    fn clone(&self) -> Self {
        Prepare {
            pair: PhantomData,
            options: self.options.clone(),
        }
    }
}

impl<P: Pair> Statements for Prepare<P> {
    type Prepared = P::Transactions;

    fn prepare<C: Session>(
        &self,
        session: &mut C,
    ) -> impl Future<Output = Result<P::Transactions, SessionError>> + Send {
        P::Transactions::prepare(session, &self.options)
    }
}
