//! The hammer on a real PostgreSQL: one program of tests, so that all share a server and what was
//! loaded into it. What measures time is in the program `stalls`, where nothing runs beside it.

#![allow(
    clippy::unwrap_used,
    reason = "outside #[test] functions too: a test that cannot go on fails"
)]

mod brokerage;
mod calibrate;
mod check;
mod connect;
mod execution_modes;
mod ledger;
mod mariadb;
mod mysql;
mod mysql_login;
mod oltp;
mod pace;
mod prepare;
mod run;
mod sqlite;
mod sqlserver;
mod sqlserver_login;
mod support;
mod tds;
mod tls;
