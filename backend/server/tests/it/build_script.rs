//! The build script, whose tests are in its own file: cargo runs it, but does not test it.

#[expect(dead_code, clippy::print_stdout, reason = "cargo calls its main function, and reads what it prints")]
#[path = "../../build.rs"]
mod script;
