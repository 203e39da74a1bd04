//! The load driver: workloads, virtual users, clients.
