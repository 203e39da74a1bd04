//! The specification's twelve consistency conditions (clause 3.3.2), each a query that gives the rows
//! which break it.
//!
//! Every query looks at whole tables at once; none is repeated for each warehouse.

/// One consistency condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionQuery {
    /// Its number in the specification.
    pub number: u32,
    sql: &'static str,
}

/// The last of the conditions that the specification wants demonstrated, and a quick check verifies.
const LAST_QUICK: u32 = 4;
/// The condition that holds only until the first delivery.
const ONLY_AFTER_LOAD: u32 = 11;

impl ConditionQuery {
    /// A condition of a number; `sql` gives the rows which break it.
    pub const fn new(number: u32, sql: &'static str) -> Self {
        ConditionQuery { number, sql }
    }

    /// What must hold, in a sentence: the first line of the file.
    pub fn text(&self) -> &'static str {
        let first = self.sql.lines().next().unwrap_or_default();
        first.trim_start_matches("-- ")
    }

    /// SQL with one row: how many rows break the condition, and the first of them in words.
    pub fn counting_sql(&self) -> String {
        format!(
            "SELECT count(*), min(example) FROM ({}) AS broken(example)",
            self.sql
        )
    }
}

/// The conditions that a job verifies.
pub fn chosen(
    conditions: &[ConditionQuery],
    quick: bool,
    after_load: bool,
) -> impl Iterator<Item = &ConditionQuery> {
    conditions.iter().filter(move |condition| {
        (!quick || condition.number <= LAST_QUICK)
            && (after_load || condition.number != ONLY_AFTER_LOAD)
    })
}

#[cfg(test)]
mod tests {
    use super::super::sql;
    use super::*;

    fn conditions() -> [ConditionQuery; 12] {
        sql::any().conditions
    }

    fn numbers(quick: bool, after_load: bool) -> Vec<u32> {
        chosen(&conditions(), quick, after_load)
            .map(|condition| condition.number)
            .collect()
    }

    /// Quick is 1 to 4; 11 is verified only when nothing has run since loading.
    #[test]
    fn the_job_chooses_the_conditions() {
        assert_eq!(vec![1, 2, 3, 4], numbers(true, false));
        assert_eq!(vec![1, 2, 3, 4], numbers(true, true));
        assert_eq!((1..=12).collect::<Vec<_>>(), numbers(false, true));
        assert_eq!(
            vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12],
            numbers(false, false)
        );
    }

    /// Every condition has a sentence of its own.
    #[test]
    fn every_condition_has_a_sentence() {
        let texts: std::collections::HashSet<_> = conditions().iter().map(|c| c.text()).collect();
        assert_eq!(12, texts.len());
        assert!(texts
            .iter()
            .all(|text| text.len() > 20 && !text.starts_with("SELECT")));
    }
}
