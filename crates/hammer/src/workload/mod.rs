//! The workloads; one folder each.

pub mod order_entry;
