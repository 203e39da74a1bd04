//! The load driver: workloads, virtual users, clients.

pub mod client;
pub mod error;
