//! The specification's three consistency conditions and thirteen more, which hold by construction.

use super::statements::Statements;
use crate::condition::{translate, ConditionQuery};

/// Those that read no table of all trades' children.
const QUICK: [u32; 6] = [1, 2, 3, 4, 7, 9];
/// The condition that holds only until the first order.
const ONLY_AFTER_LOAD: u32 = 15;

/// All of them, in their order.
pub fn conditions(statements: &Statements) -> Vec<ConditionQuery> {
    let numbered = (1..).zip(statements.conditions);
    numbered
        .map(|(number, sql)| ConditionQuery {
            number,
            quick: QUICK.contains(&number),
            only_after_load: number == ONLY_AFTER_LOAD,
            sql: translate(sql, statements.words),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::statements::{
        OnMySql, OnPostgresql, OnSqlServer, OnSqlite, Pair, CONDITIONS,
    };
    use super::*;

    /// What an engine calls otherwise stands in a condition.
    #[test]
    fn no_word_of_an_engine_is_in_vain() {
        for statements in [
            OnMySql::STATEMENTS,
            OnSqlite::STATEMENTS,
            OnSqlServer::STATEMENTS,
        ] {
            for (common, _) in statements.words {
                assert!(
                    CONDITIONS.iter().any(|sql| sql.contains(common)),
                    "{common}"
                );
            }
        }
    }

    /// Every condition has a sentence of its own, and a job chooses among them.
    #[test]
    fn every_condition_has_a_sentence() {
        let all = conditions(OnPostgresql::STATEMENTS);
        let texts: std::collections::HashSet<_> = all.iter().map(|c| c.text()).collect();
        assert_eq!(16, texts.len());
        assert!(texts
            .iter()
            .all(|text| text.len() > 20 && !text.starts_with("SELECT")));
        let chosen = |quick, after_load| all.iter().filter(|c| c.chosen(quick, after_load)).count();
        assert_eq!(
            [6, 16, 15],
            [
                chosen(true, true),
                chosen(false, true),
                chosen(false, false)
            ]
        );
    }
}
