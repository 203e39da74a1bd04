//! A profile as it is written: the values that are there, each with its line, and what is wrong with
//! each by itself.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::{Number, Value};
use stithy_wire::{ProfileProblem, ProfileSource};
use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::keys::{find, is_table, Key, Kind, Need, KEYS};

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub value: Value,
    pub line: u64,
    /// As it is written.
    pub told: String,
}

/// The values of a file.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub found: BTreeMap<&'static str, Found>,
    /// The tables that are there, and their lines.
    pub tables: BTreeMap<String, u64>,
    pub sources: Vec<ProfileSource>,
}

impl Values {
    pub(super) fn has_table(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    pub(super) fn number(&self, path: &str) -> Option<f64> {
        self.get(path)
    }

    /// The value of a path as the type that its [`Kind`] has; None where it is not there.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        T::deserialize(&self.found.get(path)?.value).ok()
    }
}

/// Reads a file against the declaration of its keys.
///
/// Errors: it is not TOML, so that nothing is known of its keys.
pub(super) fn read(text: &str) -> Result<(Values, Vec<ProfileProblem>), ProfileProblem> {
    let table = DeTable::parse(text).map_err(|e| ProfileProblem {
        line: Some(line_of(text, e.span().map_or(0, |span| span.start))),
        key: "the file".to_string(),
        value: None,
        problem: format!("is not TOML: {}", e.message()),
        remedy: "correct it there".to_string(),
    })?;
    let mut reader = Reader {
        text,
        values: Values::default(),
        problems: Vec::new(),
    };
    reader.table("", table.get_ref());
    reader.missing();
    Ok((reader.values, reader.problems))
}

fn line_of(text: &str, at: usize) -> u64 {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count() as u64
}

struct Reader<'t> {
    text: &'t str,
    values: Values,
    problems: Vec<ProfileProblem>,
}

impl Reader<'_> {
    fn table(&mut self, prefix: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let path = format!("{prefix}{}", name.get_ref());
            let line = line_of(self.text, name.span().start);
            match value.get_ref() {
                DeValue::Table(inner) if prefix.is_empty() && is_table(&path) => {
                    self.values.tables.insert(path.clone(), line);
                    self.table(&format!("{path}."), inner);
                }
                DeValue::Array(list) if path == "provenance.source" => {
                    list.iter().for_each(|source| self.source(source));
                }
                _ => self.value(&path, line, value),
            }
        }
    }

    fn value(&mut self, path: &str, line: u64, value: &Spanned<DeValue<'_>>) {
        let told = self.text[value.span()].to_string();
        let Some(key) = find(path) else {
            let problem = "is not a key of a profile".to_string();
            return self.add(line, path, None, problem, nearest(path));
        };
        match plain(value.get_ref()).filter(|value| is_possible(key.kind, value)) {
            Some(value) => {
                let found = Found { value, line, told };
                self.values.found.insert(key.path, found);
            }
            None => {
                let remedy = format!("give {}", key.kind.allowed());
                self.add(line, path, Some(told), "is impossible".to_string(), remedy);
            }
        }
    }

    fn source(&mut self, source: &Spanned<DeValue<'_>>) {
        let has_two = |fields: &Value| fields.as_object().is_some_and(|all| all.len() == 2);
        let fields = plain(source.get_ref()).filter(has_two);
        let read = fields.and_then(|fields| ProfileSource::deserialize(fields).ok());
        match read.filter(|source| !source.text.is_empty()) {
            Some(source) => self.values.sources.push(source),
            None => {
                let line = line_of(self.text, source.span().start);
                let problem = "is not a source".to_string();
                let remedy = "give `text`, and `keys` as a list of texts".to_string();
                self.add(line, "provenance.source", None, problem, remedy);
            }
        }
    }

    /// Tells of the keys that must be there and are not, unless they are there and impossible.
    fn missing(&mut self) {
        let is_solid = !self.values.has_table("disk");
        for key in KEYS {
            let table = key.path.split_once('.').map(|(table, _)| table);
            let line = table.and_then(|table| self.values.tables.get(table).copied());
            let needed = match key.need {
                Need::Always => true,
                Need::InTable => line.is_some(),
                // The cache is itself a matter of choice.
                Need::Solid => is_solid && (table != Some("cache") || line.is_some()),
                Need::Optional => false,
            };
            let told = self.problems.iter().any(|problem| problem.key == key.path);
            if needed && !told && !self.values.found.contains_key(key.path) {
                let remedy = format!("give {}: {}", key.kind.allowed(), key.meaning);
                let line = line.unwrap_or(1);
                self.add(line, key.path, None, "is missing".to_string(), remedy);
            }
        }
    }

    fn add(
        &mut self,
        line: u64,
        key: &str,
        value: Option<String>,
        problem: String,
        remedy: String,
    ) {
        self.problems.push(ProfileProblem {
            line: Some(line),
            key: key.to_string(),
            value,
            problem,
            remedy,
        });
    }
}

/// A value without its places in the file; None for dates, and for numbers that are none.
fn plain(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(flag) => (*flag).into(),
        DeValue::Integer(n) => i64::from_str_radix(n.as_str(), n.radix()).ok()?.into(),
        DeValue::Float(n) => Number::from_f64(n.as_str().parse().ok()?)?.into(),
        DeValue::Array(list) => {
            let values = list.iter().map(|each| plain(each.get_ref()));
            Value::Array(values.collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let fields = table.iter();
            let fields = fields
                .map(|(name, each)| Some((name.get_ref().to_string(), plain(each.get_ref())?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
        DeValue::Datetime(_) => return None,
    })
}

/// Whether a value is of the kind and possible by itself.
fn is_possible(kind: Kind, value: &Value) -> bool {
    let number = value.as_f64();
    match kind {
        Kind::Text => value.as_str().is_some_and(|text| !text.is_empty()),
        Kind::Name => value.as_str().is_some_and(is_name),
        Kind::Flag => value.is_boolean(),
        // Above this a double skips whole numbers.
        Kind::Whole(lowest) => {
            number.is_some_and(|n| n.fract() == 0.0 && n >= lowest && n <= (1_u64 << 53) as f64)
        }
        Kind::Positive => number.is_some_and(|n| n > 0.0),
        Kind::NotNegative => number.is_some_and(|n| n >= 0.0),
        Kind::Pairs => Vec::<(f64, f64)>::deserialize(value).is_ok(),
        Kind::Numbers => Vec::<f64>::deserialize(value).is_ok(),
        Kind::Rows => Vec::<Vec<f64>>::deserialize(value).is_ok(),
        Kind::Texts => Vec::<String>::deserialize(value).is_ok(),
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(allowed)
}

/// The remedy for a key that there is not: the one most like it, or where all are listed.
fn nearest(path: &str) -> String {
    let distance = |key: &&Key| edits(path, key.path);
    match KEYS.iter().min_by_key(distance) {
        Some(key) if edits(path, key.path) <= 1 + path.len() / 4 => {
            format!("perhaps {} is meant", key.path)
        }
        _ => "remove it".to_string(),
    }
}

/// How many letters must be put in, taken out or replaced to make one text of the other (Levenshtein).
fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}
