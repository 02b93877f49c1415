//! The language of names and prose: discouraged phrases, public type names with several meanings,
//! citations that cannot be opened.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use ferrosm_tests::programs::paths::workspace;

const PHRASES: &str = "tests/tidy/discouraged-phrases.txt";
const SHARED_NAMES: &str = "tests/tidy/shared-type-names.txt";
const RULES: &str = "docs/sm-behaviour.md";

/// Tracked files with one of these endings, and their text.
fn tracked_files(endings: &[&str]) -> Vec<(String, String)> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(workspace())
        .output()
        .unwrap_or_else(|error| panic!("git: {error}"));
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.split_terminator('\0');
    let names = names.filter(|name| endings.iter().any(|ending| name.ends_with(ending)));
    let text = |name: &str| fs::read_to_string(workspace().join(name));
    let files: Vec<_> = names
        .filter_map(|name| Some((name.to_owned(), text(name).ok()?)))
        .collect();
    assert!(files.len() > 10, "no tracked files: {endings:?}");
    files
}

/// The lines of a list in `tests/tidy`, without comments.
fn list(path: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join(path));
    let text = text.unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Comments and string literals of a line of Rust; the whole line of other files.
fn prose_of(file: &str, line: &str) -> String {
    if !file.ends_with(".rs") {
        return line.to_owned();
    }
    let mut prose = String::new();
    let mut in_string = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if !in_string && line[at..].starts_with("//") {
            prose.push_str(&line[at..]);
            break;
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ => {}
        }
        if in_string {
            prose.push(c);
        } else {
            prose.push(' ');
        }
    }
    prose
}

/// Whether `text` contains `phrase` as whole words. Both are lower case.
fn contains_words(text: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    text.match_indices(phrase).any(|(at, found)| {
        !is_word(text[..at].chars().next_back())
            && !is_word(text[at + found.len()..].chars().next())
    })
}

#[test]
fn discouraged_phrases_are_absent() {
    let phrases = list(PHRASES);
    let phrases: Vec<(&str, &str)> = phrases
        .iter()
        .map(|line| line.split_once(" => ").unwrap())
        .collect();
    let mut results = Vec::new();
    for (file, text) in tracked_files(&[".rs", ".md", ".toml", ".c"]) {
        for (n, line) in text.lines().enumerate() {
            let prose = prose_of(&file, line).to_lowercase();
            let phrase = phrases
                .iter()
                .find(|(phrase, _)| contains_words(&prose, phrase));
            if let Some((phrase, replacement)) = phrase {
                results.push(format!("{file}:{}: \"{phrase}\": {replacement}", n + 1));
            }
        }
    }
    assert!(results.is_empty(), "{}", results.join("\n"));
}

/// A type that several modules see has one meaning in the workspace. The listed exceptions may only
/// become fewer.
#[test]
fn visible_type_names_have_one_meaning() {
    let mut files_by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in tracked_files(&[".rs"]) {
        // Names of test helpers, of JSON documents and of the API are read with their module.
        let is_qualified = ["tests/", "api/"].iter().any(|dir| file.starts_with(dir));
        if !file.contains("/src/") || is_qualified || file.contains("/json/") {
            continue;
        }
        for line in text.lines() {
            let Some(name) = visible_type(line) else {
                continue;
            };
            files_by_name
                .entry(name.to_owned())
                .or_default()
                .insert(file.clone());
        }
    }
    let allowed: BTreeSet<String> = list(SHARED_NAMES).into_iter().collect();
    let shared: BTreeSet<String> = files_by_name
        .iter()
        .filter(|(_, files)| files.len() > 1)
        .map(|(name, _)| name.clone())
        .collect();
    let new: Vec<_> = shared
        .difference(&allowed)
        .map(|name| (name, &files_by_name[name]))
        .collect();
    assert!(new.is_empty(), "names with several meanings: {new:#?}");
    let stale: Vec<_> = allowed.difference(&shared).collect();
    assert!(stale.is_empty(), "remove from {SHARED_NAMES}: {stale:?}");
}

/// The name of the type that a line defines with a visibility.
fn visible_type(line: &str) -> Option<&str> {
    let remaining = line.strip_prefix("pub")?;
    let remaining = match remaining.strip_prefix('(') {
        Some(scope) => scope.split_once(')')?.1,
        None => remaining,
    };
    let mut words = remaining.split_whitespace();
    let keyword = words.next()?;
    ["struct", "enum", "trait", "union"]
        .contains(&keyword)
        .then_some(())?;
    words.next()?.split(|c: char| !c.is_alphanumeric()).next()
}

#[test]
fn cited_rules_and_decisions_exist() {
    let rules = fs::read_to_string(workspace().join(RULES)).unwrap();
    let rules: BTreeSet<&str> = rules
        .lines()
        .filter_map(|line| line.strip_prefix("* ")?.split_whitespace().next())
        .collect();
    assert!(rules.len() > 50, "only {} rules found", rules.len());
    let decisions: BTreeSet<String> = fs::read_dir(workspace().join("docs/adr"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.get(..4)?.to_owned()))
        .collect();
    let mut dead = Vec::new();
    for (file, text) in tracked_files(&[".rs", ".md", ".toml"]) {
        for (n, line) in text.lines().enumerate() {
            for cited in numbers_after(line, &["sm-behaviour.md", "rule"]) {
                if !rules.contains(cited) {
                    dead.push(format!("{file}:{}: rule {cited}", n + 1));
                }
            }
            for cited in numbers_after(line, &["ADR"]) {
                if !decisions.contains(cited) {
                    dead.push(format!("{file}:{}: ADR {cited}", n + 1));
                }
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// Numbers such as `3.12` or `0014` that directly follow one of the words.
fn numbers_after<'a>(line: &'a str, words: &[&str]) -> Vec<&'a str> {
    let mut results = Vec::new();
    for word in words {
        for (at, _) in line.match_indices(word) {
            let remaining = line[at + word.len()..].trim_start_matches([',', ')', '`', ' ']);
            let end = remaining
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(remaining.len());
            let number = remaining[..end].trim_end_matches('.');
            if number.len() >= 3 && number.starts_with(|c: char| c.is_ascii_digit()) {
                results.push(number);
            }
        }
    }
    results
}
