//! The specification's twelve consistency conditions (clause 3.3.2). Every query looks at whole tables
//! at once; none is repeated for each warehouse.

use super::statements::Statements;
use crate::condition::{translate, ConditionQuery};

/// The last of the conditions that the specification wants demonstrated, and a quick check verifies.
const LAST_QUICK: u32 = 4;
/// The condition that holds only until the first delivery.
const ONLY_AFTER_LOAD: u32 = 11;

/// All of them, in their order.
pub fn conditions(statements: &Statements) -> Vec<ConditionQuery> {
    let numbered = (1..).zip(statements.conditions);
    numbered
        .map(|(number, sql)| ConditionQuery {
            number,
            quick: number <= LAST_QUICK,
            only_after_load: number == ONLY_AFTER_LOAD,
            sql: translate(sql, statements.words),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::statements::{OnMySql, OnPostgresql, OnSqlServer, OnSqlite, Pair};
    use super::*;

    fn numbers(quick: bool, after_load: bool) -> Vec<u32> {
        let all = conditions(OnPostgresql::STATEMENTS).into_iter();
        let chosen = all.filter(|condition| condition.chosen(quick, after_load));
        chosen.map(|condition| condition.number).collect()
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

    /// Every condition has a sentence of its own, the same on every engine.
    #[test]
    fn every_condition_has_a_sentence() {
        let all = conditions(OnPostgresql::STATEMENTS);
        for others in [
            OnSqlite::STATEMENTS,
            OnMySql::STATEMENTS,
            OnSqlServer::STATEMENTS,
        ] {
            let others = conditions(others);
            assert!(all
                .iter()
                .zip(&others)
                .all(|(one, other)| one.text() == other.text()));
        }
        for query in conditions(OnSqlServer::STATEMENTS) {
            assert!(!query.sql.contains("CONCAT_WS"), "2016 has none");
        }
        let texts: std::collections::HashSet<_> = all.iter().map(|c| c.text()).collect();
        assert_eq!(12, texts.len());
        assert!(texts
            .iter()
            .all(|text| text.len() > 20 && !text.starts_with("SELECT")));
    }
}
