//! What users and the exchange enter: every random number of the transactions is drawn here, in the hammer.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Arc;

use super::fees::{TradeType, QUANTITIES};
use super::options::Options;
use super::population::{
    business_day, Account, Population, EXCHANGES, INDUSTRIES, MARKET_DAYS, MARKET_FIRST_DAY,
    NATIONAL_RATES, REGIONAL_RATES, SECTORS, UNIT_BROKERS, UNIT_COMPANIES, UNIT_CUSTOMERS,
};
use super::random::{Rng, Skew};
use crate::engines::Access;

/// The transaction types in the workload's order: those of customers, those of the exchange, that of the clock.
pub const NAMES: &[&str] = &[
    "broker-volume",
    "customer-position",
    "market-watch",
    "security-detail",
    "trade-lookup",
    "trade-order",
    "trade-status",
    "trade-update",
    "trade-result",
    "market-feed",
    "data-maintenance",
];

/// How many cards of each of the customers' types a deck has.
pub const CARDS: [u32; 8] = [49, 130, 180, 140, 80, 101, 190, 20];
/// The index of trade orders in [`NAMES`].
pub const TRADE_ORDER: usize = 5;
/// The indexes of what users do not do.
pub const UNATTENDED: &[usize] = &[8, 9, 10];

/// Companies that follow each other, among which those of an industry are watched.
const WATCHED_COMPANIES: u64 = 5_000;
/// Trades that a lookup or an update lists.
const LISTED_TRADES: usize = 20;

/// What a user or the exchange enters.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// Open limit orders of brokers, by name with a comma between, in a sector.
    BrokerVolume {
        /// Names.
        brokers: String,
        /// Name.
        sector: String,
    },
    /// What a customer has.
    CustomerPosition {
        /// The customer.
        customer: u64,
        /// Whether it is named by its tax number.
        by_tax_number: bool,
        /// The account whose latest trades are wanted as well.
        history_of: Option<u64>,
    },
    /// How much securities have gained since a day.
    MarketWatch {
        /// Which of them.
        list: Watched,
        /// The day.
        day: i32,
    },
    /// All about a security.
    SecurityDetail {
        /// The security.
        security: u64,
        /// From which day on.
        from_day: i32,
        /// How many days.
        days: i16,
        /// Whether articles are wanted whole.
        whole_articles: bool,
    },
    /// Trades of the past.
    TradeLookup(Lookup),
    /// A new order.
    TradeOrder(Order),
    /// The latest trades of an account.
    TradeStatus {
        /// The account.
        account: u64,
    },
    /// Trades of the past, which are changed.
    TradeUpdate(Lookup),
    /// What the exchange has done with an order.
    TradeResult(Execution),
    /// Prices of the exchange.
    MarketFeed(Vec<Tick>),
    /// Upkeep of one table.
    DataMaintenance(Upkeep),
}

/// Which securities are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watched {
    /// Those of a customer's list.
    List(u64),
    /// Those that an account holds.
    Account(u64),
    /// Those of an industry, by name, among companies that follow each other.
    Industry(String, [u64; 2]),
}

/// Which trades of the past are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// Those of these numbers.
    Numbers(Vec<i64>),
    /// Those of an account from a moment on.
    Account(u64, i64),
    /// Those in a security from a moment on.
    Security(u64, i64),
    /// The holdings that the first trade of an account from a moment on created or changed.
    Holdings(u64, i64),
}

/// A new order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Number of the trade.
    pub id: i64,
    /// Whose it is.
    pub account: Account,
    /// Who gives it, where that is not the owner.
    pub executor: Option<u64>,
    /// What is traded.
    pub security: u64,
    /// Whether it is named by company and issue.
    pub by_company: bool,
    /// Type.
    pub kind: TradeType,
    /// How many.
    pub quantity: u32,
    /// Limit in hundredths; 0 for a market order.
    pub limit_cents: i64,
    /// Whether it is paid with cash.
    pub is_cash: bool,
    /// Whether the last holdings go first.
    pub is_lifo: bool,
    /// Whether it is taken back before it is committed.
    pub rolls_back: bool,
}

/// What the exchange has done with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execution {
    /// Number of the trade.
    pub id: i64,
    /// What was traded.
    pub security: u64,
    /// How many.
    pub quantity: u32,
    /// At which price, hundredths.
    pub price_cents: i64,
}

/// An entry of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tick {
    /// The security.
    pub security: u64,
    /// Its price, hundredths.
    pub price_cents: i64,
    /// How many were traded.
    pub quantity: u32,
    /// Whether it says that a limit was reached.
    pub is_limit: bool,
}

/// Upkeep of one table: which of the twelve statements, with a number and a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// Which statement.
    pub table: usize,
    /// Number of the row, or of the day.
    pub number: i64,
    /// Symbol or tax rate.
    pub name: String,
}

impl Input {
    /// The index of its type in [`NAMES`].
    pub fn kind(&self) -> usize {
        match self {
            Input::BrokerVolume { .. } => 0,
            Input::CustomerPosition { .. } => 1,
            Input::MarketWatch { .. } => 2,
            Input::SecurityDetail { .. } => 3,
            Input::TradeLookup(_) => 4,
            Input::TradeOrder(_) => TRADE_ORDER,
            Input::TradeStatus { .. } => 6,
            Input::TradeUpdate(_) => 7,
            Input::TradeResult(_) => 8,
            Input::MarketFeed(_) => 9,
            Input::DataMaintenance(_) => 10,
        }
    }

    /// Whether it writes.
    pub fn access(&self) -> Access {
        match self.kind() {
            0..=4 | 6 => Access::Read,
            _ => Access::Write,
        }
    }
}

/// What all users of a run draw from.
#[derive(Debug)]
pub struct Source {
    /// Who and what there is.
    pub population: Population,
    trades: Skew,
    moments: Skew,
    days: Skew,
    last_order: AtomicI64,
}

impl Source {
    /// What a run of a seed draws from, whose first order comes behind a number.
    pub fn new(
        population: &Population,
        seed: u64,
        options: &Options,
        last_trade: i64,
    ) -> Arc<Self> {
        let skew = |number, count| Skew::new(seed, number, count, options.skew_part);
        Arc::new(Source {
            population: population.clone(),
            trades: skew(1, population.trades()),
            moments: skew(2, population.unit_trades()),
            days: skew(3, MARKET_DAYS),
            last_order: AtomicI64::new(last_trade),
        })
    }

    /// A of the skews of trades, moments and days.
    pub fn skews(&self) -> [u64; 3] {
        [self.trades.a(), self.moments.a(), self.days.a()]
    }

    /// The input of one of the customers' types.
    pub fn draw(&self, kind: usize, rng: &mut Rng) -> Input {
        match kind {
            0 => self.draw_broker_volume(rng),
            1 => self.draw_customer_position(rng),
            2 => self.draw_market_watch(rng),
            3 => self.draw_security_detail(rng),
            4 => Input::TradeLookup(self.draw_lookup([30, 60, 90], rng)),
            TRADE_ORDER => Input::TradeOrder(self.draw_order(rng)),
            6 => Input::TradeStatus {
                account: self.population.pick_account(rng).number,
            },
            _ => Input::TradeUpdate(self.draw_lookup([33, 66, 100], rng)),
        }
    }

    /// 20 to 40 names; all of them where there are fewer.
    fn draw_broker_volume(&self, rng: &mut Rng) -> Input {
        let all = self.population.units * UNIT_BROKERS;
        let count = u64::from(rng.uniform(20, 40)).min(all);
        let (first, step) = (rng.below(all), 1 + rng.below(all.min(7)));
        let step = if gcd(step, all) == 1 { step } else { 1 };
        let name = |place| super::tables::broker_name((first + place * step) % all + 1);
        let names: Vec<String> = (0..count).map(name).collect();
        Input::BrokerVolume {
            brokers: names.join(","),
            sector: super::tables::sector_name(rng.below(SECTORS)),
        }
    }

    fn draw_customer_position(&self, rng: &mut Rng) -> Input {
        let account = self.population.pick_account(rng);
        Input::CustomerPosition {
            customer: account.customer,
            by_tax_number: rng.percent(50),
            history_of: rng.percent(50).then_some(account.number),
        }
    }

    fn draw_market_watch(&self, rng: &mut Rng) -> Input {
        let list = match rng.uniform(0, 99) {
            0..60 => Watched::List(self.population.pick_customer(rng)),
            60..95 => Watched::Account(self.population.pick_account(rng).number),
            _ => {
                let all = self.population.units * UNIT_COMPANIES;
                let watched = all.min(WATCHED_COMPANIES);
                let first = rng.below(all - watched + 1);
                let name = super::tables::industry_name(rng.below(INDUSTRIES));
                Watched::Industry(name, [first + 1, first + watched])
            }
        };
        let day = business_day(MARKET_FIRST_DAY, self.days.draw(rng)) as i32;
        Input::MarketWatch { list, day }
    }

    fn draw_security_detail(&self, rng: &mut Rng) -> Input {
        let days = rng.uniform(5, 20);
        let first = rng.below(MARKET_DAYS - u64::from(days) + 1);
        Input::SecurityDetail {
            security: rng.below(self.population.securities()),
            from_day: business_day(MARKET_FIRST_DAY, first) as i32,
            days: days as i16,
            whole_articles: rng.percent(1),
        }
    }

    /// `shares` of 100 are the bounds of the first three frames.
    fn draw_lookup(&self, shares: [u32; 3], rng: &mut Rng) -> Lookup {
        let at_us = |place| self.population.traded_at_us(place);
        let percent = rng.uniform(0, 99);
        if percent < shares[0] {
            let mut numbers: Vec<i64> = Vec::with_capacity(LISTED_TRADES);
            while numbers.len() < LISTED_TRADES {
                let number = self.trades.draw(rng) as i64 + 1;
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
            numbers.sort_unstable();
            return Lookup::Numbers(numbers);
        }
        if (shares[1]..shares[2]).contains(&percent) {
            let security = rng.below(self.population.securities());
            return Lookup::Security(security, at_us(rng.below(self.population.unit_trades())));
        }
        let account = self.population.pick_account(rng).number;
        match percent < shares[1] {
            true => Lookup::Account(account, at_us(self.moments.draw(rng))),
            false => Lookup::Holdings(account, at_us(rng.below(self.population.unit_trades()))),
        }
    }

    fn draw_order(&self, rng: &mut Rng) -> Order {
        let population = &self.population;
        let account = population.pick_account(rng);
        let security = population.pick_traded(account.number, rng);
        let kind = TradeType::of_percent(rng.uniform(0, 99));
        // Two in five accounts have a deputy, who gives one order in four: a tenth of all.
        let deputy = population.deputies(account).next();
        let swing = population.swing(security);
        let limit =
            swing.mid_cents + swing.half_cents * (std::f64::consts::TAU * rng.share()).sin();
        Order {
            id: self.last_order.fetch_add(1, Ordering::Relaxed) + 1,
            account,
            executor: deputy.filter(|_| rng.percent(25)),
            security,
            by_company: rng.percent(40),
            kind,
            quantity: QUANTITIES[rng.uniform(0, 3) as usize],
            limit_cents: if kind.is_market() {
                0
            } else {
                limit.round() as i64
            },
            is_cash: kind.is_sell() || !rng.percent(16),
            is_lifo: rng.percent(35),
            rolls_back: rng.uniform(1, 101) == 1,
        }
    }

    /// The upkeep of a number: one table after the other.
    pub fn draw_upkeep(&self, number: u64, rng: &mut Rng) -> Upkeep {
        let population = &self.population;
        let table = (number % 12) as usize;
        let addresses = EXCHANGES + population.units * (UNIT_CUSTOMERS + UNIT_COMPANIES);
        let rates = NATIONAL_RATES.iter().sum::<u64>() + REGIONAL_RATES;
        let one_of = |count: u64, rng: &mut Rng| rng.below(count) as i64 + 1;
        let number = match table {
            0 => population.pick_account(rng).number as i64 + 1,
            1 => one_of(addresses, rng),
            2 | 7 | 8 => one_of(population.units * UNIT_COMPANIES, rng),
            5 => rng.uniform(1, 31).into(),
            _ => one_of(population.customers(), rng),
        };
        let symbol = population.symbol(rng.below(population.securities()));
        let name = match table {
            10 => super::tables::tax_id(rng.below(rates)),
            _ => String::from_utf8_lossy(&symbol).into_owned(),
        };
        Upkeep {
            table,
            number,
            name,
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests;
