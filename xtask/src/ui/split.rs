//! Splits a WASM module into a main part and chunks that are loaded when they are first needed. Split points are marked
//! in the source with `wasm_split`. Code that is reachable from only one split point goes into its chunk. Code that is
//! reachable from several goes into a shared chunk.

use std::{
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

/// Returns the file names of these chunks and of the chunk that they share.
pub(crate) fn files_of(parts: &[&str]) -> Vec<String> {
    let shared = (parts.len() > 1).then_some("shared");
    parts.iter().copied().chain(shared).map(|part| format!("split_{part}.wasm")).collect()
}

/// A split WASM module.
pub(crate) struct Split {
    /// The main part, as the input of wasm-bindgen.
    pub(crate) main: PathBuf,
    /// The loader of the chunks.
    link: PathBuf,
    folder: PathBuf,
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
    transform(options).map_err(|error| anyhow!("cannot split {}: {error:#}", wasm.display()))?;
    Ok(Split { link: folder.join(LINK), folder: folder.to_owned(), main })
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
    pub(crate) fn join(&self, parts: &[&str], script: &Path) -> Result<()> {
        let (program, mut link) = (read(script)?, read(&self.link)?);
        for file in files_of(parts) {
            let mut made = self.folder.join(&file);
            if !made.is_file() {
                // The name of the shared chunk contains its number.
                made = self.shared()?;
                let number = made.file_name().unwrap_or_default().to_string_lossy().into_owned();
                link = link.replace(&number, &file);
            }
            let place = script.with_file_name(file);
            fs::rename(made, &place).with_context(|| format!("cannot write {}", place.display()))?;
        }
        fs::write(script, with_link(&program, &link)?).with_context(|| format!("cannot write {}", script.display()))
    }

    fn shared(&self) -> Result<PathBuf> {
        let files = fs::read_dir(&self.folder)?.collect::<Result<Vec<_>, _>>()?;
        let mut chunks = files.iter().filter(|file| file.file_name().to_string_lossy().starts_with("chunk_"));
        match (chunks.next(), chunks.next()) {
            (Some(chunk), None) => Ok(chunk.path()),
            _ => bail!("the program does not have exactly one shared chunk"),
        }
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
