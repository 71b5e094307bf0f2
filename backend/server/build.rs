//! Tells cargo which files become a part of the program without being Rust, so that a change in them builds it anew.

use std::env;

fn main() {
    // A new file among these would go unnoticed otherwise.
    println!("cargo::rerun-if-changed=../../migrations");
    // A release carries the page inside; a debug build reads it from disk, and need not be built again for it.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed=../../target/site");
    }
}
