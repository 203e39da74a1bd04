//! What is wrong with a profile, told with the place, the value and the remedy.

use std::fmt;

use crate::error::DriveError;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The key, with its table.
    pub key: String,
    /// What was given; None where nothing was.
    pub value: Option<String>,
    /// What is wrong with it.
    pub problem: String,
    /// What would mend it.
    pub remedy: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.key)?;
        if let Some(value) = &self.value {
            write!(f, " = {value}")?;
        }
        write!(f, " {}; {}", self.problem, self.remedy)
    }
}

/// All problems as one error of `file`.
pub(super) fn told(file: &str, problems: &[Problem]) -> DriveError {
    if problems.is_empty() {
        return DriveError::bug("a profile without a problem has no values", file);
    }
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("{file}:{problem}"))
        .collect();
    let remedy = "correct these keys; docs/reference/drive-profiles.md tells what each means";
    DriveError::usage("profile-invalid", lines.join("\n"), file, remedy)
}
