//! Tool servers as they are met: real processes and real HTTP, played by `mock-mcp`. Each fault has a test of its name.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in tests a panic is how a failure is told; clippy knows that of test functions only, not of their kit"
)]

mod changes;
mod eras;
mod faults;
mod processes;
mod python_sdk;
mod support;
mod tokens;
