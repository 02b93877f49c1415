//! Changes of the configuration, and its revisions, as text.

use core::fmt::Write;
use std::path::Path;

use ferrosm_api::answer::Answer;
use ferrosm_api::config::{
    ConfigChange, ConfigHistory, InputChange, RevisionOrigin, RevisionState,
};

use super::answers::short;
use super::invariants;
use super::table::{self, count};

/// `config diff`.
#[must_use]
pub fn difference(change: &ConfigChange, file: &Path) -> String {
    let mut text = differences(change);
    if change.is_empty() {
        text.push_str("no difference in effect\n");
        return text;
    }
    let file = file.display();
    let _ = writeln!(
        text,
        "next: `ferrosm plan --config {file}` shows what a start with it would write to the fabric,\n      \
         `ferrosm config apply {file} --confirm-within 5m` tries it"
    );
    text
}

/// `config apply`.
#[must_use]
pub fn applied(change: &ConfigChange) -> String {
    let mut text = differences(change);
    match (change.new_revision, change.in_force) {
        (Some(number), _) => {
            let _ = write!(text, "applied as revision {number}");
        }
        (None, Some(number)) => {
            let _ = write!(text, "unchanged: the files are those of revision {number}");
        }
        (None, None) => text.push_str("unchanged"),
    }
    text.push_str(&end(change));
    text
}

/// `config rollback` to a revision.
#[must_use]
pub fn rolled_back(change: &ConfigChange, to: u64) -> String {
    let mut text = differences(change);
    match change.new_revision {
        Some(number) => {
            let _ = write!(text, "rolled back to revision {to}, as revision {number}");
        }
        None => {
            let _ = write!(text, "revision {to} is in force");
        }
    }
    text.push_str(&end(change));
    text
}

/// `config confirm`.
#[must_use]
pub fn confirmed(change: &ConfigChange) -> String {
    let number = change.in_force.unwrap_or_default();
    format!("{}revision {number} confirmed\n", copies(change))
}

/// Copies of files that were edited by hand, a line each.
fn copies(change: &ConfigChange) -> String {
    let copies = change.copies.iter();
    copies
        .map(|copy| format!("replaced a file that was edited by hand; its copy: {copy}\n"))
        .collect()
}

/// `config history`.
#[must_use]
pub fn history(answer: &Answer<ConfigHistory>) -> String {
    let history = &answer.body;
    if history.items.is_empty() {
        return "no revisions: the service has no writable state directory\n".to_owned();
    }
    let mut out = table::new(["Revision", "Received", "State", "From", "By", "Reason"]);
    table::right(&mut out, &[0]);
    for revision in &history.items {
        let record = &revision.record;
        let state = match (revision.state, &history.reverts) {
            (RevisionState::Trial, Some(reverts)) => {
                format!("trial until {}", short(&reverts.at))
            }
            (state, _) => state.name().replace('-', " "),
        };
        let origin = match record.origin {
            RevisionOrigin::Start => "files, at a start".to_owned(),
            RevisionOrigin::Reload => "files, at a reload".to_owned(),
            RevisionOrigin::Apply => "apply".to_owned(),
            RevisionOrigin::Rollback(to) => format!("rollback to {to}"),
        };
        out.add_row([
            record.number.to_string(),
            short(&record.at),
            state,
            origin,
            record.by.clone(),
            record.reason.clone().unwrap_or_default(),
        ]);
    }
    let file = history.file.as_deref().unwrap_or("no configuration file");
    format!("{out}\n{file}\n")
}

/// Warnings, keys and files that change.
fn differences(change: &ConfigChange) -> String {
    let mut text = String::new();
    for warning in &change.warnings {
        let _ = writeln!(text, "{warning}");
    }
    if !change.keys.is_empty() {
        let mut out = table::new(["Key", "In force", "New", "Takes effect"]);
        for key in &change.keys {
            let effect = match key.needs_restart {
                true => "at a restart",
                false => "at once",
            };
            let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            out.add_row([
                key.key.clone(),
                value(&key.old),
                value(&key.new),
                effect.to_owned(),
            ]);
        }
        let _ = writeln!(text, "{out}");
    }
    for input in &change.inputs {
        let what = match input.change {
            InputChange::Added => "read from now on, ",
            InputChange::Unused => "no longer read, ",
            InputChange::Changed => "",
        };
        let _ = writeln!(
            text,
            "{}: {what}{} added, {} removed",
            input.path,
            count(input.lines_added, "line", "lines"),
            input.lines_removed
        );
    }
    text.push_str(&copies(change));
    for status in &change.violations {
        let _ = writeln!(text, "{}", invariants::violation(status));
    }
    text
}

/// The end of a line: how long the change lasts, and what it lacks.
fn end(change: &ConfigChange) -> String {
    if let (Some(reverts), Some(number)) = (&change.reverts, change.in_force) {
        return format!(
            "; reverts to {} at {} unless `ferrosm config confirm {number}`\n",
            reverts.to,
            short(&reverts.at)
        );
    }
    let keys: Vec<&str> = change.keys_for_restart().collect();
    match keys.is_empty() {
        true => "\n".to_owned(),
        false => format!("; these keys need a restart: {}\n", keys.join(", ")),
    }
}
