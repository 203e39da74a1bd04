//! Names of people, companies and places, from syllables of our own; some come often and most seldom, as real ones.

use std::sync::OnceLock;

use super::random::Rng;

const STARTS: [&str; 20] = [
    "Bal", "Cor", "Dan", "Fel", "Gar", "Hol", "Jor", "Kel", "Lam", "Mor", "Nor", "Pel", "Ros",
    "Sol", "Tam", "Ul", "Var", "Wen", "Yor", "Zan",
];
const MIDDLES: [&str; 10] = ["a", "e", "i", "o", "u", "ari", "eno", "ilo", "ora", "umi"];
const ENDS: [&str; 10] = [
    "dan", "fer", "ger", "kin", "lon", "man", "rick", "sen", "ter", "wyn",
];

/// How many last names there are.
const LAST_NAMES: usize = 2_000;
/// How many first names.
const FIRST_NAMES: usize = 600;
/// The exponent of Zipf's law by which names are drawn.
const EXPONENT: f64 = 0.8;

/// A word of a number from 0 to 1,999.
pub fn word(number: u64) -> String {
    syllables(number).concat()
}

fn syllables(number: u64) -> [&'static str; 3] {
    let number = number as usize;
    let (start, middle, end) = (number % 20, number / 20 % 10, number / 200 % 10);
    [STARTS[start], MIDDLES[middle], ENDS[end]]
}

/// Shares of the first so many ranks.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(count: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=count).map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        });
        Zipf(sums.collect())
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let all = self.0.last().copied().unwrap_or_default();
        let drawn = rng.share() * all;
        self.0.partition_point(|sum| *sum <= drawn) as u64
    }
}

/// First and last name of a person.
pub fn person(rng: &mut Rng) -> (String, String) {
    static FIRST: OnceLock<Zipf> = OnceLock::new();
    static LAST: OnceLock<Zipf> = OnceLock::new();
    let first = FIRST.get_or_init(|| Zipf::new(FIRST_NAMES)).draw(rng);
    let last = LAST.get_or_init(|| Zipf::new(LAST_NAMES)).draw(rng);
    // Names of people and of things begin at other places.
    (word((first * 7 + 3) % 2_000), word(last))
}

/// No name of [`unique`] is longer.
const LENGTH_MAX: usize = 46;

/// A name that nobody else of its kind has: two words and a number.
pub fn unique(number: u64) -> String {
    let mut name = String::with_capacity(LENGTH_MAX);
    for word in [number * 31 % 1_999, number * 17 % 1_997].map(syllables) {
        name.extend(word);
        name.push(' ');
    }
    name.push_str(&number.to_string());
    name
}

/// Five figures of a postal code of a number.
pub fn zip_code(number: u64) -> String {
    format!("{:05}", 10_000 + number * 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few names come often, and most of them seldom.
    #[test]
    fn names_repeat_as_real_ones() {
        let mut rng = Rng::new(1, 1);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..20_000 {
            *counts.entry(person(&mut rng).1).or_insert(0_u32) += 1;
        }
        let most = counts.values().max().copied().unwrap_or_default();
        assert!(
            (400..1_200).contains(&most) && counts.len() > 1_500,
            "{most} of {}",
            counts.len()
        );
    }

    /// All words differ, and so do all names that must.
    #[test]
    fn words_and_unique_names_differ() {
        let words: std::collections::HashSet<_> = (0..2_000).map(word).collect();
        let names: std::collections::HashSet<_> = (0..5_000).map(unique).collect();
        assert_eq!((2_000, 5_000), (words.len(), names.len()));
        assert!(names.iter().all(|name| name.len() <= LENGTH_MAX));
    }
}
