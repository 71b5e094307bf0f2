//! The program of this crate. What it does is in the library, since the server's tests evaluate models by it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tallybook_bench::program()
}
