//! Bindings, parameters and conversions of indices (rules 14 to 16 of CONTRIBUTING.md).
//!
//! Tests and code under `#[cfg(test)]` do not count. Arguments of macros are not read.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn's enumerations are open"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::fs;
use std::mem;
use std::path::{Path, PathBuf};

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, ExprMethodCall, FnArg, Ident, ImplItemFn, Item, ItemFn, ItemMod, Local,
    Pat, Signature, Stmt, TraitItemFn, Type,
};

/// Begins a comment on a saturating conversion or above it or its statement, which says why the
/// maximum is right for a number that does not fit.
const REASON: &str = "// saturates:";
/// Violations that are left in crates, in the order of [`Rule::ALL`]. The numbers may only fall.
const ALLOWED: &[(&str, [usize; 4])] = &[
    ("sm-core", [35, 35, 16, 9]),
    ("daemon", [1, 20, 0, 5]),
    ("tests", [19, 16, 6, 5]),
];
/// Methods of a duration, which is no index: its number may saturate.
const DURATIONS: [&str; 4] = ["as_nanos", "as_micros", "as_millis", "as_secs"];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Rule {
    /// `let (a, b) = (x, y);`, except a swap and the condition of an `else`.
    PairedLet,
    /// `let a = x; let a = a.y();`
    ShadowedHalf,
    /// `fn f((a, b): (A, B))`, except of a type with a name.
    TupleParameter,
    /// `T::try_from(x).unwrap_or(T::MAX)`, except of a duration, with a [`REASON`], or in a
    /// function whose name says that it saturates.
    SaturatedIndex,
}

impl Rule {
    pub(crate) const ALL: [Self; 4] = [
        Self::PairedLet,
        Self::ShadowedHalf,
        Self::TupleParameter,
        Self::SaturatedIndex,
    ];
}

impl Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PairedLet => "unrelated bindings in one `let` (rule 14)",
            Self::ShadowedHalf => "half a chain is shadowed (rule 14)",
            Self::TupleParameter => "a tuple as a parameter (rule 15)",
            Self::SaturatedIndex => "an index is saturated (rule 16)",
        })
    }
}

/// Rules whose number of violations in a crate differs from [`ALLOWED`], with the violations.
pub(crate) fn unexpected(workspace: &Path, name: &str) -> Vec<String> {
    let found = violations(&workspace.join(name));
    let allowed = ALLOWED
        .iter()
        .find(|(owner, _)| *owner == name)
        .map_or([0; 4], |(_, allowed)| *allowed);
    let mut results = Vec::new();
    for (rule, allowed) in Rule::ALL.into_iter().zip(allowed) {
        let places = found.get(&rule).map_or(&[][..], Vec::as_slice);
        let count = places.len();
        if count < allowed {
            results.push(format!("{name}: {rule}: lower {allowed} to {count}"));
        }
        if count > allowed {
            results.push(format!("{name}: {rule}: {count}, allowed {allowed}:"));
            results.extend(places.iter().map(|place| format!("    {name}/{place}")));
        }
    }
    results
}

/// The violations in the Rust files of a crate, as `file:line`, without those of its tests.
fn violations(folder: &Path) -> BTreeMap<Rule, Vec<String>> {
    let mut paths = Vec::new();
    super::add_rust_files(folder, &mut paths);
    paths.retain(|path| !path.starts_with(folder.join("tests")));
    let mut tests = BTreeSet::new();
    let mut readers = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let reader = Reader::read(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        for name in &reader.test_modules {
            let file = super::imports::child_file(path, name);
            // The modules of a test are tests.
            tests.insert(path.with_file_name(name));
            tests.insert(file.with_extension(""));
            tests.insert(file);
        }
        readers.push((path, reader));
    }
    let is_test = |path: &PathBuf| path.ancestors().any(|part| tests.contains(part));
    let mut results: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for (path, reader) in readers.iter().filter(|(path, _)| !is_test(path)) {
        let shown = path.strip_prefix(folder).unwrap_or(path).display();
        for (rule, line) in &reader.found {
            let place = format!("{shown}:{line}");
            results.entry(*rule).or_default().push(place);
        }
    }
    results
}

/// Collects the violations of one file.
#[derive(Default)]
struct Reader {
    found: Vec<(Rule, usize)>,
    /// Test modules in files of their own.
    test_modules: Vec<String>,
    /// Lines whose numbers may saturate.
    lines_with_reason: BTreeSet<usize>,
    /// First line of the current statement.
    statement: usize,
    /// Depth of functions whose name says that they saturate.
    saturating: usize,
}

impl Reader {
    fn read(text: &str) -> syn::Result<Self> {
        let parsed = syn::parse_file(text)?;
        let mut reader = Self::default();
        let mut has_reason = false;
        for (line, number) in text.lines().zip(1..) {
            has_reason |= line.contains(REASON);
            // A comment of its own is about the line below it.
            if has_reason && !line.trim_start().starts_with("//") {
                reader.lines_with_reason.insert(number);
                has_reason = false;
            }
        }
        if !is_test(&parsed.attrs) {
            reader.visit_file(&parsed);
        }
        Ok(reader)
    }

    fn add(&mut self, rule: Rule, span: Span) {
        self.found.push((rule, span.start().line));
    }

    fn check_signature(&mut self, signature: &Signature) {
        for input in &signature.inputs {
            if let FnArg::Typed(argument) = input
                && matches!(&*argument.pat, Pat::Tuple(_))
                && is_tuple(&argument.ty)
            {
                self.add(Rule::TupleParameter, argument.span());
            }
        }
    }

    /// Reads the body of a function.
    fn within(&mut self, signature: &Signature, visit: impl FnOnce(&mut Self)) {
        let saturates = usize::from(signature.ident.to_string().contains("saturat"));
        self.check_signature(signature);
        self.saturating += saturates;
        visit(self);
        self.saturating -= saturates;
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        } else if let Item::Mod(ItemMod {
            content: None,
            ident,
            ..
        }) = item
        {
            self.test_modules.push(ident.to_string());
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.within(&item.sig, |reader| visit::visit_item_fn(reader, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !is_test(&item.attrs) {
            self.within(&item.sig, |reader| visit::visit_impl_item_fn(reader, item));
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.within(&item.sig, |reader| visit::visit_trait_item_fn(reader, item));
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for pair in block.stmts.windows(2) {
            if let [Stmt::Local(first), Stmt::Local(second)] = pair
                && let Some(name) = name_of(&first.pat)
                && name_of(&second.pat) == Some(name)
            {
                self.add(Rule::ShadowedHalf, second.span());
            }
        }
        visit::visit_block(self, block);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        let outer = mem::replace(&mut self.statement, statement.span().start().line);
        visit::visit_stmt(self, statement);
        self.statement = outer;
    }

    fn visit_local(&mut self, local: &'ast Local) {
        if is_paired(local) {
            self.add(Rule::PairedLet, local.span());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let lines = call.span().start().line..=call.span().end().line;
        let has_reason = self.lines_with_reason.contains(&self.statement)
            || self.lines_with_reason.range(lines).next().is_some();
        if is_saturating(call) && !has_reason && self.saturating == 0 {
            self.add(Rule::SaturatedIndex, call.method.span());
        }
        visit::visit_expr_method_call(self, call);
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    super::imports::is_test(attributes)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that a pattern binds, if it is only a name.
fn name_of(pattern: &Pat) -> Option<&Ident> {
    match pattern {
        Pat::Ident(found) => Some(&found.ident),
        Pat::Type(typed) => name_of(&typed.pat),
        _ => None,
    }
}

fn is_tuple(ty: &Type) -> bool {
    match ty {
        Type::Tuple(tuple) => !tuple.elems.is_empty(),
        Type::Reference(reference) => is_tuple(&reference.elem),
        _ => false,
    }
}

/// Whether a `let` has a pair on both sides. A swap exchanges its own names, and the values before
/// an `else` are one condition.
fn is_paired(local: &Local) -> bool {
    let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) else {
        return false;
    };
    let Expr::Tuple(values) = &*init.expr else {
        return false;
    };
    let mut pattern = &local.pat;
    if let Pat::Type(typed) = pattern {
        pattern = &typed.pat;
    }
    let Pat::Tuple(pattern) = pattern else {
        return false;
    };
    let names: Vec<&Ident> = pattern.elems.iter().filter_map(name_of).collect();
    let is_swap = values.elems.iter().all(|value| {
        matches!(value, Expr::Path(path) if path.path.get_ident().is_some_and(|own| names.contains(&own)))
    });
    !is_swap
}

/// Whether a call is `try_from(x).unwrap_or(T::MAX)` or `x.try_into().unwrap_or(T::MAX)`.
fn is_saturating(call: &ExprMethodCall) -> bool {
    let converted = match &*call.receiver {
        Expr::Call(conversion) if ends_with(&conversion.func, "try_from") => {
            conversion.args.first()
        }
        Expr::MethodCall(conversion) if conversion.method == "try_into" => {
            Some(&*conversion.receiver)
        }
        _ => None,
    };
    call.method == "unwrap_or"
        && call
            .args
            .first()
            .is_some_and(|default| ends_with(default, "MAX"))
        && converted.is_some_and(|number| !is_duration(number))
}

/// Whether an expression is a path with this last segment.
fn ends_with(expression: &Expr, name: &str) -> bool {
    let Expr::Path(path) = expression else {
        return false;
    };
    path.path
        .segments
        .last()
        .is_some_and(|last| last.ident == name)
}

fn is_duration(number: &Expr) -> bool {
    struct Calls(bool);

    impl<'ast> Visit<'ast> for Calls {
        fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
            self.0 |= DURATIONS.iter().any(|method| call.method == method);
            visit::visit_expr_method_call(self, call);
        }
    }

    let mut calls = Calls(false);
    calls.visit_expr(number);
    calls.0
}

#[cfg(test)]
mod tests {
    use super::{Reader, Rule};

    /// Rules and lines of the violations in a function with this body.
    fn found_in_body(body: &str) -> Vec<(Rule, usize)> {
        found(&format!("fn f() {{\n{body}\n}}"))
    }

    fn found(text: &str) -> Vec<(Rule, usize)> {
        Reader::read(text).unwrap().found
    }

    #[test]
    fn pairs_of_values_are_found() {
        let body = "let (a, b) = (x, y);\nlet (c, mut d): (u8, u8) = (1, 2);\ng(|| { let (a, b) = (x, y); });";
        let lines = [2, 3, 4].map(|line| (Rule::PairedLet, line));
        assert_eq!(found_in_body(body), lines);
    }

    #[test]
    fn swaps_and_conditions_are_no_pairs() {
        let swap = "let (mut a, b) = (b, a);";
        let condition = "let (Some(a), Some(b)) = (x, y) else { return };";
        let call = "let (a, b) = g(x, y);";
        for body in [swap, condition, call] {
            assert_eq!(found_in_body(body), [], "{body}");
        }
    }

    #[test]
    fn shadowed_halves_are_found() {
        let body = "let a = x.iter();\nlet a: Vec<_> = a.collect();";
        assert_eq!(found_in_body(body), [(Rule::ShadowedHalf, 3)]);
        let apart = "let a = x.iter();\ng();\nlet a = a.count();";
        assert_eq!(found_in_body(apart), []);
        let other_block = "let a = x.iter();\nlet b = { let a = a.count(); a };";
        assert_eq!(found_in_body(other_block), []);
    }

    #[test]
    fn tuples_are_found_in_signatures_only() {
        let text = "impl A {\nfn f(&self, (a, b): (u8, u8)) {}\n}\nfn g((a, b): &(u8, u8)) {}";
        let lines = [2, 4].map(|line| (Rule::TupleParameter, line));
        assert_eq!(found(text), lines);
        for text in [
            "fn f(pair: (u8, u8)) {}",
            "fn f((a, b): Edge) {}",
            "fn f() { g(|(a, b): (u8, u8)| a + b) }",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn saturated_indices_are_found() {
        let body = "let a = u8::try_from(i).unwrap_or(u8::MAX);\nlet b: u8 = i.try_into().unwrap_or(u8::MAX);";
        let lines = [2, 3].map(|line| (Rule::SaturatedIndex, line));
        assert_eq!(found_in_body(body), lines);
    }

    #[test]
    fn numbers_may_saturate_for_a_reason() {
        let conversion = "u64::try_from(n).unwrap_or(u64::MAX)";
        for body in [
            "u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX)".to_owned(),
            "u64::try_from(n).unwrap_or(0)".to_owned(),
            "n.checked_add(1).unwrap_or(u64::MAX)".to_owned(),
            format!("g({conversion}); // saturates: a counter."),
            format!("// saturates: a counter\n// of MADs.\nlet a = x\n.map(|n| {conversion});"),
        ] {
            assert_eq!(found_in_body(&body), [], "{body}");
        }
        let named = format!("fn saturating_u64(n: u128) -> u64 {{ {conversion} }}");
        assert_eq!(found(&named), []);
        let below = format!("// saturates: a counter.\ng();\nlet a = {conversion};");
        assert_eq!(found_in_body(&below), [(Rule::SaturatedIndex, 4)]);
    }

    #[test]
    fn tests_do_not_count() {
        let text =
            "#[cfg(test)]\nmod tests { fn f() { let (a, b) = (x, y); } }\n#[cfg(test)]\nmod more;";
        let reader = Reader::read(text).unwrap();
        assert_eq!(reader.found, []);
        assert_eq!(reader.test_modules, ["more"]);
    }
}
