//! The modules of the crates, as their files declare them. `load` and `read` fill them, `resolve` finds names in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

/// A path as code writes it: `super::Thing` is `["super", "Thing"]`.
pub(super) type Path = Vec<String>;

/// A module's place in [`Tree::modules`].
pub(super) type ModuleId = usize;

/// All modules of all crates.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
    /// The libraries, by the name that others import them by.
    pub(super) libraries: BTreeMap<String, ModuleId>,
}

/// A module: a file, or a part of one.
#[derive(Default)]
pub(super) struct Module {
    /// The file that it stands in, named from the workspace and without its crate's `src`.
    pub(super) file: String,
    /// The crate's first module.
    pub(super) root: ModuleId,
    pub(super) parent: Option<ModuleId>,
    pub(super) modules: BTreeMap<String, ModuleId>,
    /// What it defines, by name.
    pub(super) items: BTreeSet<String>,
    /// What `use` brings in, by the name that it has here. A name may have several meanings, one a namespace.
    pub(super) uses: BTreeMap<String, Vec<Path>>,
    /// What `use …::*` brings the contents of in.
    pub(super) globs: Vec<Path>,
    /// What its own code names.
    pub(super) named: BTreeSet<Path>,
    /// The methods that are declared here, those of traits included.
    pub(super) methods: Vec<Method>,
    /// What its own code calls.
    pub(super) calls: BTreeSet<Call>,
}

/// A method's declaration.
pub(super) struct Method {
    pub(super) name: String,
    /// How many arguments it takes beside `self`.
    pub(super) arguments: usize,
    /// The type whose own it is, where others may call it.
    pub(super) of: Option<Path>,
    /// The module within which it may be called, if not everywhere.
    pub(super) within: Option<ModuleId>,
}

/// A call of a method, or of whatever may be one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) name: String,
    /// How many arguments it is given beside `self`, where one can tell.
    pub(super) arguments: Option<usize>,
}

impl Module {
    /// Notes a path that the module's code names. One that goes on after a type, which is known by its capital, may be a
    /// call: `Till::open`.
    pub(super) fn name(&mut self, path: Path) {
        if let [.., of, name] = path.as_slice()
            && of.starts_with(char::is_uppercase)
        {
            self.calls.insert(Call { name: name.clone(), arguments: None });
        }
        self.named.insert(path);
    }
}

impl Tree {
    /// Adds a module that nothing is known of yet.
    pub(super) fn add(&mut self, parent: Option<ModuleId>) -> ModuleId {
        let id = self.modules.len();
        let (root, file) =
            parent.map_or((id, String::new()), |parent| (self.modules[parent].root, self.modules[parent].file.clone()));
        self.modules.push(Module { file, root, parent, ..Module::default() });
        id
    }

    /// The modules that a module lies in, from within.
    pub(super) fn outside(&self, module: ModuleId) -> impl Iterator<Item = ModuleId> {
        let parent = |id: &ModuleId| self.modules[*id].parent;
        iter::successors(parent(&module), parent)
    }
}
