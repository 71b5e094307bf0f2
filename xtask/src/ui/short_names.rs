//! Shortens the names by which a WASM module imports the functions of its script. wasm-bindgen ends each of them with a
//! hash, which hardly compresses and is in both files. The script also loses its indentation.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use wasmparser::{Parser, Payload};

/// ID of the section of a WASM file with its imports.
const IMPORTS: u8 = 2;

/// Number of hexadecimal digits of the hash at the end of a name.
const HASH_DIGITS: usize = 16;

/// Longest name whose length is one byte in a WASM file.
const MAX_NAME: usize = 127;

/// Shortens the names in a script and in its module, in place.
pub(super) fn shorten(script: &Path, wasm: &Path) -> Result<()> {
    let text = fs::read_to_string(script).with_context(|| format!("cannot read {}", script.display()))?;
    let program = fs::read(wasm).with_context(|| format!("cannot read {}", wasm.display()))?;
    let (text, program) = shortened(&text, &program).with_context(|| format!("cannot parse {}", wasm.display()))?;
    fs::write(script, text).with_context(|| format!("cannot write {}", script.display()))?;
    fs::write(wasm, program).with_context(|| format!("cannot write {}", wasm.display()))
}

fn shortened(script: &str, program: &[u8]) -> Result<(String, Vec<u8>)> {
    for payload in Parser::new(0).parse_all(program) {
        let Payload::ImportSection(imports) = payload? else { continue };
        let range = imports.range();
        let mut names = HashMap::new();
        let mut section = Vec::new();
        let mut copied = range.start;
        for import in imports.into_imports() {
            let name = import?.name;
            if !ends_with_hash(name) || name.len() > MAX_NAME {
                continue;
            }
            let short = format!("${}", names.len());
            let place = name.as_ptr().addr() - program.as_ptr().addr();
            // The byte before a name is its length.
            section.extend(&program[copied..place - 1]);
            section.push(u8::try_from(short.len())?);
            section.extend(short.as_bytes());
            copied = place + name.len();
            names.insert(name, short);
        }
        section.extend(&program[copied..range.end]);
        let begin = range.start.saturating_sub(1 + leb128(range.len()).len());
        ensure!(program[begin] == IMPORTS, "the length of the section with the imports has an unusual form");
        let program = [&program[..begin], &[IMPORTS], &leb128(section.len()), &section, &program[range.end..]].concat();
        return Ok((with_names(script, &names), program));
    }
    Ok((with_names(script, &HashMap::new()), program.to_vec()))
}

fn ends_with_hash(name: &str) -> bool {
    name.rsplit('_').next().is_some_and(|end| end.len() == HASH_DIGITS && end.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns the script with other names, and without indentation and empty lines.
fn with_names(script: &str, names: &HashMap<&str, String>) -> String {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut text = String::with_capacity(script.len());
    for line in script.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
        for part in line.split_inclusive(|c| !is_name(c)) {
            let name = part.trim_end_matches(|c| !is_name(c));
            text.push_str(names.get(name).map_or(name, String::as_str));
            text.push_str(&part[name.len()..]);
        }
        text.push('\n');
    }
    text
}

/// Encodes a length as WASM files do: in groups of seven bits, the lowest first.
fn leb128(mut length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let group = u8::try_from(length & 0x7f).unwrap_or(0x7f);
        length >>= 7;
        if length == 0 {
            bytes.push(group);
            return bytes;
        }
        bytes.push(group | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a module that imports a function without parameters and results by each of these names.
    fn module(names: &[&str]) -> Vec<u8> {
        let text = |text: &str| [&[u8::try_from(text.len()).unwrap()], text.as_bytes()].concat();
        let imports = names.iter().flat_map(|name| [text("./page_bg.js"), text(name), vec![0, 0]].concat());
        let imports: Vec<u8> = leb128(names.len()).into_iter().chain(imports).collect();
        let header: &[u8] = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0";
        [header, &[IMPORTS], &leb128(imports.len()), &imports].concat()
    }

    fn imported(program: &[u8]) -> Vec<String> {
        let payloads = Parser::new(0).parse_all(program).map(Result::unwrap);
        let imports =
            payloads.filter_map(|payload| if let Payload::ImportSection(all) = payload { Some(all) } else { None });
        imports.flat_map(|all| all.into_imports().map(|import| import.unwrap().name.to_owned())).collect()
    }

    #[test]
    fn names_with_a_hash_are_shortened_in_both_files() -> Result<()> {
        let names = ["__wbg_alert_0123456789abcdef", "memory", "__wbg_log_fedcba9876543210"];
        let script = "const imports = {\n    __wbg_alert_0123456789abcdef: function() {},\n\n    \
                      __wbg_log_fedcba9876543210: () => wasm.memory,\n};\n";
        let (script, program) = shortened(script, &module(&names))?;
        assert_eq!(imported(&program), ["$0", "memory", "$1"]);
        assert_eq!(script, "const imports = {\n$0: function() {},\n$1: () => wasm.memory,\n};\n");
        Ok(())
    }

    #[test]
    fn a_section_longer_than_one_byte_can_say_stays_readable() -> Result<()> {
        let names: Vec<String> = (0..300).map(|number| format!("__wbg_call_{number:016x}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (_, program) = shortened("", &module(&names))?;
        assert_eq!(imported(&program), (0..300).map(|number| format!("${number}")).collect::<Vec<_>>());
        Ok(())
    }

    #[test]
    fn a_module_without_imports_stays_as_it_is() -> Result<()> {
        let program = module(&[]);
        assert_eq!(shortened("  a;\n", &program)?, ("a;\n".to_owned(), program));
        Ok(())
    }
}
