//! The WASM modules that the page runs in a browser.

use super::split;

/// A crate that is built as a WASM module for the browser.
pub(crate) struct Program {
    /// The crate, and the features that it is built with.
    pub(crate) package: &'static str,
    pub(crate) features: &'static [&'static str],
    /// Name of its files, without their extensions.
    pub(super) name: &'static str,
    /// `true` if a first visit loads it.
    pub(super) first: bool,
    /// Names of its lazy chunks, which a first visit doesn't load. Code that several of them need is in further chunks.
    pub(super) parts: &'static [&'static str],
}

pub(crate) const PROGRAMS: [Program; 2] = [
    Program {
        package: "tallybook-frontend",
        features: &["browser"],
        name: "tallybook",
        first: true,
        parts: &["frame", "messages", "others"],
    },
    Program { package: "tallybook-typeset", features: &[], name: "typeset", first: false, parts: &[] },
];

impl Program {
    /// Returns the name of cargo's WASM file.
    pub(super) fn compiled(&self) -> String {
        format!("{}.wasm", self.package.replace('-', "_"))
    }

    pub(super) fn files(&self) -> Vec<String> {
        let main = [self.script(), self.wasm()];
        main.into_iter().chain(split::files_of(self.parts)).collect()
    }

    pub(super) fn script(&self) -> String {
        format!("{}.js", self.name)
    }

    pub(super) fn wasm(&self) -> String {
        format!("{}_bg.wasm", self.name)
    }

    /// Returns the names of its files that a first visit does not load.
    pub(super) fn lazy_files(&self) -> Vec<String> {
        if self.first { split::files_of(self.parts) } else { self.files() }
    }
}
