//! `cargo xtask ui`: the browser side, from Rust, CSS and static files to what the server hands out.
//!
//! The result is `target/site`: the files of `frontend/public` as they are, and under `pkg/` the program
//! (`tallybook.js`, `tallybook_bg.wasm`) and the style (`tallybook.css`). In a release each has its compressed forms
//! beside it. Nothing is ever fetched ready-made.

mod assets;
mod bindgen;
mod compress;
mod optimize;
pub(crate) mod toolchain;

use std::{fs, path::PathBuf, thread};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;

use crate::{
    fingerprint,
    progress::{Step, say},
    shell, workspace,
};

/// The crate of the browser side, and the target it is built for.
pub(crate) const CRATE: &str = "tallybook-frontend";
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// How the page is built.
#[derive(Args)]
pub(crate) struct Options {
    /// Build the small and fast page that people get, instead of the one that is quick to build
    #[arg(long)]
    pub(crate) release: bool,
}

/// Builds the page and gives back the folder that it is in. Quick when nothing changed.
pub(crate) fn build(options: &Options) -> Result<PathBuf> {
    let site = workspace::site();
    let pkg = site.join("pkg");
    fs::create_dir_all(&pkg).with_context(|| format!("cannot make the folder {}", pkg.display()))?;

    let wasm = compile(options)?;
    let optimizer = if options.release { optimize::find() } else { None };
    let how = format!("release={} wasm-opt={optimizer:?}", options.release);
    let out = [pkg.join("tallybook.js"), pkg.join("tallybook_bg.wasm")];
    let fingerprint = fingerprint::of(&how, &[&wasm])?;
    let note = workspace::ui_target().join("bound");
    if !(fingerprint::matches(&note, &fingerprint) && out.iter().all(|file| file.is_file())) {
        let step = Step::begin("preparing the page's WASM", "");
        let folder = bindgen::bind(&wasm, options.release)?;
        if let Some(optimizer) = &optimizer {
            optimize::run(optimizer, &folder.join("tallybook_bg.wasm"))?;
        } else if options.release {
            say("no wasm-opt found: the page works, but is about three times as large as it could be. \
                 To make it small, run `npm ci` in e2e, or install binaryen.");
        }
        assets::move_all(&folder, &pkg)?;
        fingerprint::write(&note, &fingerprint)?;
        step.done("");
    }
    assets::copy_all(&site)?;

    let files = assets::files(&site)?;
    if options.release {
        compress::all(&files)?;
        say(&compress::describe_first_load(compress::first_load(&files)?));
    } else {
        compress::none(&files)?;
    }
    let sizes: Vec<_> = out.iter().chain([&pkg.join("tallybook.css")]).map(|file| assets::describe(file)).collect();
    say(&format!("the page is in {}: {}", site.display(), sizes.join(", ")));
    Ok(site)
}

/// Builds the page while other work goes on. Each uses the processors that the other leaves idle while it links.
pub(crate) fn build_beside(options: &Options, work: impl FnOnce() -> Result<()>) -> Result<()> {
    thread::scope(|scope| {
        let page = scope.spawn(|| build(options));
        let worked = work();
        page.join().map_err(|_| anyhow!("building the page stopped in the middle"))??;
        worked
    })
}

/// Compiles the crate and gives back cargo's WASM file.
fn compile(options: &Options) -> Result<PathBuf> {
    let profile = if options.release { "wasm-release" } else { "wasm-dev" };
    let toolchain = toolchain::find()?;
    let target_dir = workspace::ui_target();
    let step = Step::begin(
        "building the page",
        if target_dir.join(TARGET).join(profile).exists() { "" } else { "the first time takes about 5 minutes" },
    );
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--package", CRATE, "--lib", "--features", "hydrate", "--profile", profile]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(&target_dir);
    shell::run(&mut cargo)?;
    step.done("");
    Ok(target_dir.join(TARGET).join(profile).join("tallybook_frontend.wasm"))
}
