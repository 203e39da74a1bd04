//! Order entry: nine tables of a wholesale supplier and five transactions on them, derived from the
//! TPC-C specification (clause numbers in this folder are those of its revision 5.11). It is no TPC
//! benchmark, and its results cannot be compared with TPC results.

pub mod random;
