//! The same transactions leave the same rows on every engine, show the same, and list as many rows.

use stithy_hammer::engines::{mysql, postgresql, sqlite, sqlserver};
use stithy_hammer::engines::{Access, Answer, Session, Target};
use stithy_hammer::workloads::brokerage::input::{Execution, Input, Source, Tick, CARDS};
use stithy_hammer::workloads::brokerage::options::Options;
use stithy_hammer::workloads::brokerage::population::Population;
use stithy_hammer::workloads::brokerage::random::{Domain, Rng};
use stithy_hammer::workloads::brokerage::statements::{
    OnMySql, OnPostgresql, OnSqlServer, OnSqlite, Pair, Shown, Transactions,
};

use super::{choice, loaded};
use crate::support;
use crate::support::normal::{self, Content};

/// What a transaction shows, and how many rows each of its reads lists.
type Screen = (Shown, Vec<usize>);

/// One connection on which transactions are done one after the other.
struct Counter<T: Target, P: Pair> {
    session: T::Session,
    transactions: P::Transactions,
    population: Population,
}

/// When the first transaction is done.
const START_US: i64 = 850_000_000_000_000;

/// What is done when, and what it shows.
type Act = (Input, i64, Screen);

impl<T: Target, P: Pair> Counter<T, P> {
    async fn open(url: &str) -> Self {
        let target = T::parse(url).unwrap();
        let mut session = target.open(support::LOAD).await.unwrap();
        Counter {
            transactions: P::Transactions::prepare(&mut session).await.unwrap(),
            session,
            population: Population::new(42, 1_000, 8),
        }
    }

    async fn act(&mut self, input: &Input, date_us: i64) -> Screen {
        let (session, population) = (&mut self.session, &self.population);
        let acted = self.transactions.act(session, population, input, date_us);
        let mut shown = acted
            .await
            .unwrap_or_else(|error| panic!("{input:?}: {error:?}"));
        assert!(!self.session.in_transaction());
        shown.reached.sort_unstable();
        let answer = self.session.answer();
        let listed = (0..7).map(|step| answer.rows(step).count());
        match input.access() {
            Access::Read => (shown, listed.collect()),
            Access::Write => (shown, Vec::new()),
        }
    }
}

/// An exchange without a clock: results follow their orders, and after ten of them a feed reaches limits.
#[derive(Default)]
struct Market {
    due: Vec<Input>,
    limits: Vec<(i64, Tick)>,
    traded: Vec<Tick>,
}

impl Market {
    /// What follows from what a transaction has shown.
    fn take(&mut self, population: &Population, input: &Input, shown: &Shown) {
        match input {
            Input::TradeOrder(order) if !order.rolls_back => {
                let tick = Tick {
                    security: order.security,
                    price_cents: shown.price_cents,
                    quantity: order.quantity,
                    is_limit: !order.kind.is_market(),
                };
                match tick.is_limit {
                    true => self.limits.push((order.id, tick)),
                    false => self.execute(order.id, tick),
                }
            }
            Input::TradeResult(_) if self.traded.len() >= 10 => {
                let mut ticks: Vec<Tick> = self.traded.drain(..10).collect();
                ticks.extend(self.limits.iter().map(|(_, tick)| *tick).take(3));
                ticks.sort_by_key(|tick| population.symbol(tick.security));
                self.due.push(Input::MarketFeed(ticks));
            }
            Input::MarketFeed(_) => {
                let known = |(id, _): &mut (i64, Tick)| shown.reached.contains(id);
                let reached: Vec<(i64, Tick)> = self.limits.extract_if(.., known).collect();
                assert_eq!(shown.reached.len(), reached.len());
                reached
                    .into_iter()
                    .for_each(|(id, tick)| self.execute(id, tick));
            }
            _ => {}
        }
    }

    fn execute(&mut self, id: i64, tick: Tick) {
        self.traded.push(tick);
        self.due.push(Input::TradeResult(Execution {
            id,
            security: tick.security,
            quantity: tick.quantity,
            // Some gain, some lose.
            price_cents: tick.price_cents + id % 301 - 150,
        }));
    }
}

/// Every type of some thousand transactions with what they show; what the exchange does follows from it.
async fn record(url: &str) -> Vec<Act> {
    let mut counter = Counter::<postgresql::Target, OnPostgresql>::open(url).await;
    let population = counter.population.clone();
    let options = Options::read(&choice()).unwrap();
    let source = Source::new(&population, 5, &options, 460_800);
    let mut rng = Rng::of(5, Domain::User, 0, 0);
    let cards: Vec<usize> = (0..CARDS.len())
        .flat_map(|kind| vec![kind; CARDS[kind] as usize])
        .collect();
    let (mut market, mut acts) = (Market::default(), Vec::new());
    for number in 0..2_000_u64 {
        let kind = cards[rng.below(cards.len() as u64) as usize];
        market.due.push(match number % 40 {
            0 => Input::DataMaintenance(source.draw_upkeep(number / 40, &mut rng)),
            _ => source.draw(kind, &mut rng),
        });
        while let Some(input) = market.due.pop() {
            let date_us = START_US + acts.len() as i64;
            let screen = counter.act(&input, date_us).await;
            market.take(&population, &input, &screen.0);
            acts.push((input, date_us, screen));
        }
    }
    // A feed that was under way before its orders reaches none of them.
    let late = Input::MarketFeed(vec![market.limits[0].1]);
    let screen = counter.act(&late, START_US - 1).await;
    assert!(screen.0.reached.is_empty());
    acts.push((late, START_US - 1, screen));
    acts
}

/// Nothing shown and no row differs, in any of the 33 tables.
async fn assert_same<T: Target, P: Pair>(
    url: &str,
    dialect: normal::Dialect,
    acts: &[Act],
    expected: &Content<postgresql::Target>,
) {
    let mut counter = Counter::<T, P>::open(url).await;
    for (input, date_us, screen) in acts {
        assert_eq!(*screen, counter.act(input, *date_us).await, "{input:?}");
    }
    let content = Content::<T>::of_tables(url, dialect, normal::brokerage()).await;
    expected.assert_same_as(&content).await;
}

/// The same seeded transactions of all types on all engines.
#[tokio::test]
async fn the_same_transactions_leave_the_same_rows() {
    let instance = support::shared();
    let url = instance.copy_database(loaded());
    let acts = record(&url).await;
    let some = |holds: fn(&Act) -> bool| acts.iter().any(holds);
    assert!((0..11).all(|kind| acts.iter().any(|(input, ..)| input.kind() == kind)));
    assert!(some(|(_, _, (shown, _))| shown.rolled_back));
    assert!(some(|(_, _, (shown, _))| shown.reached.len() > 1));
    let expected =
        Content::<postgresql::Target>::of_tables(&url, normal::POSTGRESQL, normal::brokerage());
    let expected = expected.await;
    let folder = super::sqlite::copy();
    let copied = folder.url("");
    assert_same::<sqlite::Target, OnSqlite>(&copied, normal::SQLITE, &acts, &expected).await;
    if let Some(server) = super::mariadb::start(&[]) {
        let copied = server.url();
        assert_same::<mysql::Target, OnMySql>(&copied, normal::MYSQL, &acts, &expected).await;
    }
    if let Some(database) = super::sqlserver::loaded("brokerage_rows").await {
        let url = database.url();
        assert_same::<sqlserver::Target, OnSqlServer>(&url, normal::SQL_SERVER, &acts, &expected)
            .await;
        database.drop().await;
    }
    drop(expected);
    instance.drop_database(&url);
}
