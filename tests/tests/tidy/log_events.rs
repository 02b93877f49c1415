//! Log events: each message of a log macro is a constant, and the table "Log events" of
//! `docs/operations.md` lists all of them with severity, meaning and action. The rows of the event
//! table are those of the code; with `FERROSM_WRITE_DOCS=1` they are written.

use std::collections::BTreeSet;
use std::fs;

use ferrosm_core::Event;
use ferrosm_tests::programs::paths::workspace;
use proc_macro2::{TokenStream, TokenTree};
use syn::LitStr;

/// Directories whose log events are listed.
const SOURCES: [&str; 4] = [
    "daemon/src",
    "replication/src",
    "store/src",
    "sim/server/src",
];
/// Log macros of `tracing`, and their severities in the table.
const MACROS: [(&str, &str); 4] = [
    ("error", "error"),
    ("warn", "warning"),
    ("info", "info"),
    ("debug", "debug"),
];

/// Event and severity.
type LogEvent = (String, &'static str);

#[test]
fn documented_log_events_are_those_of_the_code() {
    let mut logged = BTreeSet::new();
    for source in SOURCES {
        let mut files = Vec::new();
        super::add_rust_files(&workspace().join(source), &mut files);
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let tokens: TokenStream = text.parse().unwrap();
            add_events(tokens, &file.display().to_string(), &mut logged);
        }
    }
    for row in Event::sections().flat_map(|(_, rows)| rows) {
        logged.insert((row.name.to_owned(), row.severity.name()));
    }
    assert!(logged.len() > 50, "only {} events found", logged.len());
    let text = fs::read_to_string(workspace().join("docs/operations.md")).unwrap();
    let documented = documented_events(&text);
    let undocumented: Vec<_> = logged.difference(&documented).collect();
    let stale: Vec<_> = documented.difference(&logged).collect();
    assert!(
        undocumented.is_empty() && stale.is_empty(),
        "missing in docs/operations.md: {undocumented:#?}\nnot in the code: {stale:#?}"
    );
}

const BEGIN: &str = "<!-- event table: ";
const END: &str = "\n<!-- end of the event table -->";

#[test]
fn documented_rows_are_those_of_the_event_table() {
    let path = workspace().join("docs/operations.md");
    let text = fs::read_to_string(&path).unwrap();
    let mut parts = text.split(BEGIN);
    let mut expected = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (section, _) = part.split_once(" -->").unwrap();
        let (_, rest) = part.split_once(END).unwrap();
        expected += &format!("{BEGIN}{section} -->\n\n{}{END}{rest}", table_of(section));
    }
    if std::env::var_os("FERROSM_WRITE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    } else {
        assert!(
            text == expected,
            "the rows differ: FERROSM_WRITE_DOCS=1 writes them"
        );
    }
    for (section, _) in Event::sections() {
        let heading = format!("{BEGIN}{section} -->");
        assert!(text.contains(&heading), "no section {heading}");
    }
}

fn table_of(section: &str) -> String {
    let mut lines = vec!["event | severity | meaning | action\n---|---|---|---".to_owned()];
    let sections = Event::sections().filter(|(name, _)| *name == section);
    for row in sections.flat_map(|(_, rows)| rows) {
        let (name, severity) = (row.name, row.severity.name());
        let line = format!("`{name}` | {severity} | {} | {}", row.meaning, row.action);
        let line = line.trim_end().to_owned();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Adds the events of all log macros in `tokens`, including those nested in other macros.
fn add_events(tokens: TokenStream, file: &str, results: &mut BTreeSet<LogEvent>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (i, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else {
            continue;
        };
        let severity = i
            .checked_sub(2)
            .and_then(|first| severity_of_macro(&tokens[first], &tokens[first + 1]));
        if let Some(severity) = severity {
            results.insert((constant_message(group.stream(), file), severity));
        } else {
            add_events(group.stream(), file, results);
        }
    }
}

fn severity_of_macro(name: &TokenTree, mark: &TokenTree) -> Option<&'static str> {
    let (TokenTree::Ident(name), TokenTree::Punct(mark)) = (name, mark) else {
        return None;
    };
    let known = MACROS.iter().find(|(macro_name, _)| name == macro_name);
    known
        .filter(|_| mark.as_char() == '!')
        .map(|(_, severity)| *severity)
}

/// The message: the last argument, a string without placeholders.
fn constant_message(arguments: TokenStream, file: &str) -> String {
    let last = arguments.clone().into_iter().last();
    let message = last.and_then(|token| syn::parse_str::<LitStr>(&token.to_string()).ok());
    let message = message.map(|literal| literal.value());
    message
        .filter(|message| !message.contains('{'))
        .unwrap_or_else(|| panic!("{file}: the message is not constant: {arguments}"))
}

/// Rows of the section: "`event` | severity | meaning | action". The action is empty if none is
/// needed; warnings and errors have one.
fn documented_events(text: &str) -> BTreeSet<LogEvent> {
    let Some(section) = text.split("\n## ").find(|s| s.starts_with("Log events\n")) else {
        panic!("docs/operations.md has no section Log events");
    };
    let rows = section.lines().filter(|l| l.starts_with('`'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [event, severity, meaning, action] = cells[..] else {
            panic!("four cells: {row}");
        };
        let known = MACROS.iter().find(|(_, name)| *name == severity);
        let (_, severity) = known.unwrap_or_else(|| panic!("severity: {row}"));
        assert!(!meaning.is_empty(), "no meaning: {row}");
        let needs_action = ["warning", "error"].contains(severity);
        assert!(!needs_action || !action.is_empty(), "no action: {row}");
        (event.trim_matches('`').to_owned(), *severity)
    })
    .collect()
}
