//! Command line → configuration → start.

fn main() {}
