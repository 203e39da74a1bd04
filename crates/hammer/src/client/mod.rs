//! Ways to speak to a database server; one file a protocol.

pub mod postgresql;
