//! Makes cargo rebuild the server if an embedded file that is not Rust source changes. Fails a release build if the
//! page's files are missing.

use std::{env, path::Path};

const SITE: &str = "../../target/site";

fn main() {
    // Without this, cargo would not notice a new migration.
    println!("cargo::rerun-if-changed=../../migrations");
    println!("cargo::rerun-if-env-changed=TALLYBOOK_WITHOUT_PAGE");
    let profile = env::var("PROFILE").unwrap_or_default();
    if profile == "release" {
        println!("cargo::rerun-if-changed={SITE}");
    }
    if let Some(error) = missing_page(&profile, Path::new(SITE), env::var_os("TALLYBOOK_WITHOUT_PAGE").is_some()) {
        println!("cargo::error={error}");
    }
}

/// Returns the error of a build with the page's files in `site`, if they are required and missing. A release build
/// embeds them, unless the operator wants a server without a page. A debug build reads them from disk when it runs, so
/// that it needs no rebuild if they change.
fn missing_page(profile: &str, site: &Path, is_without_page: bool) -> Option<&'static str> {
    let has_page = site.join("pkg/tallybook.js").is_file();
    (profile == "release" && !has_page && !is_without_page).then_some(
        "there is no page in target/site to put into the program. Build both with `cargo xtask build --release`, or \
         set TALLYBOOK_WITHOUT_PAGE=1 for a server that has only the API.",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::missing_page;

    #[test]
    fn only_a_release_build_requires_the_page() {
        let site = tempfile::tempdir().unwrap();
        let error = |profile, is_without_page| missing_page(profile, site.path(), is_without_page);
        assert!(error("release", false).unwrap().contains("cargo xtask build --release"));
        assert_eq!((error("debug", false), error("release", true)), (None, None));
        fs::create_dir(site.path().join("pkg")).unwrap();
        fs::write(site.path().join("pkg/tallybook.js"), "").unwrap();
        assert_eq!(error("release", false), None);
    }
}
