//! Placeholder until the generators are in.
fn main() {}
