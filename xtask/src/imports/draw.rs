//! Writes the imports as text, or as a graph for Graphviz.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::{self, ErrorKind, Write as _},
};

use anyhow::Result;

use super::graph::{Imports, folder, from_the_top};

/// Lists folders and then files, each with its imports. A file or folder is above those that it imports.
pub(super) fn text(imports: &Imports) -> String {
    let between = imports.between_folders();
    let files_of = by_folder(imports.files.iter().map(String::as_str));
    let folders = from_the_top(files_of.keys().copied(), between.iter().copied());

    let mut text = String::from(
        "Folders, each above those that it imports from (↑ marks a folder above, with which there is a cycle):\n\n",
    );
    let width = folders.iter().map(|folder| folder.len()).max().unwrap_or_default();
    for (row, folder) in folders.iter().enumerate() {
        let imported = folders.iter().enumerate().filter(|(_, other)| between.contains(&(folder, other)));
        let targets: Vec<_> =
            imported.map(|(other_row, other)| format!("{}{other}", if other_row < row { "↑" } else { "" })).collect();
        line(&mut text, folder, width, &targets.join(", "));
    }
    text.push_str("\nFiles:\n");
    for folder in &folders {
        let _ = writeln!(text, "\n{folder}");
        let files = files_of.get(folder).into_iter().flatten().copied();
        let within = |(from, to): &(&str, &str)| self::folder(from) == *folder && self::folder(to) == *folder;
        let files = from_the_top(files, imports.between_files().filter(within));
        let width = files.iter().map(|file| short(file).len() + 2).max().unwrap_or_default();
        for file in files {
            line(&mut text, &format!("  {}", short(file)), width, &targets(imports, file));
        }
    }
    text
}

/// Lists the imports of a file: files of its own folder by name, others as `folder/{one, two}`.
fn targets(imports: &Imports, file: &str) -> String {
    let imported = imports.between_files().filter(|(from, _)| *from == file).map(|(_, to)| to);
    let mut groups = by_folder(imported);
    let beside = groups.remove(folder(file)).into_iter().flatten().map(|file| short(file).to_owned());
    let elsewhere = groups.iter().map(|(folder, files)| match files.iter().copied().map(short).collect::<Vec<_>>() {
        files if files.len() == 1 => format!("{folder}/{}", files.concat()),
        files => format!("{folder}/{{{}}}", files.join(", ")),
    });
    beside.chain(elsewhere).collect::<Vec<_>>().join(", ")
}

fn line(text: &mut String, from: &str, width: usize, to: &str) {
    let _ = if to.is_empty() { writeln!(text, "{from}") } else { writeln!(text, "{from:width$}  → {to}") };
}

fn by_folder<'a>(files: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut folders: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for file in files {
        folders.entry(folder(file)).or_default().push(file);
    }
    folders
}

/// Returns a file's name without its folder.
fn short(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

/// Returns a graph for `dot`, with a box around each folder.
pub(super) fn dot(imports: &Imports) -> String {
    let mut dot = String::from("digraph imports {\n  node [shape=plain];\n");
    for (number, (folder, files)) in by_folder(imports.files.iter().map(String::as_str)).iter().enumerate() {
        let _ = writeln!(dot, "  subgraph cluster_{number} {{\n    label={folder:?};");
        for file in files {
            let _ = writeln!(dot, "    {file:?} [label={:?}];", short(file));
        }
        dot.push_str("  }\n");
    }
    for (from, to) in imports.between_files() {
        let _ = writeln!(dot, "  {from:?} -> {to:?};");
    }
    dot.push_str("}\n");
    dot
}

/// Lists each cycle, with the names that its files import from one another.
pub(super) fn cycles(imports: &Imports, cycles: &[BTreeSet<&str>]) -> String {
    let mut text = String::new();
    for circle in cycles {
        let _ = writeln!(text, "\na cycle of {} files:", circle.len());
        for ((from, to), names) in &imports.names {
            if circle.contains(from.as_str()) && circle.contains(to.as_str()) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                let _ = writeln!(text, "  {from} → {to}: {}", names.join(", "));
            }
        }
    }
    text
}

/// Writes to stdout. The reader may stop early, as `head` does.
pub(super) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
