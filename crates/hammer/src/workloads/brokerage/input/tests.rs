//! The drawn inputs have the specified shares and bounds.

use stithy_wire::WorkloadChoice;

use super::super::random::Domain;
use super::*;
use crate::workloads::deck::Deck;

const MANY: u32 = 100_000;

fn source() -> Arc<Source> {
    let text = r#"{"name": "brokerage", "customers": 5000, "days": 12}"#;
    let choice: WorkloadChoice = serde_json::from_str(text).unwrap();
    let options = Options::read(&choice).unwrap();
    Source::new(&Population::new(3, 5_000, 12), 9, &options, 1_000)
}

fn draws(kind: usize) -> impl Iterator<Item = Input> {
    let (source, mut rng) = (source(), Rng::of(1, Domain::User, kind as u64, 0));
    (0..MANY).map(move |_| source.draw(kind, &mut rng))
}

fn near(percent: f64, count: u32) {
    let share = 100.0 * f64::from(count) / f64::from(MANY);
    assert!(
        (share - percent).abs() < 0.5,
        "{share} % and not {percent} %"
    );
}

/// A deck has 890 cards, which are dealt as often as specified.
#[test]
fn types_come_as_specified() {
    assert_eq!(890, CARDS.iter().sum::<u32>());
    let deck = Deck::new(Rng::new(1, 1), &CARDS);
    let mut counts = [0_u32; 8];
    (0..8_900).for_each(|_| counts[deck.deal()] += 1);
    assert_eq!(CARDS.map(|count| 10 * count), counts);
}

/// Numbers of orders follow each other, and all shares are those of the specification.
#[test]
fn orders_have_the_specified_shares() {
    let orders: Vec<Order> = draws(TRADE_ORDER)
        .filter_map(|input| match input {
            Input::TradeOrder(order) => Some(order),
            _ => None,
        })
        .collect();
    let share = |is: fn(&Order) -> bool| orders.iter().filter(|order| is(order)).count() as u32;
    assert_eq!(
        (1_001, 1_000 + i64::from(MANY)),
        (orders[0].id, orders[orders.len() - 1].id)
    );
    near(10.0, share(|order| order.executor.is_some()));
    near(40.0, share(|order| order.by_company));
    near(8.0, share(|order| !order.is_cash));
    near(35.0, share(|order| order.is_lifo));
    near(0.99, share(|order| order.rolls_back));
    near(60.0, share(|order| order.kind.is_market()));
    near(25.0, share(|order| order.quantity == 800));
    assert!(orders
        .iter()
        .all(|order| order.kind.is_market() == (order.limit_cents == 0)));
}

/// Of inputs of a kind, how many are of each of four groups; those of no group are left out.
fn assert_shares(kind: usize, group: fn(&Input) -> Option<usize>, percents: [f64; 4]) {
    let mut counts = [0; 4];
    draws(kind)
        .filter_map(|input| group(&input))
        .for_each(|group| counts[group] += 1);
    percents
        .into_iter()
        .zip(counts)
        .for_each(|(percent, count)| near(percent, count));
}

/// Half of the positions are asked for by tax number, and half show the history.
#[test]
fn positions_and_details_have_the_specified_shares() {
    let position = |input: &Input| match input {
        Input::CustomerPosition {
            by_tax_number,
            history_of,
            ..
        } => Some(2 * usize::from(*by_tax_number) + usize::from(history_of.is_some())),
        _ => None,
    };
    assert_shares(1, position, [25.0; 4]);
    let detail = |input: &Input| match input {
        Input::SecurityDetail { whole_articles, .. } => Some(usize::from(*whole_articles)),
        _ => None,
    };
    assert_shares(3, detail, [99.0, 1.0, 0.0, 0.0]);
}

/// Lists, accounts and industries are watched, and lookups and updates have their frames.
#[test]
fn watches_and_lookups_have_the_specified_shares() {
    let watched = |input: &Input| match input {
        Input::MarketWatch { list, .. } => Some(match list {
            Watched::List(_) => 0,
            Watched::Account(_) => 1,
            Watched::Industry(..) => 2,
        }),
        _ => None,
    };
    assert_shares(2, watched, [60.0, 35.0, 5.0, 0.0]);
    let frame = |input: &Input| match input {
        Input::TradeLookup(lookup) | Input::TradeUpdate(lookup) => Some(match lookup {
            Lookup::Numbers(_) => 0,
            Lookup::Account(..) => 1,
            Lookup::Security(..) => 2,
            Lookup::Holdings(..) => 3,
        }),
        _ => None,
    };
    assert_shares(4, frame, [30.0, 30.0, 30.0, 10.0]);
    assert_shares(7, frame, [33.0, 33.0, 34.0, 0.0]);
}

/// From 20 to 40 different brokers, and twenty different trades in the order of their numbers.
#[test]
fn lists_have_no_copies() {
    for input in draws(0).take(1_000) {
        let Input::BrokerVolume { brokers, .. } = input else {
            panic!("{input:?}")
        };
        let names: std::collections::HashSet<&str> = brokers.split(',').collect();
        assert!((20..=40).contains(&names.len()) && names.len() == brokers.split(',').count());
    }
    for input in draws(4).take(1_000) {
        if let Input::TradeLookup(Lookup::Numbers(numbers)) = input {
            assert!(numbers.len() == 20 && numbers.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}

/// Twelve tables, one after the other.
#[test]
fn upkeep_goes_round() {
    let (source, mut rng) = (source(), Rng::new(1, 1));
    let tables: Vec<usize> = (0..24)
        .map(|number| source.draw_upkeep(number, &mut rng).table)
        .collect();
    assert_eq!((0..12).chain(0..12).collect::<Vec<_>>(), tables);
}
