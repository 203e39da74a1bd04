//! The text of a statement: its parts, and which parameter stands at each place.
//!
//! The server numbers placeholders by their place alone. A text may number them itself, `?2`, and use a value twice;
//! and it may have two parts, parted by a semicolon: a change, and a read of what it has left.

/// One part of a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// As the server takes it.
    pub(super) sql: String,
    /// The parameter of each placeholder, counted from 0.
    pub(super) numbers: Vec<u16>,
    /// Whether it changes no row.
    pub(super) reads: bool,
}

/// What the letters of a text are part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Code,
    /// A literal or a name, up to the same quote.
    Quotes(char),
    /// A comment, up to the end of its line.
    Comment,
}

impl Within {
    /// What comes after a letter, of which the next is known.
    fn after(self, letter: char, next: Option<char>) -> Self {
        match (self, letter) {
            (Within::Code, '\'' | '"' | '`') => Within::Quotes(letter),
            (Within::Code, '-') if next == Some('-') => Within::Comment,
            (Within::Quotes(quote), _) if quote == letter => Within::Code,
            (Within::Comment, '\n') => Within::Code,
            _ => self,
        }
    }
}

/// The parts of a text.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((part, after)) = split_part(rest) {
        parts.push(part);
        rest = after;
    }
    parts
}

/// The first part, and what is left.
fn split_part(text: &str) -> Option<(Part, &str)> {
    let text = text.trim_start();
    let mut part = Part {
        sql: String::with_capacity(text.len()),
        numbers: Vec::new(),
        reads: only_reads(text),
    };
    let mut within = Within::Code;
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if within == Within::Code && letter == ';' {
            return Some((part, &text[at + 1..]));
        }
        part.sql.push(letter);
        if within == Within::Code && letter == '?' {
            let mut number = 0;
            while let Some(digit) = letters.peek().and_then(|(_, letter)| letter.to_digit(10)) {
                number = 10 * number + digit as u16;
                letters.next();
            }
            let next = part.numbers.len() as u16;
            part.numbers.push(number.checked_sub(1).unwrap_or(next));
        }
        within = within.after(letter, letters.peek().map(|(_, letter)| *letter));
    }
    (!part.sql.trim().is_empty()).then_some((part, ""))
}

/// Whether a statement changes nothing, as its first word says.
fn only_reads(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    word.eq_ignore_ascii_case("select")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Vec<(String, Vec<u16>, bool)> {
        let parts = parts(text).into_iter();
        parts
            .map(|part| (part.sql, part.numbers, part.reads))
            .collect()
    }

    /// Placeholders with numbers and without, and none in a literal.
    #[test]
    fn each_placeholder_has_its_parameter() {
        let expected = "SELECT ?, '?1 $[*] ;' FROM t WHERE a = ? AND b = ? AND c = ?";
        assert_eq!(
            vec![(expected.to_string(), vec![1, 0, 11, 0], true)],
            parsed("SELECT ?2, '?1 $[*] ;' FROM t WHERE a = ?1 AND b = ?12 AND c = ?1")
        );
        assert_eq!(
            vec![("CALL p(?, ?)".to_string(), vec![0, 1], false)],
            parsed("CALL p(?, ?)")
        );
        let comment = "-- it's one; isn't it?\nCALL p(?2)";
        let expected = (comment.replace("?2", "?"), vec![1], false);
        assert_eq!(vec![expected], parsed(comment));
    }

    /// A change, and the read behind it.
    #[test]
    fn a_text_may_have_two_parts() {
        assert_eq!(
            vec![
                ("UPDATE t SET a = ?".to_string(), vec![2], false),
                ("SELECT a FROM t WHERE k = ?".to_string(), vec![0], true),
            ],
            parsed("UPDATE t SET a = ?3; SELECT a FROM t WHERE k = ?1;\n")
        );
    }
}
