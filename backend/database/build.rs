//! Rebuilds the crate when a migration is added. The macro that embeds the migrations notices only changed files.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
