//! The report of `cabling check` as text.

use core::fmt::Write;

use ferrosm_api::cabling::CablingReport;

use super::table::{self, count};

/// The findings, and what was compared.
#[must_use]
pub fn report(report: &CablingReport) -> String {
    let mut text = String::new();
    if !report.findings.is_empty() {
        let mut out = table::new(["Finding", "Location", "Details"]);
        for finding in &report.findings {
            out.add_row([
                finding.kind.name(),
                finding.location.as_str(),
                finding.text.as_str(),
            ]);
        }
        let _ = writeln!(text, "{out}");
    }
    let _ = writeln!(
        text,
        "{} of {} as planned; {}",
        report.correct,
        count(report.planned, "cable", "cables"),
        count(report.findings.len(), "finding", "findings"),
    );
    if !report.compares_switches {
        text.push_str("cables between switches are not compared: the plan has none\n");
    }
    if !report.compares_hosts {
        text.push_str("cables to hosts are not compared: the plan has none\n");
    }
    text
}
