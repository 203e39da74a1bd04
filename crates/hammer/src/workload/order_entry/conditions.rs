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

/// All of them, in their order.
pub const CONDITIONS: [ConditionQuery; 12] = [
    query(1, include_str!("sql/postgresql/conditions/01.sql")),
    query(2, include_str!("sql/postgresql/conditions/02.sql")),
    query(3, include_str!("sql/postgresql/conditions/03.sql")),
    query(4, include_str!("sql/postgresql/conditions/04.sql")),
    query(5, include_str!("sql/postgresql/conditions/05.sql")),
    query(6, include_str!("sql/postgresql/conditions/06.sql")),
    query(7, include_str!("sql/postgresql/conditions/07.sql")),
    query(8, include_str!("sql/postgresql/conditions/08.sql")),
    query(9, include_str!("sql/postgresql/conditions/09.sql")),
    query(10, include_str!("sql/postgresql/conditions/10.sql")),
    query(11, include_str!("sql/postgresql/conditions/11.sql")),
    query(12, include_str!("sql/postgresql/conditions/12.sql")),
];

/// The last of the conditions that the specification wants demonstrated, and a quick check verifies.
const LAST_QUICK: u32 = 4;
/// The condition that holds only until the first delivery.
const ONLY_AFTER_LOAD: u32 = 11;

const fn query(number: u32, sql: &'static str) -> ConditionQuery {
    ConditionQuery { number, sql }
}

impl ConditionQuery {
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
pub fn chosen(quick: bool, after_load: bool) -> impl Iterator<Item = &'static ConditionQuery> {
    CONDITIONS.iter().filter(move |condition| {
        (!quick || condition.number <= LAST_QUICK)
            && (after_load || condition.number != ONLY_AFTER_LOAD)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(quick: bool, after_load: bool) -> Vec<u32> {
        chosen(quick, after_load)
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
        let texts: std::collections::HashSet<_> = CONDITIONS.iter().map(|c| c.text()).collect();
        assert_eq!(12, texts.len());
        assert!(texts
            .iter()
            .all(|text| text.len() > 20 && !text.starts_with("SELECT")));
    }
}
