//! The transactions as batches of statements and calls, one round trip each.

use std::marker::PhantomData;

use super::input::{Input, Lookup, Order, Tick, Watched};
use super::population::Population;
use super::statements::{Pair, Shown, Transactions};
use super::tables::{company_name, issue_name, person};
use crate::engines::{Answer, Batch, Params, Row, Session, SessionError, Statement};

/// Trades that a status lists.
const STATUS_TRADES: usize = 50;
/// Trades that a position lists, each with history rows.
const HISTORY_ROWS: usize = 10;

/// What the transactions say to an engine. Lookups have a text for numbers, for an account and for a security.
pub struct Texts {
    /// Open limit orders of brokers.
    pub broker_volume: &'static str,
    /// A customer by number, and by tax number.
    pub customer: [&'static str; 2],
    /// Its accounts, in the same two ways.
    pub position: [&'static str; 2],
    /// The latest trades of an account with their states.
    pub position_history: &'static str,
    /// The gain of a watch list, of what an account holds, of an industry.
    pub market_watch: [&'static str; 3],
    /// A security with its company, competitors, quarters, last trade.
    pub security_detail: [&'static str; 4],
    /// Its prices from a day on, so many.
    pub daily: &'static str,
    /// Its news in short, and whole.
    pub news: [&'static str; 2],
    /// Trades of a lookup.
    pub trades: [&'static str; 3],
    /// Their states.
    pub histories: [&'static str; 3],
    /// Changes of the holdings of a trade.
    pub holdings: &'static str,
    /// The latest trades of an account, and whose it is.
    pub status: [&'static str; 2],
    /// Changes of the trades of a lookup.
    pub updates: [&'static str; 3],
    /// Upkeep of each of twelve tables.
    pub upkeep: [&'static str; 12],
    /// Calls of an order, a result and a feed, or the steps of [`super::plain`].
    pub steps: &'static [&'static str],
}

/// The places of the texts in the order in which they are prepared.
mod at {
    pub(super) const BROKER_VOLUME: usize = 0;
    pub(super) const CUSTOMER: usize = 1;
    pub(super) const POSITION: usize = 3;
    pub(super) const POSITION_HISTORY: usize = 5;
    pub(super) const MARKET_WATCH: usize = 6;
    pub(super) const SECURITY_DETAIL: usize = 9;
    pub(super) const DAILY: usize = 13;
    pub(super) const NEWS: usize = 14;
    pub(super) const TRADES: usize = 16;
    pub(super) const HISTORIES: usize = 19;
    pub(super) const HOLDINGS: usize = 22;
    pub(super) const STATUS: usize = 23;
    pub(super) const READS: usize = 25;
    pub(super) const UPDATES: usize = 25;
    pub(super) const UPKEEP: usize = 28;
    pub(super) const ORDER: usize = super::STEPS;
    pub(super) const RESULT: usize = super::STEPS + 1;
    pub(super) const FEED: usize = super::STEPS + 2;
}

/// The place of the first step.
pub(super) const STEPS: usize = 40;

impl Texts {
    /// Those that only read.
    fn reads(&self) -> Vec<&'static str> {
        let mut all = vec![self.broker_volume];
        all.extend(self.customer);
        all.extend(self.position);
        all.push(self.position_history);
        all.extend(self.market_watch);
        all.extend(self.security_detail);
        all.push(self.daily);
        all.extend(self.news);
        all.extend(self.trades);
        all.extend(self.histories);
        all.push(self.holdings);
        all.extend(self.status);
        debug_assert_eq!(at::READS, all.len());
        all
    }

    fn writes(&self) -> Vec<&'static str> {
        [&self.updates[..], &self.upkeep, self.steps].concat()
    }
}

/// The prepared statements of one session: the number of the first, which the others follow.
#[derive(Debug, Clone, Copy)]
pub struct Prepared(u16);

impl Prepared {
    /// Prepares those that only read.
    pub async fn prepare_reads(
        session: &mut impl Session,
        texts: &Texts,
    ) -> Result<Self, SessionError> {
        Prepared::prepare(session, &texts.reads()).await
    }

    async fn prepare(session: &mut impl Session, texts: &[&str]) -> Result<Self, SessionError> {
        let prepared = session.prepare(texts).await?;
        Ok(Prepared(prepared.first().map_or(0, |first| first.number())))
    }

    /// Queues the statement of a place.
    pub fn queue<S: Session>(
        self,
        session: &mut S,
        at: usize,
        write: impl FnOnce(&mut S::Params<'_>),
    ) {
        session.queue(Statement::numbered(self.0 + at as u16), write);
    }

    /// `number` counts from 0, the database from 1.
    fn queue_number(self, session: &mut impl Session, at: usize, number: u64) {
        self.queue(session, at, |params| params.int8(number as i64 + 1));
    }

    /// Queues what a transaction reads.
    pub fn queue_reads(self, session: &mut impl Session, population: &Population, input: &Input) {
        match input {
            Input::BrokerVolume { brokers, sector } => {
                self.queue(session, at::BROKER_VOLUME, |params| {
                    params.text(brokers.as_bytes());
                    params.text(sector.as_bytes());
                })
            }
            Input::CustomerPosition {
                customer,
                by_tax_number,
                history_of,
            } => {
                let way = usize::from(*by_tax_number);
                for statement in [at::CUSTOMER + way, at::POSITION + way] {
                    self.queue(session, statement, |params| match by_tax_number {
                        true => params.text(&population.tax_number(*customer)),
                        false => params.int8(*customer as i64 + 1),
                    });
                }
                if let Some(account) = history_of {
                    self.queue_number(session, at::POSITION_HISTORY, *account);
                }
            }
            Input::MarketWatch { list, day } => self.queue_watch(session, list, *day),
            Input::SecurityDetail {
                security,
                from_day,
                days,
                whole_articles,
            } => {
                let symbol = population.symbol(*security);
                let news = at::NEWS + usize::from(*whole_articles);
                for statement in (at::SECURITY_DETAIL..at::DAILY).chain([news]) {
                    self.queue(session, statement, |params| params.text(&symbol));
                }
                self.queue(session, at::DAILY, |params| {
                    params.text(&symbol);
                    params.int4(*from_day);
                    params.int2(*days);
                });
            }
            Input::TradeLookup(lookup) | Input::TradeUpdate(lookup) => {
                for statements in [at::TRADES, at::HISTORIES] {
                    self.queue_lookup(session, population, statements, lookup);
                    if matches!(lookup, Lookup::Holdings(..)) {
                        break;
                    }
                }
            }
            Input::TradeStatus { account } => {
                self.queue_number(session, at::STATUS, *account);
                self.queue_number(session, at::STATUS + 1, *account);
            }
            Input::TradeOrder(_)
            | Input::TradeResult(_)
            | Input::MarketFeed(_)
            | Input::DataMaintenance(_) => {}
        }
    }

    fn queue_watch(self, session: &mut impl Session, list: &Watched, day: i32) {
        let way = match list {
            Watched::List(_) => 0,
            Watched::Account(_) => 1,
            Watched::Industry(..) => 2,
        };
        self.queue(session, at::MARKET_WATCH + way, |params| match list {
            Watched::List(number) | Watched::Account(number) => {
                params.int8(*number as i64 + 1);
                params.int4(day);
            }
            Watched::Industry(name, [first, last]) => {
                params.text(name.as_bytes());
                params.int4(day);
                params.int8(*first as i64);
                params.int8(*last as i64);
            }
        });
    }

    fn queue_lookup(
        self,
        session: &mut impl Session,
        population: &Population,
        first: usize,
        lookup: &Lookup,
    ) {
        match lookup {
            Lookup::Numbers(numbers) => {
                self.queue(session, first, |params| {
                    params.int8_list(numbers.iter().copied())
                });
            }
            Lookup::Account(account, from_us) => self.queue(session, first + 1, |params| {
                params.int8(*account as i64 + 1);
                params.timestamp(*from_us);
            }),
            Lookup::Security(security, from_us) => self.queue(session, first + 2, |params| {
                params.text(&population.symbol(*security));
                params.timestamp(*from_us);
            }),
            Lookup::Holdings(account, from_us) => self.queue(session, at::HOLDINGS, |params| {
                params.int8(*account as i64 + 1);
                params.timestamp(*from_us);
            }),
        }
    }

    /// Queues what a transaction changes; gives how many statements that takes. `calls_commit` as for a [`Pair`].
    fn queue_changes(
        self,
        session: &mut impl Session,
        population: &Population,
        input: &Input,
        (date_us, calls_commit): (i64, bool),
    ) -> u16 {
        match input {
            Input::TradeUpdate(lookup) => {
                self.queue_lookup(session, population, at::UPDATES, lookup)
            }
            Input::TradeOrder(order) => {
                self.queue_order(session, population, order, (date_us, calls_commit));
            }
            Input::TradeResult(done) => self.queue(session, at::RESULT, |params| {
                params.int8(done.id);
                params.int8(done.price_cents);
                params.timestamp(date_us);
            }),
            Input::MarketFeed(ticks) => self.queue(session, at::FEED, |params| {
                params.text(&join_symbols(population, ticks));
                params.int4_list(ticks.iter().map(|tick| tick.price_cents as i32));
                params.int4_list(ticks.iter().map(|tick| tick.quantity as i32));
                params.timestamp(date_us);
            }),
            Input::DataMaintenance(upkeep) => {
                self.queue(session, at::UPKEEP + upkeep.table, |params| {
                    match upkeep.table {
                        6 => params.text(date_us.to_string().as_bytes()),
                        9 | 10 => params.text(upkeep.name.as_bytes()),
                        5 => {
                            params.int4(upkeep.number as i32);
                            params.text(upkeep.name.as_bytes());
                        }
                        _ => params.int8(upkeep.number),
                    }
                })
            }
            _ => return 0,
        }
        1
    }

    fn queue_order(
        self,
        session: &mut impl Session,
        population: &Population,
        order: &Order,
        (date_us, calls_commit): (i64, bool),
    ) {
        self.queue(session, at::ORDER, |params| {
            params.int8(order.id);
            params.int8(order.account.number as i64 + 1);
            match order.executor {
                Some(executor) => {
                    let (first, last) = person(population, executor);
                    params.text(&population.tax_number(executor));
                    params.text(last.as_bytes());
                    params.text(first.as_bytes());
                }
                None => (0..3).for_each(|_| params.null()),
            }
            if order.by_company {
                let (company, issue) = population.issue_of(order.security);
                params.null();
                params.text(company_name(company).as_bytes());
                params.text(issue_name(issue).as_bytes());
            } else {
                params.text(&population.symbol(order.security));
                params.null();
                params.null();
            }
            params.text(order.kind.id().as_bytes());
            params.int4(order.quantity as i32);
            match order.kind.is_market() {
                true => params.null(),
                false => params.int8(order.limit_cents),
            }
            params.int2(order.is_cash.into());
            params.int2(order.is_lifo.into());
            params.timestamp(date_us);
            if calls_commit {
                params.boolean(order.rolls_back);
            }
        });
    }
}

/// Transactions as batches and procedures of the server.
#[derive(Debug)]
pub struct Calls<P>(Prepared, PhantomData<P>);

impl<P> Calls<P> {
    /// The statements.
    pub fn statements(&self) -> Prepared {
        self.0
    }
}

impl<P> Clone for Calls<P> {
    fn clone(&self) -> Self {
        Calls(self.0, PhantomData)
    }
}

impl<P: Pair> Transactions for Calls<P> {
    async fn prepare(session: &mut impl Session) -> Result<Self, SessionError> {
        let texts = &P::STATEMENTS.texts;
        let all = [texts.reads(), texts.writes()].concat();
        Ok(Calls(Prepared::prepare(session, &all).await?, PhantomData))
    }

    async fn act(
        &self,
        session: &mut impl Session,
        population: &Population,
        input: &Input,
        date_us: i64,
    ) -> Result<Shown, SessionError> {
        let rolls_back = matches!(input, Input::TradeOrder(order) if order.rolls_back);
        let is_undone_here = rolls_back && !P::CALLS_COMMIT;
        session.start(match is_undone_here {
            true => Batch::First(input.access()),
            false => Batch::Whole(input.access()),
        });
        let told = (date_us, P::CALLS_COMMIT);
        let changes = self.0.queue_changes(session, population, input, told);
        if changes == 0 || !P::CALLS_COMMIT {
            self.0.queue_reads(session, population, input);
        }
        let answer = session.exchange().await?;
        refuse_short_answer(input, answer)?;
        let shown = read_shown(input, answer, changes);
        if is_undone_here {
            session.roll_back().await?;
        }
        Ok(Shown {
            rolled_back: rolls_back,
            ..shown
        })
    }
}

fn join_symbols(population: &Population, ticks: &[Tick]) -> Vec<u8> {
    let symbols: Vec<[u8; 6]> = ticks
        .iter()
        .map(|tick| population.symbol(tick.security))
        .collect();
    symbols.join(&b","[..])
}

/// What the specification takes for an error: lists that are shorter than they can be.
fn refuse_short_answer(input: &Input, answer: &impl Answer) -> Result<(), SessionError> {
    let rows = |step| answer.rows(step).count();
    let problem = match input {
        Input::TradeStatus { .. } if rows(0) < STATUS_TRADES => {
            "an account has fewer than 50 trades"
        }
        Input::CustomerPosition {
            history_of: Some(_),
            ..
        } if rows(2) < HISTORY_ROWS => "an account has fewer than 10 states of trades",
        Input::CustomerPosition { .. } if rows(1) == 0 => "a customer has no account",
        Input::MarketWatch { .. } if rows(0) != 1 => "a watch has no gain",
        Input::SecurityDetail { .. } if rows(2) != 20 || rows(4) != 2 => {
            "a company has no 20 quarters and 2 news"
        }
        _ => return Ok(()),
    };
    Err(SessionError::unexpected(problem))
}

fn read_shown(input: &Input, answer: &impl Answer, changes: u16) -> Shown {
    let mut shown = Shown::default();
    if changes == 0 {
        return shown;
    }
    match input {
        Input::TradeOrder(_) => {
            let price = answer.first(0).and_then(|row| row.integer(0));
            shown.price_cents = price.unwrap_or_default();
        }
        Input::MarketFeed(_) => {
            shown.reached = answer.rows(0).filter_map(|row| row.integer(0)).collect();
        }
        _ => {}
    }
    shown
}
