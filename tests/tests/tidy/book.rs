//! The table of contents of the book (`docs/SUMMARY.md`) and the pages that exist.

use std::collections::BTreeSet;
use std::fs;

use ferrosm_tests::programs::paths::workspace;

/// Every page of `docs` is in the book, and every entry is a file.
#[test]
fn summary_names_every_page() {
    let docs = workspace().join("docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap_or_default();
    let named: BTreeSet<&str> = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    for name in &named {
        assert!(docs.join(name).is_file(), "{name} does not exist");
    }
    let mut pages = BTreeSet::new();
    for folder in ["", "routing/"] {
        let entries = fs::read_dir(docs.join(folder)).unwrap_or_else(|e| panic!("{folder}: {e}"));
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let markdown = names.filter(|name| name.ends_with(".md") && name != "SUMMARY.md");
        pages.extend(markdown.map(|name| format!("{folder}{name}")));
    }
    assert!(pages.len() > 15, "{pages:?}");
    let missing: Vec<&String> = pages
        .iter()
        .filter(|page| !named.contains(page.as_str()))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}
