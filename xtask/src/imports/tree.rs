//! The modules of the crates, as their files declare them. `load` and `read` fill them, `resolve` finds names in them.

use std::{
    collections::{BTreeMap, BTreeSet},
    iter,
};

/// A path as it is written in code: `super::Thing` is `["super", "Thing"]`.
pub(super) type Path = Vec<String>;

/// Index of a module in [`Tree::modules`].
pub(super) type ModuleId = usize;

/// All modules of all crates.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: Vec<Module>,
    /// The libraries, by the name that other crates import them by.
    pub(super) libraries: BTreeMap<String, ModuleId>,
}

/// A module: a file, or a part of one.
#[derive(Default)]
pub(super) struct Module {
    /// The file with the module, relative to the workspace and without its crate's `src`.
    pub(super) file: String,
    /// The crate's root module.
    pub(super) root: ModuleId,
    pub(super) parent: Option<ModuleId>,
    pub(super) modules: BTreeMap<String, ModuleId>,
    /// Names of the items that it defines.
    pub(super) items: BTreeSet<String>,
    /// Paths that `use` imports, by their name here. A name may have several meanings, one per namespace.
    pub(super) uses: BTreeMap<String, Vec<Path>>,
    /// Paths of `use …::*`.
    pub(super) globs: Vec<Path>,
    /// Paths in its own code.
    pub(super) named: BTreeSet<Path>,
    /// Methods that are declared here, including those of traits.
    pub(super) methods: Vec<Method>,
    /// Calls in its own code.
    pub(super) calls: BTreeSet<Call>,
}

/// The declaration of a method.
pub(super) struct Method {
    pub(super) name: String,
    /// Number of arguments, without `self`.
    pub(super) arguments: usize,
    /// The type that it is an inherent method of, if other files may call it.
    pub(super) of: Option<Path>,
    /// The module within which it may be called; `None` if everywhere.
    pub(super) within: Option<ModuleId>,
}

/// A call of a method, or code that may be one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) name: String,
    /// Number of arguments without `self`, if known.
    pub(super) arguments: Option<usize>,
}

impl Module {
    /// Records a path in the module's code. A path with a segment after a type, which starts with a capital, may be a
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
    /// Adds an empty module.
    pub(super) fn add(&mut self, parent: Option<ModuleId>) -> ModuleId {
        let id = self.modules.len();
        let (root, file) =
            parent.map_or((id, String::new()), |parent| (self.modules[parent].root, self.modules[parent].file.clone()));
        self.modules.push(Module { file, root, parent, ..Module::default() });
        id
    }

    /// Returns the modules that contain a module, innermost first.
    pub(super) fn outside(&self, module: ModuleId) -> impl Iterator<Item = ModuleId> {
        let parent = |id: &ModuleId| self.modules[*id].parent;
        iter::successors(parent(&module), parent)
    }
}
