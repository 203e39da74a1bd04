//! Who and what there is: how many of everything, which numbers they have, who owns what, and what it costs when.
//! All of it follows from the seed and the number of a thing alone.

use std::f64::consts::TAU;
use std::sync::Arc;

use super::random::{Domain, Permutation, Rng, Shuffle};

/// Customers of a load unit.
pub const UNIT_CUSTOMERS: u64 = 1_000;
/// Accounts of a load unit.
pub const UNIT_ACCOUNTS: u64 = 5_000;
/// Brokers of a load unit.
pub const UNIT_BROKERS: u64 = 10;
/// Companies of a load unit.
pub const UNIT_COMPANIES: u64 = 500;
/// Securities of a load unit.
pub const UNIT_SECURITIES: u64 = 685;
/// Trades of a load unit on a day: one in 500 s for each customer, over eight hours.
pub const DAY_TRADES: u64 = 57_600;
/// Industries.
pub const INDUSTRIES: u64 = 102;
/// Sectors.
pub const SECTORS: u64 = 12;
/// Exchanges.
pub const EXCHANGES: u64 = 4;
/// Regional tax rates, behind the national ones of two countries.
pub const REGIONAL_RATES: u64 = 311;
/// National tax rates of the two countries.
pub const NATIONAL_RATES: [u64; 2] = [5, 4];
/// Period of prices at load, seconds; limits are reached within it.
pub const PRICE_PERIOD_S: f64 = 900.0;
/// What every account has before its first trade, hundredths.
pub const OPENING_CENTS: i64 = 10_000_000;

const DAY_US: i64 = 86_400_000_000;
/// The first day of trades: Monday 2005-01-03, days since the start of 2000.
pub const FIRST_DAY: i64 = 1_829;
/// The first day of daily_market: Monday 2000-01-03.
pub const MARKET_FIRST_DAY: i64 = 2;
/// Days of daily_market.
pub const MARKET_DAYS: u64 = 1_305;
/// When exchanges open, microseconds of the day.
const OPEN_US: i64 = 9 * 3_600_000_000;
/// Half a second between two trades of a load unit.
const TRADE_US: i64 = 500_000;

/// A business day of a number, counted from a Monday.
pub fn business_day(first: i64, number: u64) -> i64 {
    first + (number / 5 * 7 + number % 5) as i64
}

/// What the customers of every load unit are like: a permutation of a thousand gives tiers and accounts.
#[derive(Debug)]
pub struct Roster {
    /// Tier of each customer, 1 to 3.
    pub tiers: Vec<u8>,
    /// The first account of each customer, and behind them the number of all.
    pub first_accounts: Vec<u16>,
    /// The customer of each account.
    pub owners: Vec<u16>,
    /// The customers of each tier.
    of_tier: [Vec<u16>; 3],
    /// Whose trades a day's are, before they are shuffled.
    dealt: Vec<u16>,
}

/// Accounts of the customers of tiers 2 and 3 in the order of a permutation: so many have so many accounts.
const ACCOUNTS: [&[(u16, u16)]; 3] = [
    &[(50, 1), (50, 2), (50, 3), (50, 4)],
    &[
        (86, 2),
        (86, 3),
        (85, 4),
        (86, 5),
        (85, 6),
        (86, 7),
        (86, 8),
    ],
    &[(33, 5), (33, 6), (34, 7), (34, 8), (33, 9), (33, 10)],
];

impl Roster {
    fn new(seed: u64) -> Self {
        let laid = (1_u8..).zip(ACCOUNTS).flat_map(|(tier, groups)| {
            let groups = groups.iter();
            groups.flat_map(move |(count, accounts)| (0..*count).map(move |_| (tier, *accounts)))
        });
        let laid: Vec<(u8, u16)> = laid.collect();
        let places = Permutation::new(seed, Shuffle::Customers as u64, UNIT_CUSTOMERS);
        let mut roster = Roster {
            tiers: Vec::new(),
            first_accounts: vec![0],
            owners: Vec::new(),
            of_tier: Default::default(),
            dealt: Vec::new(),
        };
        for customer in 0..UNIT_CUSTOMERS {
            let (tier, accounts) = laid[places.of(customer) as usize];
            roster.tiers.push(tier);
            roster.of_tier[usize::from(tier) - 1].push(customer as u16);
            let owners = roster.owners.len() + usize::from(accounts);
            roster.owners.resize(owners, customer as u16);
            roster.first_accounts.push(owners as u16);
        }
        roster.deal();
        roster
    }

    /// A customer has trades by its tier, each of its accounts as many.
    fn deal(&mut self) {
        // 200 + 2 * 600 + 3 * 200 shares of 28.8 trades a day.
        let (mut dealt, mut due) = (Vec::with_capacity(DAY_TRADES as usize), 0.0);
        for (account, owner) in self.owners.iter().enumerate() {
            let owner = usize::from(*owner);
            let accounts = self.first_accounts[owner + 1] - self.first_accounts[owner];
            due += 28.8 * f64::from(self.tiers[owner]) / f64::from(accounts);
            dealt.resize(f64::round(due) as usize, account as u16);
        }
        self.dealt = dealt;
    }

    /// How many accounts a customer has.
    pub fn accounts(&self, customer: usize) -> u64 {
        (self.first_accounts[customer + 1] - self.first_accounts[customer]).into()
    }
}

/// Who and what there is.
#[derive(Debug, Clone)]
pub struct Population {
    /// Seed of every value.
    pub seed: u64,
    /// Load units.
    pub units: u64,
    /// Initial trade days.
    pub days: u64,
    /// What the customers of every load unit are like.
    pub roster: Arc<Roster>,
    shuffled_securities: Permutation,
    symbols: Permutation,
    /// All securities in the order of their symbols.
    by_symbol: Arc<[u64]>,
    tax_numbers: Permutation,
}

/// An account, counted from 0, with those whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// The account.
    pub number: u64,
    /// The customer.
    pub customer: u64,
}

impl Population {
    /// The population of a seed and a size.
    pub fn new(seed: u64, customers: u32, days: u32) -> Self {
        let units = u64::from(customers) / UNIT_CUSTOMERS;
        let permutation = |which: Shuffle, count| Permutation::new(seed, which as u64, count);
        let mut population = Population {
            seed,
            units,
            days: days.into(),
            roster: Arc::new(Roster::new(seed)),
            shuffled_securities: permutation(Shuffle::Securities, units * UNIT_SECURITIES),
            symbols: permutation(Shuffle::Symbols, 26_u64.pow(6)),
            by_symbol: (0..units * UNIT_SECURITIES).collect(),
            tax_numbers: permutation(Shuffle::TaxNumbers, 1 << 40),
        };
        let mut sorted = population.by_symbol.to_vec();
        sorted.sort_by_cached_key(|security| population.symbol(*security));
        population.by_symbol = sorted.into();
        population
    }

    /// A stream of a domain for a thing.
    pub fn rng(&self, domain: Domain, number: u64) -> Rng {
        Rng::of(self.seed, domain, number, 0)
    }

    /// Customers.
    pub fn customers(&self) -> u64 {
        self.units * UNIT_CUSTOMERS
    }

    /// Securities.
    pub fn securities(&self) -> u64 {
        self.units * UNIT_SECURITIES
    }

    /// Initial trades of a load unit.
    pub fn unit_trades(&self) -> u64 {
        self.days * DAY_TRADES
    }

    /// Initial trades.
    pub fn trades(&self) -> u64 {
        self.units * self.unit_trades()
    }

    /// Tier of a customer, 1 to 3.
    pub fn tier(&self, customer: u64) -> u8 {
        self.roster.tiers[(customer % UNIT_CUSTOMERS) as usize]
    }

    /// The account of a number within a load unit.
    pub fn account(&self, unit: u64, number: u16) -> Account {
        let owner = self.roster.owners[usize::from(number)];
        Account {
            number: unit * UNIT_ACCOUNTS + u64::from(number),
            customer: unit * UNIT_CUSTOMERS + u64::from(owner),
        }
    }

    /// A customer as transactions pick them: load units evenly, then the tiers with 10, 60 and 30 %.
    pub fn pick_customer(&self, rng: &mut Rng) -> u64 {
        let unit = rng.below(self.units);
        let tier = match rng.uniform(0, 9) {
            0 => 0,
            1..=6 => 1,
            _ => 2,
        };
        let tier = &self.roster.of_tier[tier];
        let customer = tier[rng.below(tier.len() as u64) as usize];
        unit * UNIT_CUSTOMERS + u64::from(customer)
    }

    /// An account of such a customer.
    pub fn pick_account(&self, rng: &mut Rng) -> Account {
        let customer = self.pick_customer(rng);
        let owner = (customer % UNIT_CUSTOMERS) as usize;
        let within = rng.below(self.roster.accounts(owner));
        let first = u64::from(self.roster.first_accounts[owner]);
        Account {
            number: customer / UNIT_CUSTOMERS * UNIT_ACCOUNTS + first + within,
            customer,
        }
    }

    /// Whose the trades of a day are, in their order.
    pub fn day_accounts(&self, unit: u64, day: u64) -> impl Iterator<Item = u16> + '_ {
        let number = Shuffle::Day as u64 + unit * 100_000 + day;
        let order = Permutation::new(self.seed, number, DAY_TRADES);
        (0..DAY_TRADES).map(move |slot| self.roster.dealt[order.of(slot) as usize])
    }

    /// How many securities an account trades in, 6 to 14, and the place of the first in the shuffled ones.
    fn traded(&self, account: u64) -> (u64, u64) {
        let mut rng = self.rng(Domain::Account, account);
        let count = u64::from(rng.uniform(6, 14));
        (count, rng.below(self.securities()))
    }

    /// One of the securities that an account trades in.
    pub fn pick_traded(&self, account: u64, rng: &mut Rng) -> u64 {
        let (count, first) = self.traded(account);
        self.shuffled(first + rng.below(count))
    }

    /// The security at a place of the shuffled ones.
    pub fn shuffled(&self, place: u64) -> u64 {
        self.shuffled_securities.of(place % self.securities())
    }

    /// When the trade of a place in its load unit was done, microseconds since the start of 2000.
    pub fn traded_at_us(&self, place: u64) -> i64 {
        let day = business_day(FIRST_DAY, place / DAY_TRADES);
        day * DAY_US + OPEN_US + (place % DAY_TRADES) as i64 * TRADE_US
    }

    /// When the last of the initial trades was done.
    pub fn loaded_until_us(&self) -> i64 {
        self.traded_at_us(self.unit_trades())
    }

    /// The price of a security, hundredths: it swings between a low and a high once a period.
    pub fn price_cents(&self, security: u64, at_s: f64, period_s: f64) -> i64 {
        let swing = self.swing(security);
        let angle = TAU * (at_s / period_s + swing.phase);
        (swing.mid_cents + swing.half_cents * angle.sin()).round() as i64
    }

    /// Between which prices a security swings, and where it begins.
    pub fn swing(&self, security: u64) -> Swing {
        let mut rng = self.rng(Domain::Security, security);
        let mid_cents = 1_500.0 + 4_500.0 * rng.share();
        Swing {
            mid_cents,
            half_cents: mid_cents * (0.10 + 0.15 * rng.share()),
            phase: rng.share(),
        }
    }

    /// Symbol of a security: six letters.
    pub fn symbol(&self, security: u64) -> [u8; 6] {
        let mut rest = self.symbols.of(security);
        let mut symbol = [0; 6];
        for letter in &mut symbol {
            *letter = b'A' + (rest % 26) as u8;
            rest /= 26;
        }
        symbol
    }

    /// The securities at some places of the order of symbols.
    pub fn by_symbol(&self, places: std::ops::Range<u64>) -> impl Iterator<Item = u64> + '_ {
        places.map(move |place| self.by_symbol[place as usize])
    }

    /// Tax number of a customer: twelve letters and digits.
    pub fn tax_number(&self, customer: u64) -> [u8; 12] {
        const DIGITS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        let mut rest = self.tax_numbers.of(customer);
        let mut text = *b"TX0000000000";
        for digit in text[2..10].iter_mut() {
            *digit = DIGITS[(rest % 32) as usize];
            rest /= 32;
        }
        text
    }

    /// The company of a security, and which of its issues it is.
    pub fn issue_of(&self, security: u64) -> (u64, u64) {
        let (unit, number) = (security / UNIT_SECURITIES, security % UNIT_SECURITIES);
        let (company, issue) = match number {
            0..500 => (number, 0),
            500..600 => (number - 500, 1),
            600..650 => (number - 600, 2),
            650..675 => (number - 650, 3),
            _ => (number - 675, 4),
        };
        (unit * UNIT_COMPANIES + company, issue)
    }

    /// Another person who may act for an account, for two in five of them; one in twenty of these has two.
    pub fn deputies(&self, account: Account) -> impl Iterator<Item = u64> + '_ {
        let mut rng = Rng::of(self.seed, Domain::Account, account.number, 1);
        let count = match rng.uniform(0, 99) {
            0..60 => 0,
            60..98 => 1,
            _ => 2,
        };
        let customers = self.customers();
        let first = rng.below(customers - 2);
        // Neighbours, so that nobody is named twice, and never the owner.
        (0..count)
            .map(move |next| (account.customer + 1 + (first + next) % (customers - 1)) % customers)
    }

    /// Country of a customer, 0 or 1, and its two tax rates, counted over all rates.
    pub fn taxed(&self, customer: u64) -> (usize, u64, u64) {
        let mut rng = Rng::of(self.seed, Domain::Customer, customer, 1);
        let country = usize::from(rng.percent(30));
        let before = NATIONAL_RATES[..country].iter().sum::<u64>();
        let national = before + rng.below(NATIONAL_RATES[country]);
        let all_national = NATIONAL_RATES.iter().sum::<u64>();
        let regional = all_national + rng.below(REGIONAL_RATES);
        (country, national, regional)
    }

    /// Tax status of an account: 0 not taxable, 1 taxed and withheld, 2 taxed.
    pub fn tax_status(&self, account: u64) -> u8 {
        let mut rng = Rng::of(self.seed, Domain::Account, account, 2);
        match rng.uniform(0, 9) {
            0..2 => 0,
            2..7 => 1,
            _ => 2,
        }
    }
}

/// Between which prices a security swings: hundredths, and where in the period it begins, 0 to 1.
#[derive(Debug, Clone, Copy)]
pub struct Swing {
    /// Between the two.
    pub mid_cents: f64,
    /// From there to each of them.
    pub half_cents: f64,
    /// Where it begins.
    pub phase: f64,
}

impl Swing {
    /// How long until the price is at most (or `rising`: at least) a limit that it reaches, from `at_s` on, seconds.
    pub fn reaches_after_s(&self, limit_cents: f64, rising: bool, at_s: f64, period_s: f64) -> f64 {
        let share = ((limit_cents - self.mid_cents) / self.half_cents).clamp(-1.0, 1.0);
        let turn = share.asin() / TAU;
        // At least the limit from `turn` on, for as long as it takes to the mirrored place; at most, the other part.
        let (from, long) = match rising {
            true => (turn, 0.5 - 2.0 * turn),
            false => (0.5 - turn, 0.5 + 2.0 * turn),
        };
        let now = (at_s / period_s + self.phase - from).rem_euclid(1.0);
        match now <= long {
            true => 0.0,
            false => (1.0 - now) * period_s,
        }
    }
}

/// The rate of a tax, in ten-thousandths.
pub fn tax_rate(rate: u64) -> i64 {
    let national = NATIONAL_RATES.iter().sum::<u64>();
    match rate < national {
        true => 1_000 + 350 * rate as i64,
        false => 100 + (rate - national) as i64 * 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population() -> Population {
        Population::new(7, 2_000, 12)
    }

    /// 200, 600 and 200 customers of the tiers have 5,000 accounts, each with at least seven trades a day.
    #[test]
    fn a_load_unit_has_the_specified_customers() {
        let roster = population().roster;
        assert_eq!(
            [200, 600, 200],
            [0, 1, 2].map(|tier| roster.of_tier[tier].len())
        );
        assert_eq!(UNIT_ACCOUNTS as usize, roster.owners.len());
        assert_eq!(DAY_TRADES as usize, roster.dealt.len());
        let mut trades = vec![0; UNIT_ACCOUNTS as usize];
        roster
            .dealt
            .iter()
            .for_each(|account| trades[usize::from(*account)] += 1);
        assert_eq!(
            (Some(&7), Some(&36)),
            (trades.iter().min(), trades.iter().max().map(|_| &36))
        );
    }

    /// Tiers are picked with 10, 60 and 30 %, load units evenly.
    #[test]
    fn customers_are_picked_by_tier() {
        let (population, mut rng, mut tiers) = (population(), Rng::new(1, 1), [0_u32; 3]);
        let mut first_unit = 0;
        for _ in 0..100_000 {
            let account = population.pick_account(&mut rng);
            assert_eq!(
                account,
                population.account(
                    account.number / UNIT_ACCOUNTS,
                    (account.number % UNIT_ACCOUNTS) as u16
                )
            );
            tiers[usize::from(population.tier(account.customer)) - 1] += 1;
            first_unit += u32::from(account.customer < UNIT_CUSTOMERS);
        }
        let near = |count: u32, expected: u32| count.abs_diff(expected) < 700;
        assert!(
            near(tiers[0], 10_000) && near(tiers[1], 60_000) && near(first_unit, 50_000),
            "{tiers:?}"
        );
    }

    /// Symbols and tax numbers are unique, and so are the securities of an account.
    #[test]
    fn names_of_things_are_unique() {
        let population = population();
        let count = |all: std::collections::HashSet<Vec<u8>>| all.len() as u64;
        let symbols = (0..population.securities()).map(|s| population.symbol(s).to_vec());
        assert_eq!(population.securities(), count(symbols.collect()));
        let numbers = (0..population.customers()).map(|c| population.tax_number(c).to_vec());
        assert_eq!(population.customers(), count(numbers.collect()));
    }

    /// Companies have from one to five securities, and all have one.
    #[test]
    fn companies_have_one_to_five_securities() {
        let population = population();
        let mut issues = vec![Vec::new(); 2 * UNIT_COMPANIES as usize];
        for security in 0..population.securities() {
            let (company, issue) = population.issue_of(security);
            issues[company as usize].push(issue);
        }
        assert!(issues.iter().all(|issues| (1..=5).contains(&issues.len())));
        assert!(issues
            .iter()
            .all(|issues| issues.iter().copied().eq(0..issues.len() as u64)));
    }

    /// A limit is reached within a period, when the price is there and not before.
    #[test]
    fn a_limit_is_reached_when_the_price_is_there() {
        let (population, mut rng) = (population(), Rng::new(2, 2));
        for security in 0..300 {
            let swing = population.swing(security);
            let at_s = 1e8 * rng.share();
            let limit = swing.mid_cents + swing.half_cents * (TAU * rng.share()).sin();
            let rising = rng.percent(50);
            let after_s = swing.reaches_after_s(limit, rising, at_s, 900.0);
            assert!((0.0..=900.0).contains(&after_s));
            let price = |s| population.price_cents(security, s, 900.0) as f64;
            let past = |s: f64| {
                if rising {
                    price(s) - limit
                } else {
                    limit - price(s)
                }
            };
            assert!(past(at_s + after_s) > -1.0, "{after_s}");
            if after_s > 1.0 {
                assert!(past(at_s + after_s * 0.5) < 1.0);
                assert!(past(at_s) < 1.0);
            }
        }
    }

    /// Three in five accounts have nobody else, and nobody acts for itself.
    #[test]
    fn two_in_five_accounts_have_deputies() {
        let (population, mut counts) = (population(), [0_u32; 3]);
        for number in 0..UNIT_ACCOUNTS {
            let account = population.account(1, number as u16);
            let deputies: Vec<u64> = population.deputies(account).collect();
            assert!(!deputies.contains(&account.customer));
            assert!(deputies.len() < 2 || deputies[0] != deputies[1]);
            counts[deputies.len()] += 1;
        }
        assert!(
            counts[0].abs_diff(3_000) < 150 && counts[2].abs_diff(100) < 40,
            "{counts:?}"
        );
    }
}
