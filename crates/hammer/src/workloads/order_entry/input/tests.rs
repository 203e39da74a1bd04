//! The drawn inputs have the specified shares, bounds and shapes.

use super::*;
use crate::workloads::order_entry::input_profile::TouchedWarehouses;
use crate::workloads::order_entry::random::NurandConstants;

const MANY: usize = 100_000;

fn draws_of(
    user: u32,
    constants: NurandConstants,
    touched: TouchedWarehouses,
    kind: Profile,
) -> Draws {
    let profile = InputProfile {
        constants,
        kind,
        touched,
    };
    Draws::new(3, user, profile)
}

fn draws(warehouses: u32) -> Draws {
    let constants = NurandConstants::for_run(3, NurandConstants::for_load(1).c_last);
    draws_of(
        0,
        constants,
        TouchedWarehouses::spread(warehouses),
        Profile::Specification,
    )
}

fn inputs(warehouses: u32) -> impl Iterator<Item = Input> {
    let mut draws = draws(warehouses);
    std::iter::repeat_with(move || draws.next_input()).take(MANY)
}

fn new_orders(warehouses: u32) -> Vec<NewOrder> {
    inputs(warehouses)
        .filter_map(|input| match input {
            Input::NewOrder(order) => Some(order),
            _ => None,
        })
        .collect()
}

fn payments(warehouses: u32) -> Vec<Payment> {
    inputs(warehouses)
        .filter_map(|input| match input {
            Input::Payment(payment) => Some(payment),
            _ => None,
        })
        .collect()
}

/// Percent of the items for which something holds.
fn percent<T>(items: &[T], holds: impl Fn(&T) -> bool) -> f64 {
    100.0 * items.iter().filter(|item| holds(item)).count() as f64 / items.len() as f64
}

fn near(expected: f64, actual: f64, tolerance: f64) {
    assert!(
        (expected - actual).abs() < tolerance,
        "{actual} is not {expected}"
    );
}

/// Clause 5.2.3: payments are 43 of a hundred transactions or more, the three rare types 4 or more.
const MINIMA_PERCENT: [f64; 5] = [0.0, 43.0, 4.0, 4.0, 4.0];

/// Types that are below their minimum in a number of transactions.
fn below(kinds: &[usize]) -> Vec<usize> {
    let share = |kind| percent(kinds, |k| *k == kind);
    (0..5)
        .filter(|kind| share(*kind) < MINIMA_PERCENT[*kind])
        .collect()
}

/// However many users share the deck, and wherever a window begins and ends: in a thousand
/// transactions no type is below its minimum.
#[test]
fn no_stretch_of_a_run_is_below_the_specified_minima() {
    for users in [1, 4, 100] {
        let deck = Arc::new(Deck::new(Rng::of(3, Domain::Deck, 0, 0), &MIX));
        let users = (0..users).map(|user| {
            let constants = NurandConstants::for_run(3, 7);
            let touched = TouchedWarehouses::spread(4);
            draws_of(user, constants, touched, Profile::Specification).dealt_by(deck.clone())
        });
        let mut users: Vec<Draws> = users.collect();
        let kinds = (0..MANY).map(|n| {
            let user = n * 7 % users.len();
            users[user].next_input().kind()
        });
        let kinds: Vec<usize> = kinds.collect();
        for (at, window) in kinds.windows(1_000).enumerate().step_by(37) {
            assert_eq!(Vec::<usize>::new(), below(window), "from {at}");
        }
    }
}

/// Without a deck the types come as often in the long run.
#[test]
fn types_drawn_by_weight_have_the_shares_of_the_deck() {
    let kinds: Vec<usize> = inputs(4).map(|input| input.kind()).collect();
    for (kind, cards) in (0..).zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
        near(100.0 * cards / 23.0, percent(&kinds, |k| *k == kind), 0.5);
    }
}

/// The same seed and user draw the same; another user draws something else.
#[test]
fn a_user_s_draws_follow_from_seed_and_number() {
    let first = |user| {
        let constants = NurandConstants::for_run(3, 7);
        let mut draws = draws_of(
            user,
            constants,
            TouchedWarehouses::spread(4),
            Profile::Specification,
        );
        (0..50).map(|_| draws.next_input()).collect::<Vec<_>>()
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

/// 5 to 15 lines, ten on average; quantities 1 to 10; all within bounds.
#[test]
fn orders_have_the_specified_lines() {
    let orders = new_orders(4);
    let lengths: Vec<usize> = orders.iter().map(|order| order.lines.len()).collect();
    assert_eq!(
        (Some(&5), Some(&15)),
        (lengths.iter().min(), lengths.iter().max())
    );
    near(
        10.0,
        lengths.iter().sum::<usize>() as f64 / orders.len() as f64,
        0.1,
    );
    for order in &orders {
        assert!((1..=4).contains(&order.district.w_id));
        assert!((1..=10).contains(&order.district.d_id));
        assert!((1..=3000).contains(&order.c_id));
        for line in order.lines.iter() {
            assert!((1..=10).contains(&line.quantity));
            assert!((1..=4).contains(&line.supply_w_id));
        }
    }
}

/// One order in a hundred has exactly one unused item; the others have none.
#[test]
fn one_order_in_a_hundred_must_be_rolled_back() {
    let orders = new_orders(4);
    near(1.0, percent(&orders, |order| order.unused_item), 0.2);
    for order in &orders {
        let unused = order.lines.iter().filter(|line| line.i_id == UNUSED_ITEM);
        assert_eq!(usize::from(order.unused_item), unused.count());
        let used = order.lines.iter().filter(|line| line.i_id != UNUSED_ITEM);
        assert!(used.clone().all(|line| (1..=100_000).contains(&line.i_id)));
    }
}

/// One line in a hundred comes from another warehouse, none where there is only one.
#[test]
fn one_line_in_a_hundred_is_remote() {
    let orders = new_orders(4);
    let remote: Vec<bool> = orders
        .iter()
        .flat_map(|order| {
            let home = order.district.w_id;
            order.lines.iter().map(move |line| line.supply_w_id != home)
        })
        .collect();
    near(1.0, percent(&remote, |remote| *remote), 0.1);
    near(9.6, percent(&orders, |order| !order.all_local()), 0.6);
    assert!(new_orders(1).iter().all(NewOrder::all_local));
}

/// Every other warehouse supplies equally often.
#[test]
fn remote_warehouses_are_equally_likely() {
    let mut draws = draws(4);
    let mut counts = [0_u32; 5];
    for _ in 0..30_000 {
        counts[draws.other_warehouse(3) as usize] += 1;
    }
    assert_eq!((0, 0), (counts[0], counts[3]));
    for w_id in [1, 2, 4] {
        near(10_000.0, f64::from(counts[w_id]), 400.0);
    }
}

/// Lines are sorted by stock, and each stock occurs at most once in a pass.
#[test]
fn a_pass_holds_every_stock_at_most_once() {
    let mut repeated = 0;
    for order in new_orders(2) {
        assert!(order.lines.is_sorted());
        let (passes, last_pass) = order.passes();
        repeated += usize::from(last_pass > 0);
        for pass in 0..=last_pass {
            let mut stocks: Vec<(i32, i32)> = order
                .lines
                .iter()
                .zip(passes)
                .filter(|(_, in_pass)| *in_pass == pass)
                .map(|(line, _)| (line.supply_w_id, line.i_id))
                .collect();
            let all = stocks.len();
            stocks.dedup();
            assert!(all > 0 && all == stocks.len());
        }
    }
    assert!(repeated > 0, "some order names an item twice");
}

/// 15 of a hundred customers who pay belong to another warehouse; 60 are known by name.
#[test]
fn payments_have_the_specified_shares() {
    let payments = payments(4);
    let remote = |p: &Payment| p.customer_district.w_id != p.district.w_id;
    near(15.0, percent(&payments, remote), 0.6);
    let by_name = |p: &Payment| matches!(p.customer, Customer::LastName(_));
    near(60.0, percent(&payments, by_name), 0.8);
    let local = |p: &Payment| remote(p) || p.customer_district == p.district;
    assert!(payments.iter().all(local));
    let amounts: Vec<u64> = payments.iter().map(|p| p.amount_cents.into()).collect();
    assert!(amounts.iter().all(|cents| (100..=500_000).contains(cents)));
    let mean_cents = amounts.iter().sum::<u64>() as f64 / amounts.len() as f64;
    near(250_050.0, mean_cents, 2_500.0);
}

/// Carriers 1 to 10, thresholds 10 to 20, customers by name in 60 of a hundred order questions.
#[test]
fn the_rare_transactions_stay_in_their_bounds() {
    let mut questions = Vec::new();
    for input in inputs(4) {
        match input {
            Input::Delivery(delivery) => assert!((1..=10).contains(&delivery.carrier_id)),
            Input::StockLevel(level) => assert!((10..=20).contains(&level.threshold)),
            Input::OrderStatus(question) => questions.push(question),
            _ => {}
        }
    }
    let by_name = |q: &OrderStatus| matches!(q.customer, Customer::LastName(_));
    near(60.0, percent(&questions, by_name), 3.0);
}
