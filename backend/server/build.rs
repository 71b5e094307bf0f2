//! Tells cargo which files become a part of the program without being Rust, so that a change in them rebuilds it, and
//! refuses to build a release without its page.

use std::{env, path::Path};

const SITE: &str = "../../target/site";

fn main() {
    // A new file among these would go unnoticed otherwise.
    println!("cargo::rerun-if-changed=../../migrations");
    println!("cargo::rerun-if-env-changed=TALLYBOOK_WITHOUT_PAGE");
    // A release carries the page inside; a debug build reads it from disk, and need not be built again for it.
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
