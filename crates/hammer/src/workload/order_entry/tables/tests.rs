//! Tests of the population rules.
