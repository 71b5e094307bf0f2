//! Makes cargo rebuild the server if an embedded file that is not Rust source changes. Fails a release build if the
//! page's files are missing.

use std::{env, path::Path};

const SITE: &str = "../../target/site";

fn main() {
    // Without this, cargo would not notice a new migration.
    println!("cargo::rerun-if-changed=../../migrations");
    println!("cargo::rerun-if-env-changed=TALLYBOOK_WITHOUT_PAGE");
    // A release build embeds the page's files. A debug build reads them from disk, so it needs no rebuild if they
    // change.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed={SITE}");
        let has_page = Path::new(SITE).join("pkg/tallybook.js").is_file();
        if !has_page && env::var_os("TALLYBOOK_WITHOUT_PAGE").is_none() {
            println!(
                "cargo::error=there is no page in target/site to put into the program. Build both with \
                 `cargo xtask build --release`, or set TALLYBOOK_WITHOUT_PAGE=1 for a server that has only the API."
            );
        }
    }
}
