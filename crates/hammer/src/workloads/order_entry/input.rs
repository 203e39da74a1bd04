//! What a virtual user enters: every random number of the transactions is drawn here, in the hammer.
//!
//! Clause numbers are those of the specification's revision 5.11.

use std::sync::Arc;

use arrayvec::ArrayVec;

pub use super::input_profile::District;
use super::input_profile::{InputProfile, MIX};
use super::options::Profile;
use super::random::{last_name, Domain, LastName, Rng};
use super::tables::{CUSTOMERS, DISTRICTS, ITEMS};
use crate::engines::Access;
use crate::workloads::deck::Deck;

/// The transaction types in the workload's order.
pub const NAMES: &[&str] = &[
    "new-order",
    "payment",
    "order-status",
    "delivery",
    "stock-level",
];

/// Lines of the longest order.
pub const LINES_MAX: usize = 15;

/// The index of deliveries in [`NAMES`].
pub const DELIVERY: usize = 3;

/// An item number that no item has.
const UNUSED_ITEM: i32 = 100_001;

/// What one transaction is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Clause 2.4.1.
    NewOrder(NewOrder),
    /// Clause 2.5.1.
    Payment(Payment),
    /// Clause 2.6.1.
    OrderStatus(OrderStatus),
    /// Clause 2.7.1.
    Delivery(Delivery),
    /// Clause 2.8.1.
    StockLevel(StockLevel),
}

impl Input {
    /// Whether the transaction writes.
    pub fn access(&self) -> Access {
        match self {
            Input::NewOrder(_) | Input::Payment(_) | Input::Delivery(_) => Access::Write,
            Input::OrderStatus(_) | Input::StockLevel(_) => Access::Read,
        }
    }

    /// Index of the transaction type in [`NAMES`].
    pub fn kind(&self) -> usize {
        match self {
            Input::NewOrder(_) => 0,
            Input::Payment(_) => 1,
            Input::OrderStatus(_) => 2,
            Input::Delivery(_) => 3,
            Input::StockLevel(_) => 4,
        }
    }
}

/// How a customer is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Customer {
    /// By number, 1 to 3000.
    Id(i32),
    /// By last name; of several customers the middle one by first name.
    LastName(LastName),
}

/// An order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrder {
    /// Where it is entered.
    pub district: District,
    /// For whom, 1 to 3000.
    pub c_id: i32,
    /// 5 to 15 lines, sorted by supplying warehouse and item, so that all orders lock in one order.
    pub lines: Lines,
    /// Whether one item is unused, so that the order must be rolled back.
    pub unused_item: bool,
}

impl NewOrder {
    /// Whether every line is supplied by the district's own warehouse.
    pub fn all_local(&self) -> bool {
        self.lines
            .iter()
            .all(|line| line.supply_w_id == self.district.w_id)
    }

    /// For each line, how often its stock occurs in the lines before; and the highest of these.
    ///
    /// The same stock may be ordered twice, and one UPDATE changes a row only once.
    pub fn passes(&self) -> ([i16; LINES_MAX], i16) {
        let mut passes = [0; LINES_MAX];
        for at in 1..self.lines.len() {
            let (before, line) = (&self.lines[at - 1], &self.lines[at]);
            if (before.supply_w_id, before.i_id) == (line.supply_w_id, line.i_id) {
                passes[at] = passes[at - 1] + 1;
            }
        }
        (passes, passes.into_iter().max().unwrap_or(0))
    }
}

/// A line of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Line {
    /// The supplying warehouse.
    pub supply_w_id: i32,
    /// The item.
    pub i_id: i32,
    /// 1 to 10.
    pub quantity: i16,
}

/// The lines of an order, in place: nearly every second transaction draws some, and memory of their own
/// would be one more thing to fetch for each.
pub type Lines = ArrayVec<Line, LINES_MAX>;

/// A payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Where it is made.
    pub district: District,
    /// Where the customer belongs.
    pub customer_district: District,
    /// By whom.
    pub customer: Customer,
    /// 1.00 to 5000.00, in hundredths.
    pub amount_cents: u32,
}

/// A question for a customer's last order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderStatus {
    /// Where the customer belongs.
    pub district: District,
    /// Who asks.
    pub customer: Customer,
}

/// The delivery of the oldest order of each district.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The warehouse.
    pub w_id: i32,
    /// 1 to 10.
    pub carrier_id: i16,
}

/// A question for items low in stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockLevel {
    /// The district.
    pub district: District,
    /// 10 to 20.
    pub threshold: i16,
}

/// Draws the inputs of one virtual user, from the same seed always the same for the same types.
#[derive(Debug, Clone)]
pub struct Draws {
    rng: Rng,
    profile: InputProfile,
    /// Where the user is bound to.
    home: Option<District>,
    /// What deals the types to all users; None: each is drawn by its weight.
    deck: Option<Arc<Deck>>,
}

impl Draws {
    /// The draws of a user.
    pub fn new(seed: u64, user: u32, profile: InputProfile) -> Self {
        let rng = Rng::of(seed, Domain::User, user.into(), 0);
        let home = profile.touched.home(user);
        Draws {
            rng,
            profile,
            home,
            deck: None,
        }
    }

    /// The same, with types that are dealt.
    pub fn dealt_by(self, deck: Arc<Deck>) -> Self {
        Draws {
            deck: Some(deck),
            ..self
        }
    }

    /// The next transaction.
    pub fn next_input(&mut self) -> Input {
        match self.kind() {
            0 => Input::NewOrder(self.new_order()),
            1 => Input::Payment(self.payment()),
            2 => Input::OrderStatus(self.order_status()),
            3 => Input::Delivery(self.delivery()),
            _ => Input::StockLevel(self.stock_level()),
        }
    }

    fn kind(&mut self) -> usize {
        if let Some(deck) = &self.deck {
            return deck.deal();
        }
        let mut left = self.rng.uniform(0, MIX.iter().sum::<u32>() - 1);
        for (kind, weight) in MIX.iter().enumerate() {
            if left < *weight {
                return kind;
            }
            left -= weight;
        }
        unreachable!("the weights add up to their sum")
    }

    fn new_order(&mut self) -> NewOrder {
        let district = self.district();
        let c_id = self.c_id();
        let count = self.rng.uniform(5, LINES_MAX as u32);
        let mut lines: Lines = (0..count).map(|_| self.line(district.w_id)).collect();
        // Clause 2.4.1.4: one order in a hundred ends with an item that is not used.
        let unused_item = self.rng.percent(1);
        if let (true, Some(last)) = (unused_item, lines.last_mut()) {
            last.i_id = UNUSED_ITEM;
        }
        lines.sort_unstable();
        NewOrder {
            district,
            c_id,
            lines,
            unused_item,
        }
    }

    /// Clause 2.4.1.5: one line in a hundred is supplied by another warehouse, where there is one.
    fn line(&mut self, w_id: i32) -> Line {
        let i_id = self.i_id();
        let remote = self.rng.percent(1);
        let supply_w_id = if remote {
            self.other_warehouse(w_id)
        } else {
            w_id
        };
        let quantity = self.rng.uniform(1, 10) as i16;
        Line {
            supply_w_id,
            i_id,
            quantity,
        }
    }

    /// Clause 2.5.1.2: 15 of a hundred payments are by a customer of another warehouse.
    fn payment(&mut self) -> Payment {
        let district = self.district();
        let customer_district = if self.rng.percent(15) {
            District {
                w_id: self.other_warehouse(district.w_id),
                d_id: self.d_id(),
            }
        } else {
            district
        };
        let customer = self.customer();
        let amount_cents = self.rng.uniform(100, 500_000);
        Payment {
            district,
            customer_district,
            customer,
            amount_cents,
        }
    }

    fn order_status(&mut self) -> OrderStatus {
        let district = self.district();
        let customer = self.customer();
        OrderStatus { district, customer }
    }

    fn delivery(&mut self) -> Delivery {
        let w_id = self.district().w_id;
        let carrier_id = self.rng.uniform(1, 10) as i16;
        Delivery { w_id, carrier_id }
    }

    fn stock_level(&mut self) -> StockLevel {
        // Clause 2.8.1.1: a terminal asks for one district only.
        let district = self.home.unwrap_or_else(|| self.district());
        let threshold = self.rng.uniform(10, 20) as i16;
        StockLevel {
            district,
            threshold,
        }
    }

    fn district(&mut self) -> District {
        let w_id = match self.home {
            Some(home) => home.w_id,
            None => self.rng.uniform(1, self.profile.touched.warehouses) as i32,
        };
        let d_id = self.d_id();
        District { w_id, d_id }
    }

    fn d_id(&mut self) -> i16 {
        self.rng.uniform(1, DISTRICTS) as i16
    }

    fn c_id(&mut self) -> i32 {
        let c_id = match self.profile.kind {
            Profile::Specification => self.profile.constants.customer(&mut self.rng),
            Profile::Hammerdb => self.rng.uniform(1, CUSTOMERS),
        };
        c_id as i32
    }

    fn i_id(&mut self) -> i32 {
        let i_id = match self.profile.kind {
            Profile::Specification => self.profile.constants.item(&mut self.rng),
            Profile::Hammerdb => self.rng.uniform(1, ITEMS),
        };
        i_id as i32
    }

    /// Any warehouse in reach but this one, each equally likely; this one where there is no other.
    fn other_warehouse(&mut self, w_id: i32) -> i32 {
        let warehouses = self.profile.touched.warehouses;
        if warehouses == 1 {
            return w_id;
        }
        let other = self.rng.uniform(1, warehouses - 1) as i32;
        other + i32::from(other >= w_id)
    }

    /// Clauses 2.5.1.2 and 2.6.1.2: 60 of a hundred customers are named by their last name.
    fn customer(&mut self) -> Customer {
        if self.rng.percent(60) {
            Customer::LastName(last_name(self.profile.constants.last_name(&mut self.rng)))
        } else {
            Customer::Id(self.c_id())
        }
    }
}

#[cfg(test)]
mod tests;
