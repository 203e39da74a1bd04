//! The exchange: gets orders after their commit, answers each after a delay, watches limits, and gives prices.
//!
//! What it draws follows from the seed and the numbers of orders, not from the time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stithy_measure::{locked, Clock, Moment, SystemClock};

use super::input::{Execution, Input, Order, Source, Tick};
use super::options::Options;
use super::random::{Domain, Rng};
use crate::agenda::Agenda;

/// Results that make a feed.
const FEED_RESULTS: usize = 10;
/// Entries of a feed: its results, then reached limits and others.
const FEED_ENTRIES: usize = 20;
/// Between the start of 1970 and that of 2000, seconds.
const SINCE_2000_S: f64 = 946_684_800.0;

/// The exchange of a run, which makes due what `S` does.
pub struct Exchange<S> {
    seed: u64,
    source: Arc<Source>,
    price_period_s: f64,
    delay_mean_s: f64,
    maintenance_interval: Duration,
    clock: SystemClock,
    /// What it has made due.
    pub agenda: Arc<Agenda<S>>,
    upkeeps: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Orders with limits that were sent: what, and how many.
    limits: HashMap<i64, (u64, u32)>,
    /// When the limits of securities are reached, and at which prices.
    reaching: BinaryHeap<Reverse<(Moment, u64, i64)>>,
    /// What was traded since the last feed.
    traded: Vec<Tick>,
    feeds: u64,
    counts: Counts,
}

/// What the exchange has got and given.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Orders that it got, market orders and limit orders.
    pub orders: u64,
    /// Limits that feeds have reached.
    pub limits_reached: u64,
    /// Results that were committed.
    pub results: u64,
    /// Feeds that were committed.
    pub feeds: u64,
    /// Executions that were made due.
    pub executions: u64,
}

impl<S> Exchange<S> {
    /// The exchange of a run, over a number of connections.
    pub fn new(seed: u64, source: Arc<Source>, options: &Options, agenda: Agenda<S>) -> Self {
        Exchange {
            seed,
            source,
            price_period_s: options.price_period_s,
            delay_mean_s: options.exchange_delay_s,
            maintenance_interval: Duration::from_secs_f64(options.maintenance_interval_s),
            clock: SystemClock::start(),
            agenda: Arc::new(agenda),
            upkeeps: AtomicU64::new(0),
            state: Mutex::default(),
        }
    }

    /// Seconds since the start of 2000, by which prices go.
    fn now_s(&self) -> f64 {
        self.clock.unix_s(self.clock.now()) - SINCE_2000_S
    }

    fn price_cents(&self, security: u64) -> i64 {
        let population = &self.source.population;
        population.price_cents(security, self.now_s(), self.price_period_s)
    }

    /// The next upkeep, and when it is due.
    pub fn plan_upkeep(&self) -> (Moment, Input) {
        let number = self.upkeeps.fetch_add(1, Ordering::Relaxed);
        let mut rng = Rng::of(self.seed, Domain::Exchange, number, 2);
        let due = Moment::START + self.maintenance_interval * (number as u32 + 1);
        (
            due,
            Input::DataMaintenance(self.source.draw_upkeep(number, &mut rng)),
        )
    }

    /// An order is about to be sent: whatever becomes of its answer, its limit may be reached.
    pub fn expect(&self, order: &Order) {
        if !order.kind.is_market() && !order.rolls_back {
            let mut state = locked(&self.state);
            state
                .limits
                .insert(order.id, (order.security, order.quantity));
        }
    }

    /// An order was committed: its result, due in a while; None where it waits for its limit.
    pub fn take_order(&self, order: &Order) -> Option<(Moment, Input)> {
        let mut state = locked(&self.state);
        state.counts.orders += 1;
        if order.kind.is_market() {
            drop(state);
            return Some(self.execute(order.id, (order.security, order.quantity), None));
        }
        let swing = self.source.population.swing(order.security);
        let (limit, rising) = (order.limit_cents as f64, order.kind.waits_for_rise());
        let after_s = swing.reaches_after_s(limit, rising, self.now_s(), self.price_period_s);
        let at = self.agenda.now() + Duration::from_secs_f64(after_s);
        state
            .reaching
            .push(Reverse((at, order.security, order.limit_cents)));
        None
    }

    /// A result, due after a delay of an exponential law.
    fn execute(
        &self,
        id: i64,
        (security, quantity): (u64, u32),
        price_cents: Option<i64>,
    ) -> (Moment, Input) {
        locked(&self.state).counts.executions += 1;
        let mut rng = Rng::of(self.seed, Domain::Exchange, id as u64, 0);
        let delay_s = -rng.positive_share().ln() * self.delay_mean_s;
        let execution = Execution {
            id,
            security,
            quantity,
            price_cents: price_cents.unwrap_or_else(|| self.price_cents(security)),
        };
        let due = self.agenda.now() + Duration::from_secs_f64(delay_s);
        (due, Input::TradeResult(execution))
    }

    /// A result was committed; gives a feed where it is the tenth.
    pub fn take_result(&self, done: &Execution) -> Option<Input> {
        let mut state = locked(&self.state);
        state.counts.results += 1;
        state.traded.push(Tick {
            security: done.security,
            price_cents: done.price_cents,
            quantity: done.quantity,
            is_limit: false,
        });
        (state.traded.len() >= FEED_RESULTS).then(|| self.make_feed(&mut state))
    }

    /// Ten results, then securities whose limits were reached, then any; in the order of their symbols, in which two
    /// feeds take their locks.
    fn make_feed(&self, state: &mut State) -> Input {
        let mut ticks: Vec<Tick> = state.traded.drain(..FEED_RESULTS).collect();
        let mut rng = Rng::of(self.seed, Domain::Exchange, state.feeds, 1);
        state.feeds += 1;
        let now = self.agenda.now();
        while ticks.len() < FEED_ENTRIES {
            let reached = state.reaching.peek().filter(|Reverse((at, ..))| *at <= now);
            let tick = match reached.map(|Reverse((_, security, price))| (*security, *price)) {
                Some((security, price_cents)) => {
                    state.reaching.pop();
                    (security, price_cents, true)
                }
                None => {
                    let security = rng.below(self.source.population.securities());
                    (security, self.price_cents(security), false)
                }
            };
            let (security, price_cents, is_limit) = tick;
            ticks.push(Tick {
                security,
                price_cents,
                quantity: 100 * rng.uniform(1, 8),
                is_limit,
            });
        }
        let population = &self.source.population;
        ticks.sort_by_cached_key(|tick| population.symbol(tick.security));
        Input::MarketFeed(ticks)
    }

    /// A feed was committed, which reached the limits of orders: their results.
    pub fn take_feed(&self, ticks: &[Tick], reached: &[i64]) -> Vec<(Moment, Input)> {
        let known: Vec<_> = {
            let mut state = locked(&self.state);
            state.counts.feeds += 1;
            state.counts.limits_reached += reached.len() as u64;
            let known = reached
                .iter()
                .map(|id| state.limits.remove(id).map(|order| (*id, order)));
            known.collect()
        };
        let results = known.into_iter().flatten().map(|(id, order)| {
            let tick = ticks.iter().find(|tick| tick.security == order.0);
            self.execute(id, order, tick.map(|tick| tick.price_cents))
        });
        results.collect()
    }

    /// A feed came to nothing: its limits are reached by the next one.
    pub fn lose_feed(&self, ticks: &[Tick]) {
        let (mut state, now) = (locked(&self.state), self.agenda.now());
        let limits = ticks.iter().filter(|tick| tick.is_limit);
        let limits = limits.map(|tick| Reverse((now, tick.security, tick.price_cents)));
        state.reaching.extend(limits);
    }

    /// An order is certain not to be there.
    pub fn forget(&self, order: &Order) {
        locked(&self.state).limits.remove(&order.id);
    }

    /// What it has got and given so far, and how many limits are not reached.
    pub fn counts(&self) -> (Counts, u64) {
        let state = locked(&self.state);
        (state.counts, state.limits.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use stithy_wire::WorkloadChoice;

    use super::super::fees::TradeType;
    use super::super::population::{Account, Population};
    use super::*;

    fn exchange() -> Exchange<()> {
        let text = r#"{"name": "brokerage", "customers": 1000, "days": 12}"#;
        let choice: WorkloadChoice = serde_json::from_str(text).unwrap();
        let options = Options::read(&choice).unwrap();
        let source = Source::new(&Population::new(3, 1_000, 12), 9, &options, 0);
        Exchange::new(9, source, &options, Agenda::new(1, &[]))
    }

    fn order(id: i64, kind: TradeType, limit_cents: i64) -> Order {
        Order {
            id,
            account: Account {
                number: 1,
                customer: 0,
            },
            executor: None,
            security: 5,
            by_company: false,
            kind,
            quantity: 200,
            limit_cents,
            is_cash: true,
            is_lifo: false,
            rolls_back: false,
        }
    }

    fn execution(id: i64) -> Execution {
        Execution {
            id,
            security: 7,
            quantity: 100,
            price_cents: 2_000,
        }
    }

    /// Delays are a second in the mean, whatever the time, and follow from the number of the order.
    #[test]
    fn market_orders_are_answered_after_a_second_in_the_mean() {
        let exchange = exchange();
        let due = |id| {
            exchange
                .take_order(&order(id, TradeType::MarketBuy, 0))
                .unwrap()
                .0
        };
        let sum_s: f64 = (0..20_000).map(|id| due(id).0 as f64 / 1e9).sum();
        assert!((sum_s / 20_000.0 - 1.0).abs() < 0.03);
        assert_eq!(due(7), due(7));
        assert_eq!(20_002, exchange.counts().0.orders);
    }

    /// Every tenth result makes a feed of twenty entries, its own among others, in the order of symbols.
    #[test]
    fn ten_results_make_a_feed() {
        let exchange = exchange();
        let feeds: Vec<Input> = (0..20)
            .filter_map(|id| exchange.take_result(&execution(id)))
            .collect();
        assert_eq!(2, feeds.len());
        for feed in feeds {
            let Input::MarketFeed(ticks) = feed else {
                panic!("{feed:?}")
            };
            assert_eq!(20, ticks.len());
            let own = |tick: &&Tick| tick.security == 7 && tick.price_cents == 2_000;
            assert_eq!(10, ticks.iter().filter(own).count());
            let population = &exchange.source.population;
            assert!(ticks.is_sorted_by_key(|tick| population.symbol(tick.security)));
        }
    }

    /// A limit that the price already is past comes with the next feed, and leads to a result once it was reached; a
    /// feed that was lost says it again.
    #[test]
    fn reached_limits_come_with_the_next_feed() {
        let exchange = exchange();
        let swing = exchange.source.population.swing(5);
        let high = (swing.mid_cents + swing.half_cents).floor() as i64;
        let limit = order(40, TradeType::LimitBuy, high);
        exchange.expect(&limit);
        assert_eq!(None, exchange.take_order(&limit));
        let mut feeds = (0..30).filter_map(|id| exchange.take_result(&execution(id)));
        let Some(Input::MarketFeed(ticks)) = feeds.next() else {
            panic!()
        };
        let reached = |ticks: &[Tick]| {
            ticks
                .iter()
                .any(|tick| (tick.security, tick.price_cents, tick.is_limit) == (5, high, true))
        };
        assert!(reached(&ticks), "{ticks:?}");
        exchange.lose_feed(&ticks);
        let Some(Input::MarketFeed(again)) = feeds.next() else {
            panic!()
        };
        assert!(reached(&again));
        let results = exchange.take_feed(&again, &[40, 99]);
        let [(_, Input::TradeResult(result))] = &results[..] else {
            panic!("{results:?}")
        };
        assert_eq!(
            (40, 200, high),
            (result.id, result.quantity, result.price_cents)
        );
        assert_eq!(0, exchange.counts().1);
    }
}
