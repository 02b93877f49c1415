//! The components of `sm-core` (ADR 0018): only `manager` names `SubnetManager` or two components
//! together; the sweep and its phases ([`OWNERS`]) hold them.
//!
//! A component is a type of the crate that is a field of `SubnetManager`, of its `Sweep` or of the
//! state of a phase, except the values that components share ([`SHARED`]). Code under
//! `#[cfg(test)]` does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Fields, FnArg, ImplItemFn, ItemEnum, ItemFn, ItemMod, ItemStruct, Type, TypePath};

/// Types with components as fields.
const OWNERS: [&str; 5] = [
    "SubnetManager",
    "Sweep",
    "SweepPhase",
    "TableReadback",
    "TableUpdate",
];
/// Fields of owners that components read or write through `Ctx`, and data without behaviour.
const SHARED: [&str; 16] = [
    "SmConfig",
    "Instant",
    "Smps",
    "Outbox",
    "Effects",
    "Option",
    "SweepReport",
    "Activity",
    "SweepPhase",
    "SweepScope",
    "TableReadback",
    "TableUpdate",
    "Phase",
    "PortRef",
    "NodeIdx",
    "ProblemKind",
];
const CTX_FIELDS_MAX: usize = 6;
/// Upper bound of the lines in `manager/mod.rs`.
const MANAGER_LINES: usize = 500;

/// Type names in a type.
struct Names(BTreeSet<String>);

impl<'a> Visit<'a> for Names {
    fn visit_type_path(&mut self, path: &'a TypePath) {
        if let Some(last) = path.path.segments.last() {
            self.0.insert(last.ident.to_string());
        }
        visit::visit_type_path(self, path);
    }
}

fn names_in(ty: &Type) -> BTreeSet<String> {
    let mut names = Names(BTreeSet::new());
    names.visit_type(ty);
    names.0
}

/// The type names of each field.
fn field_types(fields: &Fields) -> impl Iterator<Item = BTreeSet<String>> + '_ {
    fields.iter().map(|field| names_in(&field.ty))
}

/// The structs and enums of a file with the type names of each field, and the parameter types of
/// its functions.
#[derive(Default)]
struct File {
    types: BTreeMap<String, Vec<BTreeSet<String>>>,
    functions: Vec<(String, BTreeSet<String>)>,
}

impl File {
    fn add_function(&mut self, signature: &syn::Signature) {
        let mut names = BTreeSet::new();
        for input in &signature.inputs {
            if let FnArg::Typed(argument) = input {
                names.extend(names_in(&argument.ty));
            }
        }
        self.functions.push((signature.ident.to_string(), names));
    }
}

impl<'a> Visit<'a> for File {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if !super::imports::is_test(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'a ItemStruct) {
        let fields = field_types(&item.fields).collect();
        self.types.insert(item.ident.to_string(), fields);
    }

    fn visit_item_enum(&mut self, item: &'a ItemEnum) {
        let variants = item.variants.iter();
        let fields = variants.flat_map(|v| field_types(&v.fields)).collect();
        self.types.insert(item.ident.to_string(), fields);
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.add_function(&item.sig);
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.add_function(&item.sig);
    }
}

/// Violations of these rules in a crate with its sources in `src`.
pub(crate) fn violations(src: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    super::add_rust_files(src, &mut paths);
    let mut files: BTreeMap<PathBuf, File> = BTreeMap::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut file = File::default();
        file.visit_file(&parsed);
        let name = path.strip_prefix(src).unwrap_or(&path).to_path_buf();
        files.insert(name, file);
    }
    let defined: BTreeSet<&String> = files.values().flat_map(|f| f.types.keys()).collect();
    let fields = OWNERS.iter().flat_map(|owner| {
        let fields = files.values().find_map(|f| f.types.get(*owner));
        fields.unwrap_or_else(|| panic!("no {owner} in {}", src.display()))
    });
    let components: BTreeSet<String> = fields
        .flatten()
        .filter(|name| defined.contains(name) && !SHARED.contains(&name.as_str()))
        .cloned()
        .collect();
    assert!(components.len() > 10, "{components:?}");
    let mut results = Vec::new();
    for (path, file) in &files {
        if path.starts_with("manager") {
            continue;
        }
        let shown = path.display();
        let components_in = |names: &BTreeSet<String>| -> Vec<String> {
            names.intersection(&components).cloned().collect()
        };
        for (name, fields) in &file.types {
            let all: BTreeSet<String> = fields.iter().flatten().cloned().collect();
            if components_in(&all).len() > 1 && !OWNERS.contains(&name.as_str()) {
                results.push(format!("{shown}: {name} holds {:?}", components_in(&all)));
            }
        }
        for (name, arguments) in &file.functions {
            if arguments.contains("SubnetManager") {
                results.push(format!("{shown}: fn {name} takes SubnetManager"));
            }
            if components_in(arguments).len() > 1 {
                results.push(format!(
                    "{shown}: fn {name} takes {:?}",
                    components_in(arguments)
                ));
            }
        }
    }
    let ctx = files.values().find_map(|f| f.types.get("Ctx"));
    let ctx_fields = ctx.map_or(0, Vec::len);
    if ctx_fields == 0 || ctx_fields > CTX_FIELDS_MAX {
        results.push(format!("Ctx has {ctx_fields} fields"));
    }
    let manager = src.join("manager/mod.rs");
    let text = fs::read_to_string(&manager).unwrap_or_else(|e| panic!("{e}"));
    let lines = text.lines().count();
    if lines >= MANAGER_LINES {
        results.push(format!("manager/mod.rs has {lines} lines"));
    }
    results
}

/// Parts of a node or port, and the component that alone changes them.
const WRITERS: [(&str, &str); 7] = [
    (".lft.", "lfts/"),
    (".mft.", "mfts/"),
    (".vls.", "vls/"),
    (".vl_arbitration", "vls/"),
    (".pkeys", "pkeys/"),
    (".enforces_p_keys", "pkeys/"),
    (".written_fingerprint", "ports/"),
];

/// Lines in `src` that change a part outside its component: assignments, and calls of methods that
/// change a collection.
pub(crate) fn foreign_writes(src: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    super::add_rust_files(src, &mut paths);
    let mut results = Vec::new();
    let mut own_writes = 0;
    for path in paths {
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let shown = path
            .strip_prefix(src)
            .unwrap_or(&path)
            .display()
            .to_string();
        let code = text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            for (part, component) in WRITERS {
                let Some((_, remaining)) = line.split_once(part) else {
                    continue;
                };
                if !is_write(remaining) {
                    continue;
                }
                if shown.starts_with(component) {
                    own_writes += 1;
                } else {
                    results.push(format!("{shown}:{}: {}", number + 1, line.trim()));
                }
            }
        }
    }
    assert!(own_writes > 10, "only {own_writes} writes found");
    results
}

/// Whether what follows a part of a node changes it.
fn is_write(remaining: &str) -> bool {
    const CHANGES: [&str; 8] = [
        ".insert(",
        ".remove(",
        ".clear(",
        ".take(",
        ".retain(",
        ".forget(",
        ".invalidate(",
        ".set(",
    ];
    let assigned = remaining.split_once(" = ").is_some_and(|(place, _)| {
        place
            .chars()
            .all(|c| c.is_alphanumeric() || "_.".contains(c))
    });
    assigned || CHANGES.iter().any(|change| remaining.contains(change))
}
