//! Lists the code size of a WASM file by crate, and by module for the page's own crate: `cargo xtask ui --sizes`.
//!
//! The sizes are those of the compiled functions before wasm-opt and compression. They show where code comes from, and
//! not how much of it a visit loads.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context as _, Result};
use rustc_demangle::demangle;
use wasmparser::{KnownCustom, Name, Parser, Payload};

use crate::progress::say;

/// Crate whose sizes are listed by module.
const OWN_CRATE: &str = "tallybook_frontend";

/// Number of lines listed for each file.
const MAX_LINES: usize = 40;

/// Prints how many KB of code each crate has in a WASM file that still has its name section.
pub(super) fn print(wasm: &Path) -> Result<()> {
    let program = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let functions = functions(&program).with_context(|| format!("cannot parse {}", wasm.display()))?;
    let mut sizes: HashMap<String, u64> = HashMap::new();
    for (name, bytes) in &functions {
        *sizes.entry(origin(name)).or_default() += bytes;
    }
    let mut sizes: Vec<_> = sizes.into_iter().collect();
    sizes.sort_by_key(|(origin, bytes)| (u64::MAX - bytes, origin.clone()));
    let name = wasm.file_name().unwrap_or_default().to_string_lossy();
    let total: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
    let lines = sizes
        .iter()
        .take(MAX_LINES)
        .filter(|(_, bytes)| *bytes >= 1000)
        .map(|(origin, bytes)| format!("\n{:6} KB  {origin}", bytes / 1000));
    say(&format!("{name} has {} KB of code:{}", total / 1000, lines.collect::<String>()));
    Ok(())
}

/// Returns the name and size in bytes of each function.
fn functions(program: &[u8]) -> Result<Vec<(String, u64)>> {
    let (mut imported, mut sizes, mut names) = (0, Vec::new(), HashMap::new());
    for payload in Parser::new(0).parse_all(program) {
        match payload? {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    imported += u32::from(matches!(import?.ty, wasmparser::TypeRef::Func(_)));
                }
            }
            Payload::CodeSectionEntry(body) => sizes.push(body.range().len() as u64),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(sections) = section.as_known() {
                    for section in sections {
                        if let Name::Function(map) = section? {
                            for naming in map {
                                let naming = naming?;
                                names.insert(naming.index, naming.name.to_owned());
                            }
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok((imported..).zip(sizes).map(|(index, size)| (names.remove(&index).unwrap_or_default(), size)).collect())
}

/// Returns the crate that a function's code is from, and for the page's own crate also its module. A generic function
/// is counted for the crate that defines it.
fn origin(symbol: &str) -> String {
    let name = format!("{:#}", demangle(symbol));
    // `<Type as Trait>::method` belongs to the type's crate.
    let path = name.trim_start_matches(['<', '&', '*', '(', '[']).trim_start_matches("mut ").trim_start_matches("dyn ");
    let mut parts = path.split("::").map(|part| part.split(['<', ' ', '>', ',', '{']).next().unwrap_or(part));
    let krate = parts.next().filter(|first| !first.is_empty()).unwrap_or("(without a name)");
    if krate != OWN_CRATE {
        return krate.to_owned();
    }
    let modules = parts.take_while(|part| part.starts_with(|first: char| first.is_ascii_lowercase())).take(2);
    std::iter::once(krate).chain(modules).collect::<Vec<_>>().join("::")
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn functions_are_counted_for_their_crate_and_those_of_the_page_for_their_module() {
        assert_eq!(origin("_ZN6tachys4html7element5build17h0123456789abcdefE"), "tachys");
        assert_eq!(origin("<core::option::Option<T> as core::fmt::Debug>::fmt"), "core");
        assert_eq!(
            origin("<tallybook_frontend::session::send::Draft as core::clone::Clone>::clone"),
            "tallybook_frontend::session::send"
        );
        assert_eq!(origin(""), "(without a name)");
    }
}
