//! The load driver: workloads, virtual users, clients.

pub mod client;
pub mod error;
pub mod job;
pub mod stop;
pub mod workload;
