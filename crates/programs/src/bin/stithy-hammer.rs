//! `stithy-hammer`: reads one job on standard input, writes one message a line.

fn main() {}
