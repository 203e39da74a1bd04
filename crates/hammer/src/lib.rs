//! The load driver: workloads, virtual users, clients.

mod alarm;
pub mod calibrate;
pub mod canary;
pub mod client;
mod climb;
mod conductor;
pub mod connections;
pub mod crew;
mod deferred;
pub mod error;
pub mod job;
mod losses;
mod open_loop;
pub mod pace;
pub mod pool;
pub mod random;
pub mod record;
pub mod run;
pub mod script;
mod serve;
mod shelf;
pub mod stop;
mod user;
pub mod workload;
