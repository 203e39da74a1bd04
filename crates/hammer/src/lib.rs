//! The load driver: workloads, virtual users, clients.

mod alarm;
pub mod condition;
pub mod connections;
mod deferred;
pub mod engines;
pub mod error;
pub mod job;
mod jobs;
pub mod ledger;
pub mod loading;
mod losses;
mod open_loop;
pub mod pace;
mod plugins;
pub mod pool;
mod queue;
pub mod record;
pub mod run;
mod run_controller;
mod seating;
mod serve;
pub mod stop;
pub mod transaction_script;
mod virtual_user;
pub mod virtual_users;
pub mod window;
pub mod workloads;
