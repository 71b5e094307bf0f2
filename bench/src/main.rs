//! The binary of this crate. The code is in the library, because the server's tests use it to evaluate models.

use std::process::ExitCode;

fn main() -> ExitCode {
    tallybook_bench::program()
}
