//! The load driver: workloads, virtual users, clients.

mod alarm;
pub mod calibrate;
pub mod client;
mod conductor;
pub mod connections;
pub mod error;
pub mod job;
pub mod pace;
pub mod record;
pub mod run;
pub mod script;
pub mod stop;
pub mod user;
pub mod workload;
