//! A profile as it is written: the values that are there, each with its line, and what is wrong with
//! each by itself.

use std::collections::BTreeMap;

use toml::de::{DeTable, DeValue};
use toml::Spanned;

use super::keys::{find, is_table, Key, Kind, Need, KEYS};
use super::{Problem, Source};

/// A value and its line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Found {
    pub value: Value,
    pub line: usize,
    /// As it is written.
    pub told: String,
}

/// A value of one of the [`Kind`]s.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Text(String),
    Flag(bool),
    Number(f64),
    Pairs(Vec<(f64, f64)>),
    Numbers(Vec<f64>),
    Rows(Vec<Vec<f64>>),
    Texts(Vec<String>),
}

/// The values of a file.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub found: BTreeMap<&'static str, Found>,
    /// The tables that are there, and their lines.
    pub tables: BTreeMap<String, usize>,
    pub sources: Vec<(Source, usize)>,
}

impl Values {
    pub(super) fn has_table(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    pub(super) fn number(&self, path: &str) -> Option<f64> {
        match self.found.get(path)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        match self.found.get(path)?.value {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match &self.found.get(path)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn pairs(&self, path: &str) -> Option<&[(f64, f64)]> {
        match &self.found.get(path)?.value {
            Value::Pairs(pairs) => Some(pairs),
            _ => None,
        }
    }

    pub(super) fn numbers(&self, path: &str) -> Option<&[f64]> {
        match &self.found.get(path)?.value {
            Value::Numbers(numbers) => Some(numbers),
            _ => None,
        }
    }

    pub(super) fn rows(&self, path: &str) -> Option<&[Vec<f64>]> {
        match &self.found.get(path)?.value {
            Value::Rows(rows) => Some(rows),
            _ => None,
        }
    }

    pub(super) fn texts(&self, path: &str) -> &[String] {
        match self.found.get(path).map(|found| &found.value) {
            Some(Value::Texts(texts)) => texts,
            _ => &[],
        }
    }
}

/// Reads a file against the declaration of its keys.
///
/// Errors: it is not TOML, so that nothing is known of its keys.
pub(super) fn read(text: &str) -> Result<(Values, Vec<Problem>), Problem> {
    let table = DeTable::parse(text).map_err(|e| Problem {
        line: line_of(text, e.span().map_or(0, |span| span.start)),
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

fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().iter().take(at);
    1 + before.filter(|byte| **byte == b'\n').count()
}

struct Reader<'t> {
    text: &'t str,
    values: Values,
    problems: Vec<Problem>,
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

    fn value(&mut self, path: &str, line: usize, value: &Spanned<DeValue<'_>>) {
        let told = self.text[value.span()].to_string();
        let Some(key) = find(path) else {
            let problem = "is not a key of a profile".to_string();
            return self.add(line, path, None, problem, nearest(path));
        };
        match read_value(key.kind, value.get_ref()) {
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
        let line = line_of(self.text, source.span().start);
        let field = |name: &str, kind: Kind| match source.get_ref() {
            DeValue::Table(table) => table
                .get(name)
                .and_then(|value| read_value(kind, value.get_ref())),
            _ => None,
        };
        let only_these = matches!(source.get_ref(), DeValue::Table(table) if table.len() == 2);
        match (field("text", Kind::Text), field("keys", Kind::Texts)) {
            (Some(Value::Text(text)), Some(Value::Texts(keys))) if only_these => {
                self.values.sources.push((Source { text, keys }, line));
            }
            _ => {
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
        line: usize,
        key: &str,
        value: Option<String>,
        problem: String,
        remedy: String,
    ) {
        let key = key.to_string();
        self.problems.push(Problem {
            line,
            key,
            value,
            problem,
            remedy,
        });
    }
}

/// The value, if it is of the kind and possible by itself.
fn read_value(kind: Kind, value: &DeValue<'_>) -> Option<Value> {
    match kind {
        Kind::Text => text(value).filter(|text| !text.is_empty()).map(Value::Text),
        Kind::Name => text(value).filter(|text| is_name(text)).map(Value::Text),
        Kind::Flag => match value {
            DeValue::Boolean(flag) => Some(Value::Flag(*flag)),
            _ => None,
        },
        Kind::Whole(lowest) => number(value)
            // Above this a double skips whole numbers.
            .filter(|n| n.fract() == 0.0 && *n >= lowest && *n <= (1_u64 << 53) as f64)
            .map(Value::Number),
        Kind::Positive => number(value).filter(|n| *n > 0.0).map(Value::Number),
        Kind::NotNegative => number(value).filter(|n| *n >= 0.0).map(Value::Number),
        Kind::Pairs => list(value, pair).map(Value::Pairs),
        Kind::Numbers => list(value, number).map(Value::Numbers),
        Kind::Rows => list(value, |row| list(row, number)).map(Value::Rows),
        Kind::Texts => list(value, text).map(Value::Texts),
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(allowed)
}

fn text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn number(value: &DeValue<'_>) -> Option<f64> {
    let number = match value {
        DeValue::Integer(whole) => i64::from_str_radix(whole.as_str(), whole.radix()).ok()? as f64,
        DeValue::Float(float) => float.as_str().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn pair(value: &DeValue<'_>) -> Option<(f64, f64)> {
    match list(value, number)?.as_slice() {
        [first, second] => Some((*first, *second)),
        _ => None,
    }
}

fn list<T>(value: &DeValue<'_>, read: impl Fn(&DeValue<'_>) -> Option<T>) -> Option<Vec<T>> {
    match value {
        DeValue::Array(list) => list.iter().map(|each| read(each.get_ref())).collect(),
        _ => None,
    }
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
