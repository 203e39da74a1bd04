//! Consistency conditions: queries that give the rows which break one.

use std::borrow::Cow;

/// One consistency condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionQuery {
    /// Its number.
    pub number: u32,
    /// Whether a quick check verifies it.
    pub quick: bool,
    /// Whether it holds only until something has run.
    pub only_after_load: bool,
    /// Gives the rows which break it; the first line says what must hold.
    pub sql: Cow<'static, str>,
}

/// A condition in the words of an engine: of each pair the common word, and the engine's own.
pub(crate) fn translate(sql: &'static str, words: &[(&str, &str)]) -> Cow<'static, str> {
    words.iter().fold(sql.into(), |sql, (common, own)| {
        sql.replace(common, own).into()
    })
}

impl ConditionQuery {
    /// What must hold, in a sentence: the first line of the file.
    pub fn text(&self) -> &str {
        let first = self.sql.lines().next().unwrap_or_default();
        first.trim_start_matches("-- ")
    }

    /// SQL with one row: how many rows break the condition, and the first of them in words.
    pub fn counting_sql(&self) -> String {
        format!(
            "WITH broken (example) AS ({}\n) SELECT count(*), min(example) FROM broken",
            self.sql
        )
    }

    /// Whether a job verifies it.
    pub(crate) fn chosen(&self, quick: bool, after_load: bool) -> bool {
        (!quick || self.quick) && (after_load || !self.only_after_load)
    }
}
