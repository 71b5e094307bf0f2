//! Finds a compiler that has, or can build, a standard library for the browser.
//!
//! Tries these in order:
//!
//! 1. The active toolchain, if it has the target.
//! 2. The active toolchain, after rustup has added the target.
//! 3. Debian's compiler with the sources of the standard library, which it builds along with the page.
//! 4. The same, after installing it with apt.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Result, bail};

use crate::{debian, progress::say, shell, workspace};

/// Target triple of the browser side.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's packages: a compiler that supports the target, its cargo, the sources of the standard library, and a
/// linker.
const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

/// Paths of the files in those packages.
const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_LIBRARY: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

/// Timeout for rustup to download about 20 MB.
const RUSTUP_LIMIT: Duration = Duration::from_mins(3);

/// A compiler for the browser side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Toolchain {
    /// The toolchain that builds everything else.
    Active,
    /// Debian's toolchain, which builds the standard library from source.
    Debian,
}

impl Toolchain {
    /// Returns its cargo, ready for `rustc --target wasm32-unknown-unknown`.
    pub(crate) fn cargo(self) -> Command {
        let mut command = match self {
            Self::Active => shell::cargo(),
            Self::Debian => debian_cargo(),
        };
        // The user's flags for the processor or linker of this machine do not apply to the browser. The user's target
        // folder would make this build wait for the server's build again. A wrapper such as clippy can make the page
        // larger.
        let of_this_machine = [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_RUSTFLAGS",
            "CARGO_TARGET_DIR",
            "RUSTC_WORKSPACE_WRAPPER",
        ];
        for name in of_this_machine {
            command.env_remove(name);
        }
        // One view type for all components instead of a type for each. It makes the page a tenth smaller, and the build
        // faster.
        command.env("RUSTFLAGS", "--cfg erase_components");
        command
    }
}

/// Finds a compiler. Installs what is missing, if that needs no confirmation.
pub(crate) fn find() -> Result<Toolchain> {
    if active_has_target() {
        return Ok(Toolchain::Active);
    }
    if !(debian_is_installed() && rustup_failed_before()) && add_with_rustup() && active_has_target() {
        return Ok(Toolchain::Active);
    }
    if !debian_is_installed() && debian::can_install() {
        debian::install(&PACKAGES)?;
    }
    if debian_is_installed() {
        say("using Debian's Rust compiler for the page, since the active toolchain cannot build for the browser");
        return Ok(Toolchain::Debian);
    }
    bail!(
        "no compiler here can build for the browser: run `rustup target add {TARGET}`, or on Debian or Ubuntu \
         `sudo apt-get install {}`, and start again.",
        PACKAGES.join(" ")
    );
}

/// Returns `true` if the active toolchain's standard library for the browser is on disk.
fn active_has_target() -> bool {
    let libraries = shell::ask(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    libraries.is_some_and(|folder| {
        fs::read_dir(folder).is_ok_and(|mut files| {
            files.any(|file| file.is_ok_and(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
        })
    })
}

/// Lets rustup download the target, and returns `true` if that succeeds. There may be no network, so the time is
/// limited, and a failure is noted.
fn add_with_rustup() -> bool {
    if shell::find_program("rustup").is_none() {
        return false;
    }
    say(&format!("adding {TARGET} with rustup (about 20 MB, at most 3 minutes)…"));
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).env("RUSTUP_MAX_RETRIES", "0");
    let added = shell::run_bounded(&mut rustup, RUSTUP_LIMIT).is_some_and(|output| output.status.success());
    if !added {
        say("rustup cannot download it");
        // Without the note, the next run tries again.
        let note = rustup_note();
        let _ = note.parent().map(fs::create_dir_all);
        let _ = fs::write(note, active_version());
    }
    added
}

/// Returns `true` if rustup has already failed for exactly this compiler.
fn rustup_failed_before() -> bool {
    fs::read_to_string(rustup_note()).is_ok_and(|version| version == active_version())
}

fn rustup_note() -> PathBuf {
    workspace::ui_target().join("rustup-cannot-add-target")
}

fn active_version() -> String {
    shell::ask(Command::new("rustc").arg("-vV")).unwrap_or_default()
}

fn debian_is_installed() -> bool {
    [DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_LIBRARY].iter().all(|file| Path::new(file).exists())
        && shell::find_program("wasm-ld").is_some()
}

/// Returns Debian's cargo, configured to build the standard library along with the page.
fn debian_cargo() -> Command {
    let mut command = shell::cargo_at(DEBIAN_CARGO);
    // rustup and cargo pass the active toolchain's paths to child processes, where they would take precedence.
    for name in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTDOC", "RUSTC_WRAPPER", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command
        .env("RUSTC", DEBIAN_RUSTC)
        // Building the standard library is an unstable feature; this enables it in a stable compiler.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld")
        .args(["-Zbuild-std=std,panic_abort"]);
    command
}
