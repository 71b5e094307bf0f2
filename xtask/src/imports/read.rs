//! Reads one file: the items that its modules define, import, and name.

use std::{
    mem,
    path::{self, PathBuf},
};

use proc_macro2::TokenStream;
use syn::{
    Attribute, Expr, FnArg, Ident, ImplItemFn, Item, ItemImpl, ItemMod, ItemUse, Lit, Meta, Signature, TraitItemFn,
    Visibility,
    visit::{self, Visit},
};

use super::{
    cfg::is_in_program,
    tokens::Names,
    tree::{Call, Method, Module, ModuleId, Path, Tree},
    use_tree::{self, text},
};

/// A module with its own file, which has not been read yet.
pub(super) struct Declared {
    pub(super) module: ModuleId,
    /// Paths where the file may be.
    pub(super) files: Vec<PathBuf>,
    /// `true` if the module's own modules are next to it, as for a `mod.rs`, and not in a folder of its name.
    pub(super) owns_folder: bool,
}

/// Walks through a file's syntax and records what it finds in the file's module.
pub(super) struct Reader<'a> {
    tree: &'a mut Tree,
    module: ModuleId,
    /// Folder of the files of this module's own modules.
    folder: PathBuf,
    /// Folder that a path in `#[path = "…"]` is relative to.
    path_base: PathBuf,
    /// The type of the surrounding `impl` block.
    implemented: Option<Path>,
    /// The modules with their own files that were declared.
    pub(super) waiting: Vec<Declared>,
}

impl<'a> Reader<'a> {
    /// Creates a reader for the file of a module.
    pub(super) fn new(tree: &'a mut Tree, module: ModuleId, file: &path::Path, owns_folder: bool) -> Self {
        let beside = file.parent().unwrap_or(file).to_owned();
        let folder = if owns_folder || file.ends_with("mod.rs") { beside.clone() } else { file.with_extension("") };
        Self { tree, module, folder, path_base: beside, implemented: None, waiting: Vec::new() }
    }

    fn here(&mut self) -> &mut Module {
        &mut self.tree.modules[self.module]
    }

    fn declare(&mut self, method: &Signature, visibility: &Visibility) {
        let of = self.implemented.clone().filter(|_| !is_private(visibility));
        let within = match visibility {
            Visibility::Public(_) => None,
            Visibility::Restricted(to) if to.path.is_ident("super") => self.here().parent,
            _ => Some(self.here().root),
        };
        let arguments = method.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).count();
        self.here().methods.push(Method { name: text(&method.ident), arguments, of, within });
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = describe(item);
        if is_in_program(attributes) {
            self.here().items.extend(name.map(text));
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = text(&item.ident);
        let module = self.tree.add(Some(self.module));
        self.here().modules.insert(name.clone(), module);
        let path = path_attribute(&item.attrs);
        let Some((_, items)) = &item.content else {
            let files = match &path {
                Some(path) => vec![self.path_base.join(path)],
                None => vec![self.folder.join(format!("{name}.rs")), self.folder.join(&name).join("mod.rs")],
            };
            self.waiting.push(Declared { module, files, owns_folder: path.is_some() });
            return;
        };
        let inner = self.folder.join(path.unwrap_or(name));
        let outside = (
            mem::replace(&mut self.module, module),
            mem::replace(&mut self.folder, inner.clone()),
            mem::replace(&mut self.path_base, inner),
        );
        for item in items {
            self.visit_item(item);
        }
        (self.module, self.folder, self.path_base) = outside;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_private = is_private(&item.vis);
        let here = self.here();
        for (path, name) in use_tree::flatten(&item.tree) {
            // A private import counts as used, even if the code does not name it: a trait may be imported for its
            // methods. A re-export counts only if the code names it.
            if is_private {
                here.named.insert(path.clone());
            }
            match name {
                Some(name) => here.uses.entry(name).or_default().push(path),
                None => here.globs.push(path),
            }
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        let own = match (&item.trait_, &*item.self_ty) {
            (None, syn::Type::Path(path)) => Some(words(&path.path)),
            _ => None,
        };
        let outside = mem::replace(&mut self.implemented, own);
        visit::visit_item_impl(self, item);
        self.implemented = outside;
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if is_in_program(&function.attrs) {
            self.declare(&function.sig, &function.vis);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast TraitItemFn) {
        self.declare(&function.sig, &Visibility::Inherited);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if is_in_program(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if is_in_program(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let (name, arguments) = (text(&call.method), Some(call.args.len()));
        self.here().calls.insert(Call { name, arguments });
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.here().name(words(path));
        visit::visit_path(self, path);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        let mut names = Names::default();
        names.read(tokens.clone());
        let here = self.here();
        here.calls.extend(names.calls.into_iter().map(|name| Call { name, arguments: None }));
        for path in names.paths {
            here.name(path);
        }
    }

    /// The visibility of an item is not an import, and neither are the arguments of a derive macro.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Returns an item's attributes and, unless it is a module, the name that it defines.
fn describe(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::TraitAlias(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Mod(item) => (&item.attrs, None),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

fn is_private(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Inherited)
}

fn words(path: &syn::Path) -> Path {
    path.segments.iter().map(|segment| text(&segment.ident)).collect()
}

/// Returns the path in `#[path = "…"]`.
fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("path") => match &meta.value {
            Expr::Lit(syn::ExprLit { lit: Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
