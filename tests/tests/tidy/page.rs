//! The committed bundle of the page is that of its sources, so that `cargo build` needs no npm.

use std::fs;
use std::path::Path;

use crc32fast::Hasher;
use ferrosm_tests::programs::paths::workspace;

/// What to do if a check fails.
const REMEDY: &str = "run scripts/web, and commit web/dist";

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}; {REMEDY}", path.display()))
}

/// The checksum of the sources, as `web/build.mjs` computes it.
fn checksum_of_sources(web: &Path) -> u32 {
    let entries = fs::read_dir(web.join("src")).unwrap_or_else(|error| panic!("{error}"));
    let mut sources: Vec<String> = entries
        .flatten()
        .map(|entry| format!("src/{}", entry.file_name().to_string_lossy()))
        .collect();
    sources.sort();
    let first = ["build.mjs", "package-lock.json", "package.json"].map(str::to_owned);
    let names = first
        .into_iter()
        .chain(sources)
        .chain(["tsconfig.json".to_owned()]);
    let mut hasher = Hasher::new();
    for name in names {
        hasher.update(name.as_bytes());
        hasher.update(b"\n");
        hasher.update(&read(&web.join(name)));
    }
    hasher.finalize()
}

#[test]
fn bundle_is_that_of_the_sources() {
    let web = workspace().join("web");
    let recorded = String::from_utf8(read(&web.join("dist/checksums.txt"))).unwrap_or_default();
    assert!(recorded.lines().count() > 4, "{recorded}");
    for line in recorded.lines() {
        let (checksum, name) = line.split_once("  ").unwrap_or_default();
        let found = match name {
            "sources" => checksum_of_sources(&web),
            file => crc32fast::hash(&read(&web.join("dist").join(file))),
        };
        assert_eq!(checksum, format!("{found:08x}"), "{name}: {REMEDY}");
    }
}

/// Packages come from the public registry, whatever registry the machine of a developer uses.
#[test]
fn lock_file_names_no_registry() {
    let lock = read(&workspace().join("web/package-lock.json"));
    let lock = String::from_utf8_lossy(&lock);
    assert!(lock.contains("\"integrity\""));
    assert!(!lock.contains("\"resolved\""), "see web/.npmrc");
}
