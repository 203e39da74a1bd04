//! The initial trades of a load unit, one after the other: business days without positions at the start, each trade
//! settled at once, and what its account then holds.

use super::fees::{self, TradeType, QUANTITIES, QUANTITY_RANGES};
use super::population::{
    tax_rate, Account, Population, DAY_TRADES, EXCHANGES, OPENING_CENTS, PRICE_PERIOD_S,
    UNIT_ACCOUNTS,
};
use super::random::{Domain, Rng};

/// A trade that was completed, with all that it led to. Amounts in hundredths, times in microseconds since 2000.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trade {
    /// Its number, from 1.
    pub id: i64,
    /// Whose it is.
    pub account: Account,
    /// What was traded.
    pub security: u64,
    /// Its type.
    pub kind: TradeType,
    /// How many.
    pub quantity: i64,
    /// At which price.
    pub price_cents: i64,
    /// Whether it was paid with cash.
    pub is_cash: bool,
    /// Whether the last holding was taken first.
    pub is_lifo: bool,
    /// When it was done.
    pub at_us: i64,
    /// When it was sent to the exchange.
    pub sent_us: i64,
    /// When it was ordered: earlier for one that waited for a price.
    pub ordered_us: i64,
    /// Fixed charge.
    pub charge_cents: i64,
    /// Commission.
    pub commission_cents: i64,
    /// Tax on its gain.
    pub tax_cents: i64,
    /// What the account got or, below 0, paid.
    pub amount_cents: i64,
    /// Changes of holdings, by the trade that created each.
    pub changes: Vec<Change>,
}

/// A holding that a trade changed or created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The trade that created it.
    pub holding: i64,
    /// Quantity before; 0 where the trade created it.
    pub before: i64,
    /// Quantity after.
    pub after: i64,
}

/// What is held since one trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding {
    /// That trade.
    pub trade: i64,
    /// When it was done.
    pub at_us: i64,
    /// At which price.
    pub price_cents: i64,
    /// How many, below 0 for a short sale.
    pub quantity: i64,
}

/// What an account has.
#[derive(Debug, Clone, Default)]
struct Book {
    cash_cents: i64,
    /// Security and holdings, in the order in which they were first traded.
    positions: Vec<(u64, Vec<Holding>)>,
}

/// The trades of a load unit, up to a place.
pub struct History<'a> {
    population: &'a Population,
    /// Load unit.
    pub unit: u64,
    state: HistoryState,
}

/// Where a history has come to.
#[derive(Default)]
pub struct HistoryState {
    /// Trades that are done.
    pub place: u64,
    books: Vec<Book>,
    /// Whose the trades of the current day are.
    day: Vec<u16>,
}

impl<'a> History<'a> {
    /// The history of a load unit, at its beginning.
    pub fn new(population: &'a Population, unit: u64) -> Self {
        let state = HistoryState {
            books: vec![Book::default(); UNIT_ACCOUNTS as usize],
            ..HistoryState::default()
        };
        History::resume(population, unit, state)
    }

    /// The same where it was left.
    pub fn resume(population: &'a Population, unit: u64, state: HistoryState) -> Self {
        History {
            population,
            unit,
            state,
        }
    }

    /// Leaves it.
    pub fn leave(self) -> HistoryState {
        self.state
    }

    /// How many trades are done.
    pub fn place(&self) -> u64 {
        self.state.place
    }

    /// The next trade, done.
    pub fn advance(&mut self) -> Trade {
        let (population, place) = (self.population, self.state.place);
        let slot = place % DAY_TRADES;
        if slot == 0 || self.state.day.is_empty() {
            let accounts = population.day_accounts(self.unit, place / DAY_TRADES);
            self.state.day = accounts.collect();
        }
        self.state.place += 1;
        let within = self.state.day[slot as usize];
        let account = population.account(self.unit, within);
        let mut rng = Rng::of(population.seed, Domain::Trade, self.unit, place);
        let mut trade = draw_trade(population, self.unit, place, account, &mut rng);
        let book = &mut self.state.books[usize::from(within)];
        let gain_cents = book.settle(&mut trade);
        let (_, national, regional) = population.taxed(account.customer);
        let status = population.tax_status(account.number);
        if status > 0 {
            let rate = tax_rate(national) + tax_rate(regional);
            trade.tax_cents = fees::tax_cents(gain_cents, rate);
        }
        let value = trade.quantity * trade.price_cents;
        let costs = trade.charge_cents + trade.commission_cents;
        let signed = if trade.kind.is_sell() { value } else { -value };
        let withheld = if status == 1 { trade.tax_cents } else { 0 };
        trade.amount_cents = signed - costs - withheld;
        if trade.is_cash {
            book.cash_cents += trade.amount_cents;
        }
        trade
    }

    /// All trades that are left.
    pub fn finish(&mut self) -> impl Iterator<Item = Trade> + use<'_, 'a> {
        let left = self.population.unit_trades() - self.state.place;
        (0..left).map(|_| self.advance())
    }

    /// Balance of an account of the unit.
    pub fn balance_cents(&self, within: usize) -> i64 {
        OPENING_CENTS + self.state.books[within].cash_cents
    }

    /// What an account of the unit holds of each security.
    pub fn positions(&self, within: usize) -> impl Iterator<Item = (u64, &[Holding])> {
        let positions = self.state.books[within].positions.iter();
        let held = positions.filter(|(_, holdings)| !holdings.is_empty());
        held.map(|(security, holdings)| (*security, &holdings[..]))
    }
}

fn draw_trade(
    population: &Population,
    unit: u64,
    place: u64,
    account: Account,
    rng: &mut Rng,
) -> Trade {
    let security = population.pick_traded(account.number, rng);
    let kind = TradeType::of_percent(rng.uniform(0, 99));
    let range = rng.uniform(0, 3) as usize;
    let quantity = i64::from(QUANTITIES[range]);
    let at_us = population.traded_at_us(place);
    let price_cents = population.price_cents(security, at_us as f64 / 1e6, PRICE_PERIOD_S);
    let tier = population.tier(account.customer);
    let rate = fees::commission_rate(tier, kind, security % EXCHANGES, quantity_range(quantity));
    let sent_us = at_us - 100_000 - i64::from(rng.uniform(0, 2_000_000));
    let waited_us = if kind.is_market() {
        0
    } else {
        i64::from(rng.uniform(0, 600_000_000))
    };
    Trade {
        id: (unit * population.unit_trades() + place) as i64 + 1,
        account,
        security,
        kind,
        quantity,
        price_cents,
        is_cash: kind.is_sell() || !rng.percent(16),
        is_lifo: rng.percent(35),
        at_us,
        sent_us,
        ordered_us: sent_us - waited_us,
        charge_cents: fees::charge_cents(kind, tier),
        commission_cents: fees::commission_cents(rate, quantity, price_cents),
        tax_cents: 0,
        amount_cents: 0,
        changes: Vec::new(),
    }
}

fn quantity_range(quantity: i64) -> usize {
    QUANTITY_RANGES.partition_point(|most| i64::from(*most) < quantity)
}

impl Book {
    /// Takes from holdings of the other sign, or adds one; gives what was gained.
    fn settle(&mut self, trade: &mut Trade) -> i64 {
        let at = self
            .positions
            .iter()
            .position(|(security, _)| *security == trade.security);
        let at = at.unwrap_or_else(|| {
            self.positions.push((trade.security, Vec::new()));
            self.positions.len() - 1
        });
        let holdings = &mut self.positions[at].1;
        let sign = if trade.kind.is_sell() { -1 } else { 1 };
        let (mut left, mut gain_cents) = (trade.quantity, 0);
        while left > 0
            && holdings
                .first()
                .is_some_and(|held| held.quantity * sign < 0)
        {
            let last = if trade.is_lifo { holdings.len() - 1 } else { 0 };
            let held = &mut holdings[last];
            let taken = left.min(held.quantity.abs());
            let before = held.quantity;
            held.quantity += sign * taken;
            gain_cents += (trade.price_cents - held.price_cents) * taken * -sign;
            trade.changes.push(Change {
                holding: held.trade,
                before,
                after: held.quantity,
            });
            if held.quantity == 0 {
                holdings.remove(last);
            }
            left -= taken;
        }
        if left > 0 {
            let quantity = sign * left;
            holdings.push(Holding {
                trade: trade.id,
                at_us: trade.at_us,
                price_cents: trade.price_cents,
                quantity,
            });
            trade.changes.push(Change {
                holding: trade.id,
                before: 0,
                after: quantity,
            });
        }
        gain_cents
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::DAYS_MIN;
    use super::*;

    /// A history that was left goes on as if it had not been.
    #[test]
    fn a_history_can_be_left() {
        let population = Population::new(5, 2_000, 12);
        let mut whole = History::new(&population, 1);
        let all: Vec<Trade> = (0..2_000).map(|_| whole.advance()).collect();
        let mut parts = History::new(&population, 1);
        for trade in &all {
            assert_eq!(*trade, parts.advance());
            parts = History::resume(&population, 1, parts.leave());
        }
    }

    /// Numbers of the sheet: 0.92 cash, 1.34 changes of holdings a trade, and every account can show 50 trades.
    #[test]
    fn a_history_has_the_specified_shares() {
        let population = Population::new(5, 1_000, 12);
        let mut history = History::new(&population, 0);
        let (mut cash, mut changes, mut limits) = (0, 0, 0);
        let mut trades = vec![0_u32; UNIT_ACCOUNTS as usize];
        let (mut count, mut last_us) = (0_u64, 0);
        for trade in history.finish() {
            count += 1;
            cash += u64::from(trade.is_cash);
            changes += trade.changes.len() as u64;
            limits += u64::from(!trade.kind.is_market());
            trades[trade.account.number as usize] += 1;
            assert!(trade.at_us > last_us && trade.sent_us < trade.at_us);
            last_us = trade.at_us;
        }
        let share = |part: u64| part as f64 / count as f64;
        assert_eq!(691_200, count);
        assert!((share(cash) - 0.92).abs() < 0.005, "{}", share(cash));
        assert!((share(limits) - 0.4).abs() < 0.005, "{}", share(limits));
        assert!((1.2..1.45).contains(&share(changes)), "{}", share(changes));
        assert!(trades.iter().all(|trades| trades / 12 * DAYS_MIN >= 50));
        let held: usize = (0..UNIT_ACCOUNTS as usize)
            .map(|account| history.positions(account).count())
            .sum();
        assert!((40_000..50_000).contains(&held), "{held}");
    }
}
