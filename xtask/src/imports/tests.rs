//! Tests with small generated module trees: from their files to the reported imports.

use std::{fs, path::Path, slice};

use serde_json::json;
use tempfile::TempDir;

use super::{
    crates::{self, Root},
    draw,
    graph::Imports,
    load::load,
    refuse_cycles,
};
use crate::workspace;

/// Writes files of a library `book` and reads its imports.
fn read(files: &[(&str, &str)]) -> Imports {
    let folder = folder(files);
    let root = Root { name: Some("book".to_owned()), file: folder.path().join("book/src/lib.rs") };
    Imports::of(&load(folder.path(), &[root]).unwrap())
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join("book/src").join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// Returns every import as `from → to: names`.
fn lines(imports: &Imports) -> Vec<String> {
    let short = |file: &str| file.strip_prefix("book/").unwrap().to_owned();
    let line = |((from, to), names): (&(String, String), &std::collections::BTreeSet<String>)| {
        format!("{} → {}: {}", short(from), short(to), names.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    imports.names.iter().map(line).collect()
}

#[test]
fn a_cycle_through_re_exports_is_reported_with_its_names() {
    let imports = read(&[
        ("lib.rs", "mod shop;"),
        ("shop/mod.rs", "mod till;\nmod shelf;\npub(crate) use shelf::{Shelf, Goods as Wares};\npub use till::*;"),
        ("shop/till.rs", "use super::Wares;\npub struct Till(Vec<Wares>);"),
        ("shop/shelf.rs", "use crate::shop;\npub struct Goods;\npub struct Shelf { till: Option<shop::Till> }"),
    ]);
    let error = refuse_cycles(&[imports]).unwrap_err().to_string();
    let expected = "a cycle of 2 files:\n  book/shop/shelf.rs → book/shop/till.rs: Till\n  \
                    book/shop/till.rs → book/shop/shelf.rs: Goods\n";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_parent_imports_the_items_that_its_code_names_and_not_those_that_it_lists() {
    let child = ("tool/add.rs", "use super::Tool;\npub struct Add;\nimpl Tool for Add {}");
    let lists = ("tool/mod.rs", "mod add;\npub use add::Add;\npub trait Tool {}");
    let imports = read(&[("lib.rs", "pub mod tool;"), lists, child]);
    assert_eq!(lines(&imports), ["tool/add.rs → tool/mod.rs: Tool"]);

    let names = ("tool/mod.rs", "mod add;\npub use add::Add;\npub trait Tool {}\npub fn all() -> Add { Add }");
    let imports = read(&[("lib.rs", "pub mod tool;"), names, child]);
    assert_eq!(lines(&imports), ["tool/add.rs → tool/mod.rs: Tool", "tool/mod.rs → tool/add.rs: Add"]);

    let keeps = ("tool/mod.rs", "mod add;\nuse add::Add as _;\npub trait Tool {}");
    assert_eq!(read(&[("lib.rs", "pub mod tool;"), keeps, child]).cycles().len(), 1);
}

#[test]
fn a_tree_without_cycles_passes_and_is_drawn_from_the_top() {
    let imports = read(&[
        ("lib.rs", "mod db;\nmod http;"),
        ("db/mod.rs", "mod pool;\npub(crate) use pool::Pool;"),
        ("db/pool.rs", "pub struct Pool;"),
        ("http/mod.rs", "mod pages;\nmod state;"),
        ("http/pages.rs", "use super::state::State;"),
        ("http/state.rs", "use crate::db::{self, Pool};\npub struct State(Pool, db::Pool);"),
    ]);
    assert!(refuse_cycles(slice::from_ref(&imports)).is_ok());
    let drawn = draw::text(&imports);
    let order = ["book/http  → book/db", "pages.rs  → state.rs", "state.rs  → book/db/pool.rs"];
    let places: Vec<_> =
        order.iter().map(|line| drawn.find(line).unwrap_or_else(|| panic!("{line}: {drawn}"))).collect();
    assert!(places.is_sorted(), "{drawn}");
    let dot = draw::dot(&imports);
    assert!(dot.contains("\"book/http/pages.rs\" -> \"book/http/state.rs\";"), "{dot}");
}

#[test]
fn test_code_is_left_out() {
    let imports = read(&[
        ("lib.rs", "mod one;\nmod two;"),
        ("two.rs", "use crate::one::One;\npub struct Two(One);"),
        (
            "one.rs",
            "#[cfg(test)] mod tests;\n#[cfg(any(test, fuzzing))] use crate::two::Two;\npub struct One;\n
             impl One { #[cfg(test)] fn two(&self, _: crate::two::Two) {} }\n
             #[cfg(test)] mod more { use crate::two::Two; }",
        ),
        ("one/tests.rs", "use crate::two::Two;"),
    ]);
    assert_eq!(lines(&imports), ["two.rs → one.rs: One"]);
}

#[test]
fn names_are_found_in_expressions_types_and_macros() {
    let imports = read(&[
        ("lib.rs", "mod db;\nmod clock;\nmod user;"),
        ("clock.rs", "pub fn now() {}\npub fn later() {}\npub struct Span;"),
        ("db.rs", "macro_rules! on_db { ($e:expr) => { $crate::clock::later(); $e } }\npub(crate) use {on_db};"),
        (
            "user.rs",
            "use crate::db::on_db;\nuse super::clock;\n
             fn go(spans: Option<Vec<clock::Span>>) { on_db!(clock::now()); for i in 0..i {} }",
        ),
    ]);
    assert_eq!(lines(&imports), ["db.rs → clock.rs: later", "user.rs → clock.rs: Span, now", "user.rs → db.rs: on_db"]);
}

#[test]
fn a_method_that_another_file_adds_to_a_type_is_an_import_of_that_file() {
    let imports = read(&[
        ("lib.rs", "mod turn;\nmod begin;\nmod desk;\nmod out;"),
        ("turn.rs", "pub struct Turn;\nimpl Turn { fn go(&self) { assert!(self.began()); self.len(); x.find(1) } }"),
        (
            "begin.rs",
            "use crate::turn::Turn;\n
             impl Turn { pub(crate) fn began(&self) -> bool { true } pub fn begin() {} fn len(&self) {} pub fn find(&self) {} }",
        ),
        ("desk.rs", "fn begin(turn: crate::turn::Turn) { crate::turn::Turn::begin() }\nmod bell;"),
        ("desk/bell.rs", "impl crate::turn::Turn { pub(super) fn ring(&self) {} }\nfn go(x: X) { x.began(); }"),
        ("out.rs", "fn go(x: X) { x.ring(); }"),
    ]);
    assert_eq!(
        lines(&imports),
        [
            "begin.rs → turn.rs: Turn",
            "desk.rs → begin.rs: .begin()",
            "desk.rs → turn.rs: Turn",
            "desk/bell.rs → begin.rs: .began()",
            "desk/bell.rs → turn.rs: Turn",
            "turn.rs → begin.rs: .began()"
        ]
    );
}

#[test]
fn module_files_are_found_like_the_compiler_finds_them() {
    let imports = read(&[
        ("lib.rs", "mod plain;\n#[path = \"odd/place.rs\"] mod named;\nmod inline { pub mod deep; }"),
        ("plain.rs", "mod inner;\nuse inner::Inner;"),
        ("plain/inner.rs", "pub struct Inner;"),
        ("odd/place.rs", "mod beside;\nuse beside::Beside;"),
        ("odd/beside.rs", "pub struct Beside;"),
        ("inline/deep.rs", "use crate::plain::inner::Inner;"),
    ]);
    assert_eq!(
        lines(&imports),
        [
            "inline/deep.rs → plain/inner.rs: Inner",
            "odd/place.rs → odd/beside.rs: Beside",
            "plain.rs → plain/inner.rs: Inner"
        ]
    );
}

#[test]
fn other_crates_are_found_by_their_names() {
    let folder = folder(&[("lib.rs", "mod shelf;\npub use shelf::Shelf;"), ("shelf.rs", "pub struct Shelf;")]);
    let program = folder.path().join("shop.rs");
    fs::write(&program, "use book::Shelf;\nfn main() { std::fs::read(\"x\"); book::Shelf; }").unwrap();
    let roots = [
        Root { name: Some("book".to_owned()), file: folder.path().join("book/src/lib.rs") },
        Root { name: None, file: program },
    ];
    let imports = Imports::of(&load(folder.path(), &roots).unwrap());
    let names: Vec<_> = imports.between_files().collect();
    assert_eq!(names, [("shop.rs", "book/shelf.rs")]);
}

#[test]
fn an_unreadable_file_is_named() {
    for (files, expected) in [
        (("lib.rs", "mod gone;"), "a module has no file at "),
        (("lib.rs", "fn ("), "cannot parse "),
        (("lib.rs", "#[path = \"lib.rs\"] mod again;"), "lib.rs declares itself as a module"),
    ] {
        let folder = folder(&[files]);
        let root = Root { name: None, file: folder.path().join("book/src/lib.rs") };
        let error = load(Path::new(folder.path()), &[root]).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_cycle_is_found_in_every_folder_of_the_workspace() {
    let workspace = tempfile::tempdir().unwrap();
    let target = |folder: &str, kind: &str, files: &[(&str, &str)]| {
        for (name, text) in files {
            let file = workspace.path().join(folder).join("src").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let file = workspace.path().join(folder).join("src").join(files[0].0);
        json!({ "targets": [{ "name": "a-crate", "kind": [kind], "src_path": file }] })
    };
    let packages = [
        target("back/shop", "lib", &[("lib.rs", "mod till;"), ("till.rs", "pub struct Till;")]),
        target("back/desk", "bin", &[("main.rs", "mod bell;\nfn main() {}"), ("bell.rs", "pub struct Bell;")]),
        target(
            "wire",
            "rlib",
            &[
                ("lib.rs", "mod event;\nmod usage;\npub use {event::Event, usage::Usage};"),
                ("event.rs", "use crate::Usage;\npub struct Event(Usage);"),
                ("usage.rs", "pub struct Usage(Option<crate::Event>);"),
            ],
        ),
    ];
    let read = super::read(workspace.path(), &json!({ "packages": packages })).unwrap();
    let [back, _] = &read[..] else { panic!("{} folders", read.len()) };
    assert_eq!(
        back.files.iter().collect::<Vec<_>>(),
        ["back/desk/bell.rs", "back/desk/main.rs", "back/shop/lib.rs", "back/shop/till.rs"]
    );
    assert!(refuse_cycles(slice::from_ref(back)).is_ok());
    let error = refuse_cycles(&read).unwrap_err().to_string();
    assert!(
        error.ends_with("  wire/event.rs → wire/usage.rs: Usage\n  wire/usage.rs → wire/event.rs: Event\n"),
        "{error}"
    );
}

#[test]
fn every_member_of_the_workspace_is_read() {
    let root = workspace::root();
    let folders = crates::by_folder(&root, &crates::metadata().unwrap()).unwrap();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = manifest.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
    let members: Vec<_> = members.split('"').skip(1).step_by(2).collect();
    assert!(members.contains(&"protocol"), "{members:?}");
    for member in members {
        let is_there = folders.values().flatten().any(|read| read.file.starts_with(root.join(member)));
        assert!(is_there, "{member} is not read");
    }
}
