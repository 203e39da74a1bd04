//! Decks of cards: how often each transaction type comes, shuffled and dealt to all users of a run.

use std::sync::Mutex;

use stithy_measure::{locked, Rng};

/// Deals the types of a run's transactions: one deck after the other, each shuffled, to all users.
///
/// A deck for each user would leave every user's last deck half dealt at a window's end.
#[derive(Debug)]
pub struct Deck(Mutex<Shuffled>);

#[derive(Debug)]
struct Shuffled {
    rng: Rng,
    cards: Vec<u8>,
    dealt: usize,
}

impl Deck {
    /// Decks with so many cards of each type.
    pub fn new(rng: Rng, counts: &[u32]) -> Self {
        let kinds = (0..).zip(counts);
        let cards = kinds.flat_map(|(kind, count)| (0..*count).map(move |_| kind));
        let cards: Vec<u8> = cards.collect();
        Deck(Mutex::new(Shuffled {
            rng,
            dealt: cards.len(),
            cards,
        }))
    }

    /// The type of the next transaction, whoever does it.
    pub fn deal(&self) -> usize {
        locked(&self.0).deal()
    }
}

impl Shuffled {
    fn deal(&mut self) -> usize {
        if self.dealt == self.cards.len() {
            self.dealt = 0;
            for last in (1..self.cards.len()).rev() {
                let other = self.rng.uniform(0, last as u32) as usize;
                self.cards.swap(last, other);
            }
        }
        self.dealt += 1;
        self.cards[self.dealt - 1].into()
    }
}
