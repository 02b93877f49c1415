//! The report of `ferrosm config import`.

use std::path::Path;

use ferrosm_opensm_compat::import::evaluation::Imported;
use ferrosm_opensm_compat::import::finding::{Finding, LineOutcome};

use super::table;

/// Most lines of a file in a table.
const ROWS_MAX: usize = 1000;

/// What happened to OpenSM's configuration.
pub struct ImportReport<'a> {
    /// About files that start no SM.
    pub findings: &'a [Finding],
    pub sms: Vec<SmReport<'a>>,
}

/// The result for one SM.
pub struct SmReport<'a> {
    /// Name of the service.
    pub name: &'a str,
    /// The files that it comes from.
    pub sources: &'a [String],
    pub imported: &'a Imported,
    /// The file of the result; none for standard output.
    pub target: Option<&'a Path>,
}

impl ImportReport<'_> {
    /// Whether ferrosm will differ from OpenSM.
    #[must_use]
    pub fn has_differences(&self) -> bool {
        self.all().any(|finding| finding.outcome.is_difference())
    }

    /// Files that OpenSM dropped as a whole.
    #[must_use]
    pub fn dropped_files(&self) -> Vec<&str> {
        let is_dropped = |finding: &&Finding| finding.outcome == LineOutcome::FileDropped;
        let dropped = self.all().filter(is_dropped);
        let mut files: Vec<&str> = dropped.map(|finding| &*finding.place.file).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    fn all(&self) -> impl Iterator<Item = &Finding> {
        let of_sms = self.sms.iter().flat_map(|sm| &sm.imported.findings);
        self.findings.iter().chain(of_sms)
    }

    /// The report as tables, one for each SM. `all`: with lines at OpenSM's default.
    #[must_use]
    pub fn render(&self, all: bool) -> String {
        let mut text = String::new();
        text.push_str(&tables(self.findings, all));
        for sm in &self.sms {
            let sources = sm.sources.join(", ");
            if self.sms.len() > 1 {
                text.push_str(&format!("\nSM {}, from {sources}:\n", sm.name));
            }
            text.push_str(&tables(&sm.imported.findings, all));
            text.push_str(&format!(
                "{sources}: {}\n",
                summary(&sm.imported.findings, all)
            ));
            if let Some(target) = sm.target {
                let target = target.display();
                text.push_str(&format!(
                    "written: {target}; check it with `ferrosm config check {target}`\n"
                ));
            }
        }
        if self.has_differences() {
            text.push_str("Lines with `changes behaviour` or `no equivalent` make ferrosm differ from OpenSM (docs/opensm-options.md).\n");
        }
        let dropped = self.dropped_files();
        if !dropped.is_empty() {
            text.push_str(&format!(
                "OpenSM dropped {} as a whole, and the result has nothing of it. Correct the file and import again, or use --accept.\n",
                dropped.join(", ")
            ));
        }
        text
    }
}

/// A table for each file, in the order of their first findings.
fn tables(findings: &[Finding], all: bool) -> String {
    let shown = || {
        findings
            .iter()
            .filter(|finding| all || finding.outcome != LineOutcome::Default)
    };
    let mut files: Vec<&str> = Vec::new();
    for finding in shown() {
        if !files.contains(&&*finding.place.file) {
            files.push(&finding.place.file);
        }
    }
    let mut text = String::new();
    for file in files {
        let mut of_file: Vec<&Finding> = shown()
            .filter(|finding| finding.place.file == file)
            .collect();
        of_file.sort_by_key(|finding| finding.place.line);
        text.push_str(&format!("{file}:\n{}\n", rows(&of_file)));
    }
    text
}

fn rows(findings: &[&Finding]) -> table::Table {
    let mut rows = table::new(["Line", "OpenSM's line", "Outcome", "In ferrosm, or why"]);
    table::wrap(&mut rows);
    table::right(&mut rows, &[0]);
    for finding in findings.iter().take(ROWS_MAX) {
        let line = finding.place.line;
        rows.add_row([
            line.map_or_else(String::new, |line| line.to_string()),
            finding.line.clone(),
            finding.outcome.name().to_owned(),
            finding.text.clone(),
        ]);
    }
    let omitted = findings.len().saturating_sub(ROWS_MAX);
    if omitted > 0 {
        let text = format!("{omitted} more lines: --json lists them");
        rows.add_row(["", "", "", &text]);
    }
    rows
}

/// How many lines had each outcome.
fn summary(findings: &[Finding], all: bool) -> String {
    let counts: Vec<String> = LineOutcome::ALL
        .into_iter()
        .filter_map(|outcome| {
            let count = findings.iter().filter(|f| f.outcome == outcome).count();
            let hint = match outcome == LineOutcome::Default && !all {
                true => " (--all lists them)",
                false => "",
            };
            (count > 0).then(|| format!("{count} {}{hint}", outcome.name()))
        })
        .collect();
    match counts.is_empty() {
        true => "no lines".to_owned(),
        false => counts.join(", "),
    }
}
