//! Server-side procedures of the transactions, created after loading.

/// Each procedure's SQL.
pub const PROCEDURES: &[&str] = &[];
