//! Splits a WASM module into a main part and chunks that are loaded when they are first needed. Split points are marked
//! in the source with `wasm_split`. Code that is reachable from the split points of only one chunk goes into that
//! chunk. Code that several chunks need goes into a chunk that these share, which is named after them.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, anyhow, bail};
use wasm_split_cli_support::{Options, transform};

use super::files_below;

/// Name by which the main part imports the loader of the chunks.
const LINK: &str = "./link.js";

/// Linker argument that keeps relocations in the file. Only they show which code belongs to which chunk.
pub(crate) const LINK_ARGUMENT: &str = "link-arg=--emit-relocs";

/// Prefix of the names of chunks.
const CHUNK: &str = "split_";

/// Prefix of the names that the splitter gives to shared chunks.
const SHARED: &str = "chunk_";

/// Returns the file names of these chunks.
pub(crate) fn files_of(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| format!("{CHUNK}{part}.wasm")).collect()
}

/// Returns `true` for the file of a chunk, which may be shared.
pub(crate) fn is_chunk(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with(CHUNK) && file.extension().is_some_and(|end| end == "wasm")
}

/// A split WASM module.
pub(crate) struct Split {
    /// The main part, as the input of wasm-bindgen.
    pub(crate) main: PathBuf,
    /// The loader of the chunks.
    link: PathBuf,
    folder: PathBuf,
    /// The splitter's names of the shared chunks, and those that they get.
    shared: Vec<(String, String)>,
}

/// Splits cargo's WASM file of the module `name`. `folder` must be empty.
pub(crate) fn split(wasm: &Path, name: &str, folder: &Path) -> Result<Split> {
    let program = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let main = folder.join("main.wasm");
    let module = format!("./{name}.js");
    let mut options = Options::new(&program);
    options.output_dir = folder;
    options.main_out_path = &main;
    options.link_name = LINK;
    options.main_module = &module;
    let split = transform(options).map_err(|error| anyhow!("cannot split {}: {error:#}", wasm.display()))?;
    let loaded = split.prefetch_map.iter().map(|(part, files)| (&**part, files.iter().map(String::as_str).collect()));
    let shared = shared_names(&loaded.collect::<Vec<_>>());
    Ok(Split { link: folder.join(LINK), folder: folder.to_owned(), shared, main })
}

/// Returns the splitter's name of each shared chunk, and the names of the chunks that need it, joined. `loaded` has the
/// files that are loaded for each chunk.
fn shared_names(loaded: &[(&str, Vec<&str>)]) -> Vec<(String, String)> {
    let files: BTreeSet<_> =
        loaded.iter().flat_map(|(_, files)| files).filter(|file| file.starts_with(SHARED)).collect();
    let named = files.into_iter().map(|file| {
        let parts = loaded.iter().filter(|(_, files)| files.contains(file)).map(|(part, _)| *part);
        (
            (*file).to_owned(),
            format!("{CHUNK}{}", parts.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("_")),
        )
    });
    named.collect()
}

impl Split {
    /// Returns the main part and its chunks.
    pub(super) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = files_below(&self.folder)?;
        files.retain(|file| file.extension().is_some_and(|end| end == "wasm"));
        Ok(files)
    }

    /// Moves the chunks next to the main part, and adds their loader to the main part's JavaScript. As a separate file,
    /// the loader would import the main part by its module name. That module may have failed to load, while the page
    /// runs one that it requested again.
    pub(crate) fn join(&self, script: &Path) -> Result<()> {
        let (program, mut link) = (read(script)?, read(&self.link)?);
        for (made, name) in &self.shared {
            link = link.replace(&format!("{made}.wasm"), &format!("{name}.wasm"));
            fs::rename(self.folder.join(format!("{made}.wasm")), self.folder.join(format!("{name}.wasm")))
                .with_context(|| format!("the splitter wrote no {made}.wasm"))?;
        }
        for file in self.files()?.iter().filter(|file| is_chunk(file)) {
            let place = script.with_file_name(file.file_name().unwrap_or_default());
            fs::rename(file, &place).with_context(|| format!("cannot write {}", place.display()))?;
        }
        fs::write(script, with_link(&program, &link)?).with_context(|| format!("cannot write {}", script.display()))
    }
}

/// Merges the splitter's JavaScript into wasm-bindgen's. Each imports the other, wasm-bindgen's once for each chunk.
fn with_link(program: &str, link: &str) -> Result<String> {
    let from_link = format!(" from \"{LINK}\"");
    let name_of = |line: &str| Some(line.strip_prefix("import * as ")?.split_once(&from_link)?.0.to_owned());
    let names: Vec<_> = program.lines().filter_map(name_of).collect();
    if names.is_empty() {
        bail!("the program does not import the loader of its chunks");
    }
    let exported = |line: &str| Some(line.strip_prefix("export const ")?.split(' ').next()?.to_owned());
    let loaders = link.lines().filter_map(exported).collect::<Vec<_>>().join(", ");
    let program = program.lines().filter(|line| name_of(line).is_none()).map(str::to_owned);
    let link = link.lines().filter(|line| !line.starts_with("import "));
    let link = link.map(|line| line.trim_start_matches("export ").to_owned());
    let imports = names.into_iter().map(|name| format!("const {name} = {{ {loaders} }};"));
    Ok(program.chain(link).chain(imports).map(|line| line + "\n").collect())
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_chunks_are_named_after_the_chunks_that_need_them() {
        let loaded = [
            ("others", vec!["chunk_4", "chunk_5", "split_others"]),
            ("frame", vec!["chunk_5", "split_frame"]),
            ("messages", vec!["chunk_4", "chunk_5", "split_messages"]),
        ];
        let names = [("chunk_4", "split_messages_others"), ("chunk_5", "split_frame_messages_others")];
        assert_eq!(shared_names(&loaded), names.map(|(made, name)| (made.to_owned(), name.to_owned())));
    }

    #[test]
    fn the_loader_of_the_chunks_goes_into_the_main_script() -> Result<()> {
        let program = "import * as a from \"./link.js\"\nimport * as b from \"./link.js\"\nfunction initSync() {}\n";
        let link = "import { initSync } from \"./page.js\";\nexport const load_later = () => initSync();\n";
        assert_eq!(
            with_link(program, link)?,
            "function initSync() {}\nconst load_later = () => initSync();\n\
             const a = { load_later };\nconst b = { load_later };\n"
        );
        assert!(with_link("function initSync() {}", link).is_err());
        Ok(())
    }
}
