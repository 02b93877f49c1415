//! The import graph of each crate, read from its sources: modules of a crate do not import each
//! other in a cycle.
//!
//! A node is a file. An edge leads from a file to the file that defines an item it names, with
//! re-exports followed to the definition. Edges from a module to its own descendants do not count:
//! a parent composes its children. Code under `#[cfg(test)]` does not count.
//!
//! The graph of rooms has the files and folders of one folder as nodes, and the paths as the code
//! writes them as edges.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn's enumerations are open"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree, Visibility};

/// Path of a module from the crate's root, which is the empty path.
type ModulePath = Vec<String>;

/// The meaning of a name in a module.
#[derive(Debug)]
enum Name {
    Item,
    Module(ModulePath),
    /// The path of a `use`, as the module writes it.
    Import(Vec<String>),
}

#[derive(Debug, Default)]
struct Module {
    names: BTreeMap<String, Name>,
    /// Paths of `use path::*`.
    globs: Vec<Vec<String>>,
    /// All paths that the module names.
    references: BTreeSet<Vec<String>>,
}

/// All modules of a crate except tests. Inline modules are part of their file.
#[derive(Debug, Default)]
pub(crate) struct Crate {
    modules: BTreeMap<ModulePath, Module>,
    files: BTreeMap<ModulePath, String>,
}

impl Crate {
    /// Reads the crate whose root is `root`, a file below `workspace`.
    pub(crate) fn read(workspace: &Path, root: &Path) -> Self {
        let mut found = Self::default();
        found.read_file(workspace, root, &[]);
        found
    }

    fn read_file(&mut self, workspace: &Path, file: &Path, path: &[String]) {
        let shown = file.strip_prefix(workspace).unwrap_or(file).display();
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{shown}: {error}"));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{shown}: {error}"));
        self.files.insert(path.to_vec(), shown.to_string());
        let mut reader = Reader::default();
        for item in &parsed.items {
            reader.visit_item(item);
        }
        let children = std::mem::take(&mut reader.children);
        for name in &children {
            let child = [path, std::slice::from_ref(name)].concat();
            reader
                .module
                .names
                .insert(name.clone(), Name::Module(child.clone()));
        }
        self.modules.insert(path.to_vec(), reader.module);
        for name in children {
            let child = [path, std::slice::from_ref(&name)].concat();
            self.read_file(workspace, &child_file(file, &name), &child);
        }
    }

    /// Import cycles, with a name for each edge.
    pub(crate) fn cycles(&self) -> Vec<String> {
        let mut edges: BTreeMap<(usize, usize), String> = BTreeMap::new();
        let index: BTreeMap<&ModulePath, usize> = self.modules.keys().zip(0..).collect();
        for (path, module) in &self.modules {
            for reference in &module.references {
                let Some(target) = self.resolve(path, reference, 0) else {
                    continue;
                };
                if target.starts_with(path) {
                    continue;
                }
                let edge = (index[path], index[&target]);
                edges.entry(edge).or_insert_with(|| reference.join("::"));
            }
        }
        let graph: DiGraphMap<usize, ()> = edges.keys().copied().collect();
        let files: Vec<&String> = self.files.values().collect();
        let cycles = tarjan_scc(&graph).into_iter().filter(|scc| scc.len() > 1);
        cycles
            .map(|scc| {
                let mut text = format!("import cycle of {} files", scc.len());
                for ((from, to), name) in &edges {
                    if scc.contains(from) && scc.contains(to) {
                        let _ = write!(text, "\n    {} -> {} ({name})", files[*from], files[*to]);
                    }
                }
                text
            })
            .collect()
    }

    /// Import cycles between rooms, with a path for each arrow. A room is a file or folder of the
    /// crate; the rooms of one folder are compared with each other.
    pub(crate) fn room_cycles(&self) -> Vec<String> {
        let mut folders: BTreeMap<&[String], BTreeMap<(&str, &str), String>> = BTreeMap::new();
        for (path, module) in &self.modules {
            for reference in &module.references {
                let Some(target) = self.written_module(path, reference, 0) else {
                    continue;
                };
                let shared = path.iter().zip(&target).take_while(|(a, b)| a == b).count();
                // A folder composes its rooms, and they use what it defines.
                let room = target
                    .get(..=shared)
                    .and_then(|room| self.modules.get_key_value(room));
                let (Some(from), Some(to)) = (path.get(shared), room.and_then(|(to, _)| to.last()))
                else {
                    continue;
                };
                let arrows = folders.entry(&path[..shared]).or_default();
                let arrow = format!("{} ({})", self.files[path], reference.join("::"));
                arrows.entry((from, to)).or_insert(arrow);
            }
        }
        let mut cycles = Vec::new();
        for arrows in folders.values() {
            let graph: DiGraphMap<&str, ()> = arrows.keys().copied().collect();
            for rooms in tarjan_scc(&graph).into_iter().filter(|scc| scc.len() > 1) {
                let mut text = format!("import cycle of {} rooms", rooms.len());
                for ((from, to), arrow) in arrows {
                    if rooms.contains(from) && rooms.contains(to) {
                        let _ = write!(text, "\n    {from} -> {to}: {arrow}");
                    }
                }
                cycles.push(text);
            }
        }
        cycles
    }

    /// The module that a reader of `segments` in the module `at` looks into. Re-exports count only
    /// in the folders that contain `at`, and in `lib.rs`.
    fn written_module(
        &self,
        at: &[String],
        segments: &[String],
        depth: usize,
    ) -> Option<ModulePath> {
        if depth > 16 {
            return None;
        }
        let mut module = match segments.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => at.to_vec(),
            "super" => at.split_last()?.1.to_vec(),
            first if self.modules.get(at)?.names.contains_key(first) => {
                return self.step(at, at, segments, depth);
            }
            _ => return None,
        };
        let mut rest = &segments[1..];
        while rest.first().is_some_and(|segment| segment == "super") {
            module.pop()?;
            rest = &rest[1..];
        }
        self.step(at, &module, rest, depth)
    }

    /// Follows `segments` from `module`, for a reader in the module `at`.
    fn step(
        &self,
        at: &[String],
        module: &[String],
        segments: &[String],
        depth: usize,
    ) -> Option<ModulePath> {
        let Some((first, rest)) = segments.split_first() else {
            return Some(module.to_vec());
        };
        match self.modules.get(module)?.names.get(first) {
            Some(Name::Module(child)) => self.step(at, child, rest, depth),
            Some(Name::Import(path)) if at.starts_with(module) => {
                let found = self.written_module(module, path, depth + 1);
                found.or_else(|| Some(module.to_vec()))
            }
            Some(Name::Import(_) | Name::Item) | None => Some(module.to_vec()),
        }
    }

    /// The module that defines what `segments` name in the module `at`; `None` if it is outside the
    /// crate.
    fn resolve(&self, at: &[String], segments: &[String], depth: usize) -> Option<ModulePath> {
        // The compiler rejects `use` cycles, except through globs.
        if depth > 16 {
            return None;
        }
        let (first, remaining) = segments.split_first()?;
        match first.as_str() {
            "crate" => self.descend(&[], remaining, depth),
            "self" => self.descend(at, remaining, depth),
            "super" => self.descend(at.split_last()?.1, remaining, depth),
            _ if self.modules.get(at)?.names.contains_key(first) => {
                self.descend(at, segments, depth)
            }
            _ => None,
        }
    }

    /// Follows `segments` from the module `at`.
    fn descend(&self, at: &[String], segments: &[String], depth: usize) -> Option<ModulePath> {
        let Some((first, rest)) = segments.split_first() else {
            return Some(at.to_vec());
        };
        if first == "super" {
            return self.descend(at.split_last()?.1, rest, depth);
        }
        let module = self.modules.get(at)?;
        match module.names.get(first) {
            Some(Name::Module(child)) => self.descend(child, rest, depth),
            Some(Name::Import(path)) => {
                let path = [path, rest].concat();
                // A re-export from another crate: this module defines the name.
                let own = self.resolve(at, &path, depth + 1);
                own.or_else(|| Some(at.to_vec()))
            }
            Some(Name::Item) => Some(at.to_vec()),
            None => {
                let globs = module.globs.iter();
                let mut found = globs.filter_map(|glob| {
                    let target = self.resolve(at, glob, depth + 1)?;
                    self.modules.get(&target)?.names.get(first)?;
                    self.descend(&target, segments, depth + 1)
                });
                // A macro-generated item or an enum variant: the module itself.
                found.next().or_else(|| Some(at.to_vec()))
            }
        }
    }
}

/// The file of the module `name` that is declared in `file`.
pub(crate) fn child_file(file: &Path, name: &str) -> PathBuf {
    let folder = file.parent().unwrap_or(file);
    let stem = file.file_stem().unwrap_or_default();
    let folder = if ["lib", "main", "mod"].iter().any(|own| stem == *own) {
        folder.to_path_buf()
    } else {
        folder.join(stem)
    };
    let flat = folder.join(format!("{name}.rs"));
    if flat.exists() {
        flat
    } else {
        folder.join(name).join("mod.rs")
    }
}

pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, syn::Meta::List(list) if has_word(list.tokens.clone(), "test"))
    })
}

/// Whether a condition names `word` outside of `not(...)`.
fn has_word(tokens: TokenStream, word: &str) -> bool {
    let mut negated = false;
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            negated = ident == "not";
            ident == word
        }
        TokenTree::Group(group) => !negated && has_word(group.stream(), word),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

/// Collects names and references of one file.
#[derive(Default)]
struct Reader {
    module: Module,
    children: Vec<String>,
    /// Depth of inline modules and functions: `super` of an inline module is the file's own module.
    inline: usize,
}

impl Reader {
    fn refer(&mut self, mut path: Vec<String>) {
        let ups = path.iter().take_while(|part| *part == "super").count();
        if ups > 0 && self.inline > 0 {
            path.drain(..ups.min(self.inline));
            if path.is_empty() || ups <= self.inline {
                path.insert(0, "self".to_owned());
            }
        }
        self.module.references.insert(path);
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            UseTree::Path(path) => self.import(&path.tree, &with(path.ident.to_string())),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before);
                }
            }
            UseTree::Glob(_) => {
                self.module.globs.push(before.to_vec());
                self.refer(before.to_vec());
            }
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                self.name(last, before.to_vec());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                self.name(name.clone(), with(name));
            }
            UseTree::Rename(rename) => {
                self.name(rename.rename.to_string(), with(rename.ident.to_string()));
            }
        }
    }

    fn name(&mut self, name: String, path: Vec<String>) {
        self.refer(path.clone());
        let names = &mut self.module.names;
        names.entry(name).or_insert(Name::Import(path));
    }

    fn define(&mut self, item: &Item) {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::TraitAlias(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            _ => return,
        };
        self.module.names.insert(name.to_string(), Name::Item);
    }

    /// Paths in the arguments of a macro, which are tokens.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_of_scan(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end_of_scan(&mut path);
                    colons = 0;
                    self.scan(group.stream());
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => {
                    self.end_of_scan(&mut path);
                    colons = 0;
                }
            }
        }
        self.end_of_scan(&mut path);
    }

    fn end_of_scan(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        if path.len() > 1 {
            self.refer(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Const(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Mod(item) => &item.attrs,
            Item::Struct(item) => &item.attrs,
            Item::Enum(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => &[][..],
        };
        if is_test(attributes) {
            return;
        }
        if self.inline == 0 {
            self.define(item);
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        match &item.content {
            None => self.children.push(item.ident.to_string()),
            Some((_, items)) => {
                self.module.names.insert(item.ident.to_string(), Name::Item);
                self.inline += 1;
                for item in items {
                    self.visit_item(item);
                }
                self.inline -= 1;
            }
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.import(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1 {
            self.refer(segments);
        }
        visit::visit_path(self, path);
    }

    /// `pub(in super::x)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        self.scan(found.tokens.clone());
        visit::visit_macro(self, found);
    }
}
