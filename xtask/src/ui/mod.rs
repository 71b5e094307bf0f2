//! `cargo xtask ui`: builds the browser side, from Rust, CSS, and static files to the files that the server serves.
//!
//! The result is `target/site`. It has the files of `frontend/public` unchanged. The folder `pkg/` has the main WASM
//! module (`tallybook.js`, `tallybook_bg.wasm`), its style sheet (`tallybook.css`) and its font (`serif.woff2`). It
//! also has the lazily loaded files: the other chunks of that module (`split_….wasm`) with their style sheet
//! (`lazy.css`), and `typeset.js` with `typeset_bg.wasm`. Pages without that module have `documents.css`. In a release,
//! each file has its compressed forms next to it. No prebuilt file is ever downloaded.

mod assets;
mod bindgen;
mod compress;
mod minify;
pub(crate) mod optimize;
pub(crate) mod programs;
mod short_names;
mod sizes;
mod split;
pub(crate) mod toolchain;

use std::{
    env, fs,
    path::{Path, PathBuf},
    thread,
};

use anyhow::{Context as _, Result, anyhow};
pub(crate) use assets::files_below;
use clap::Args;

pub(crate) use self::{
    programs::{PROGRAMS, Program},
    toolchain::TARGET,
};
use crate::{
    fingerprint, notices,
    progress::{Step, say},
    shell, workspace,
};

/// Cargo profile of the page that is quick to build.
pub(crate) const DEV_PROFILE: &str = "wasm-dev";

/// The file with the licenses, which the server serves and prints.
const LICENSES: &str = "licenses.txt";

/// Options of `cargo xtask ui`.
#[derive(Args)]
pub(crate) struct Options {
    /// Build the small and fast page of a release, instead of the one that is quick to build
    #[arg(long)]
    pub(crate) release: bool,
    /// Also list how much code each crate has in each file
    #[arg(long)]
    pub(crate) sizes: bool,
}

/// Builds the page, and returns its folder. Fast if nothing has changed.
pub(crate) fn build(options: &Options) -> Result<PathBuf> {
    let site = workspace::site();
    let pkg = site.join("pkg");
    fs::create_dir_all(&pkg).with_context(|| format!("cannot create the folder {}", pkg.display()))?;

    let compiled = compile(options)?;
    let optimizer = if options.release { optimize::find() } else { None };
    if options.release && optimizer.is_none() {
        say("no wasm-opt found: the page works, but is about three times as large as it could be. \
             To make it small, run `npm ci` in e2e, or install binaryen.");
    }
    for program in &PROGRAMS {
        bind(program, &compiled.join(program.compiled()), &pkg, options, optimizer.as_deref())?;
    }
    assets::copy_all(&site)?;
    write_licenses(&site)?;
    let styles = [assets::STYLE, assets::LAZY_STYLE, assets::DOCUMENT_STYLE, assets::FONT].map(str::to_owned);
    let mut made: Vec<_> = PROGRAMS.iter().flat_map(Program::files).chain(styles).collect();
    made.extend(names(&chunks(&pkg)?));
    made.sort();
    made.dedup();
    assets::keep_only(&pkg, &made)?;

    let files = assets::files(&site)?;
    if options.release {
        compress::all(&files)?;
        // Without wasm-opt the page is known to be too large.
        check_budgets(&files, optimizer.is_some())?;
    } else {
        compress::none(&files)?;
    }
    let sizes: Vec<_> = made.iter().map(|file| assets::describe(&pkg.join(file))).collect();
    say(&format!("the page is in {}: {}", site.display(), sizes.join(", ")));
    Ok(site)
}

/// Builds the page in parallel with other work. Each uses the processors that the other leaves idle while it links.
pub(crate) fn build_beside(options: &Options, work: impl FnOnce() -> Result<()>) -> Result<()> {
    thread::scope(|scope| {
        let page = scope.spawn(|| build(options));
        let worked = work();
        page.join().map_err(|_| anyhow!("the build of the page panicked"))??;
        worked
    })
}

/// Writes the licenses of the font and of all crates in the program and the page, if the font's license or `Cargo.lock`
/// has changed since.
fn write_licenses(site: &Path) -> Result<()> {
    let place = site.join(LICENSES);
    let sources = [workspace::root().join("Cargo.lock"), notices::font_license()];
    let fingerprint = fingerprint::of("licenses", &sources.each_ref().map(PathBuf::as_path))?;
    let note = workspace::ui_target().join("licenses-written");
    if place.is_file() && fingerprint::matches(&note, &fingerprint) {
        return Ok(());
    }
    assets::replace(&place, notices::third_party_licenses()?.as_bytes())?;
    fingerprint::write(&note, &fingerprint)
}

/// Checks the sizes of first visits, if they are final.
fn check_budgets(files: &[PathBuf], are_final: bool) -> Result<()> {
    let budgets = [compress::NEW_CHAT, compress::CONVERSATION, compress::USED_CONVERSATION];
    // Each visit loads what the one before loads, and more.
    let more: [fn(&Path) -> bool; 3] = [is_loaded_first, is_lazy_style, is_of_messages];
    let mut loaded: Vec<PathBuf> = Vec::new();
    for (budget, is_loaded_too) in budgets.iter().zip(more) {
        loaded.extend(files.iter().filter(|file| is_loaded_too(file)).cloned());
        let bytes = budget.loaded(&loaded)?;
        say(&budget.describe(bytes));
        if are_final && let Some(warning) = over_budget(budget.check(bytes), env::var_os("CI").is_some())? {
            say(&warning);
        }
    }
    Ok(())
}

/// Returns the warning about a page that is too large. In CI it is an error: a user who builds a release needs a page,
/// and CI needs the budget.
fn over_budget(checked: Result<()>, is_ci: bool) -> Result<Option<String>> {
    match checked {
        Ok(()) => Ok(None),
        Err(error) if is_ci => Err(error),
        Err(error) => Ok(Some(format!("warning: {error}"))),
    }
}

/// Returns the chunks in a folder. Which of them are shared is known only after the program was split.
fn chunks(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = files_below(folder)?;
    files.retain(|file| split::is_chunk(file));
    Ok(files)
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().filter_map(|file| Some(file.file_name()?.to_string_lossy().into_owned())).collect()
}

/// Returns `true` for the style that a first visit to a conversation loads in addition.
fn is_lazy_style(file: &Path) -> bool {
    file.ends_with(assets::LAZY_STYLE)
}

/// Returns `true` for the code that a conversation loads once it is used.
fn is_of_messages(file: &Path) -> bool {
    split::is_chunk(file) && file.file_stem().unwrap_or_default().to_string_lossy().contains("messages")
}

fn is_loaded_first(file: &Path) -> bool {
    let mut lazy = PROGRAMS.iter().flat_map(Program::lazy_files);
    // Icons are used only once the app is installed.
    let is_icon = file.extension().is_some_and(|end| end == "png");
    !is_icon
        && !file.ends_with(LICENSES)
        && !file.ends_with(assets::LAZY_STYLE)
        && !file.ends_with(assets::DOCUMENT_STYLE)
        && !split::is_chunk(file)
        && !lazy.any(|lazy| file.ends_with(lazy))
}

/// Creates a module's files from cargo's WASM file and moves them to `pkg`, unless they exist and the WASM file has not
/// changed.
fn bind(program: &Program, wasm: &Path, pkg: &Path, options: &Options, optimizer: Option<&Path>) -> Result<()> {
    let how = format!("release={} wasm-opt={optimizer:?}, short names", options.release);
    let fingerprint = fingerprint::of(&how, &[wasm])?;
    let note = workspace::ui_target().join(format!("bound-{}", program.name));
    if !options.sizes
        && fingerprint::matches(&note, &fingerprint)
        && program.files().iter().all(|file| pkg.join(file).is_file())
    {
        return Ok(());
    }
    let step = Step::begin("preparing the page's WASM", "");
    let [split, bound] = ["split", "bindgen"].map(|name| workspace::ui_target().join(name));
    assets::empty(&bound)?;
    if program.parts.is_empty() {
        bindgen::bind(wasm, program.name, &bound, false, options.release)?;
    } else {
        assets::empty(&split)?;
        let split = split::split(wasm, program.name, &split)?;
        if options.sizes {
            split.files()?.iter().try_for_each(|file| sizes::print(file))?;
        }
        bindgen::bind(&split.main, program.name, &bound, true, options.release)?;
        split.join(&bound.join(program.script()))?;
    }
    if options.release {
        // The quick build keeps the names, which stack traces contain.
        short_names::shorten(&bound.join(program.script()), &bound.join(program.wasm()))?;
    }
    if let Some(optimizer) = optimizer {
        for file in files_below(&bound)?.iter().filter(|file| file.extension().is_some_and(|end| end == "wasm")) {
            optimize::run(optimizer, file)?;
        }
    }
    if !program.parts.is_empty() {
        let new = names(&chunks(&bound)?);
        for old in chunks(pkg)?.iter().filter(|old| !new.iter().any(|name| old.ends_with(name))) {
            fs::remove_file(old).with_context(|| format!("cannot remove {}", old.display()))?;
        }
    }
    assets::move_all(&bound, pkg)?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(())
}

/// Compiles the WASM modules, and returns the folder with cargo's WASM files.
fn compile(options: &Options) -> Result<PathBuf> {
    let profile = if options.release { "wasm-release" } else { DEV_PROFILE };
    let toolchain = toolchain::find()?;
    let target_dir = workspace::ui_target();
    let built = target_dir.join(TARGET).join(profile);
    let remark = if built.exists() { "" } else { "the first time takes about 5 minutes" };
    let step = Step::begin("building the page", remark);
    // Builds one after the other. In one build, each would get the features of common dependencies that only the other
    // needs.
    for program in &PROGRAMS {
        let mut cargo = toolchain.cargo();
        // The crate type is set here instead of in the manifest, where it would apply to every build of the crate. The
        // modules would then overwrite files that other builds use, and everything would be rebuilt each time.
        cargo.args(["rustc", "--package", program.package, "--lib", "--crate-type", "cdylib"]);
        cargo.args(["--features", &program.features.join(",")]);
        cargo.args(["--profile", profile, "--target", TARGET, "--target-dir"]).arg(&target_dir);
        if !program.parts.is_empty() {
            cargo.args(["--", "-C", split::LINK_ARGUMENT]);
        }
        shell::run(&mut cargo)?;
    }
    step.done("");
    Ok(built)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::over_budget;

    #[test]
    fn a_page_that_is_too_large_fails_only_in_ci() {
        let too_heavy = || Err(anyhow!("a first visit loads too much"));
        assert!(over_budget(too_heavy(), true).is_err());
        assert_eq!(over_budget(too_heavy(), false).unwrap().unwrap(), "warning: a first visit loads too much");
        for is_ci in [true, false] {
            assert_eq!(over_budget(Ok(()), is_ci).unwrap(), None);
        }
    }
}
