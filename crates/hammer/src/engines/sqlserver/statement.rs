//! The text of a statement: whether it calls a procedure, what else may be sent with it.

/// A statement as its text says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) sql: String,
    /// The procedure that it calls, and the parameter of each place, counted from 0.
    pub(super) call: Option<(String, Vec<usize>)>,
    /// Whether it changes no row.
    pub(super) reads: bool,
    /// Whether it is done as a whole or not at all without a transaction around it.
    pub(super) whole: bool,
}

impl Text {
    pub(super) fn read(sql: &str) -> Self {
        let sql = sql.trim().trim_end_matches(';');
        let call = read_call(sql);
        let several = has_several(sql);
        Text {
            sql: sql.into(),
            reads: !several && first_word(sql).eq_ignore_ascii_case("select"),
            whole: call.is_some() || !several,
            call,
        }
    }
}

fn first_word(sql: &str) -> &str {
    sql.split_whitespace().next().unwrap_or_default()
}

/// `EXEC name @p1, @p2`: the name, and the numbers of the parameters.
fn read_call(sql: &str) -> Option<(String, Vec<usize>)> {
    let (word, rest) = sql.split_once(char::is_whitespace)?;
    if !word.eq_ignore_ascii_case("exec") && !word.eq_ignore_ascii_case("execute") {
        return None;
    }
    let rest = rest.trim();
    let (name, places) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let places = places.split_terminator(',').map(|place| {
        let number: usize = place.trim().strip_prefix("@p")?.parse().ok()?;
        number.checked_sub(1)
    });
    let is_name = |letter: char| letter.is_alphanumeric() || "_.[]".contains(letter);
    (!name.is_empty() && name.chars().all(is_name))
        .then(|| Some((name.to_string(), places.collect::<Option<_>>()?)))
        .flatten()
}

/// Whether a semicolon, outside of literals and names, parts two statements.
fn has_several(sql: &str) -> bool {
    let mut quote = None;
    for letter in sql.chars() {
        match (quote, letter) {
            (None, ';') => return true,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => quote = Some(']'),
            (Some(end), _) if end == letter => quote = None,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls with parameters in their order are calls; all else is text, which may hold several statements.
    #[test]
    fn texts_say_what_they_do() {
        for (sql, call, reads, whole) in [
            ("EXEC pay @p1, @p2;", Some(("pay", vec![0, 1])), false, true),
            (
                "exec dbo.[pay] @p2,@p1",
                Some(("dbo.[pay]", vec![1, 0])),
                false,
                true,
            ),
            ("EXECUTE vacuum", Some(("vacuum", vec![])), false, true),
            ("EXEC pay @p1, 7", None, false, true),
            ("EXEC ('SELECT 1')", None, false, true),
            ("select ';' FROM [a;b] WHERE k = @p1", None, true, true),
            ("UPDATE t SET v = 1;\nSELECT v FROM t", None, false, false),
            ("SELECT 1; DELETE FROM t", None, false, false),
        ] {
            let text = Text::read(sql);
            let call = call.map(|(name, places)| (name.to_string(), places));
            assert_eq!(
                (call, reads, whole),
                (text.call, text.reads, text.whole),
                "{sql}"
            );
        }
    }
}
