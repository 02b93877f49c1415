//! The document of `ferrosm config import --json`.
//!
//! ```json
//! {
//!   "schema": 4,
//!   "differs": true,
//!   "findings": [],
//!   "sms": [ {
//!     "name": "mlx5_0-1", "sources": ["opensm.conf"], "written": "/etc/ferrosm/mlx5_0-1.toml",
//!     "findings": [ { "file": "opensm.conf", "line": 2, "column": 1, "text": "priority 15",
//!       "outcome": "ignored by OpenSM", "reason": "…" } ]
//!   } ]
//! }
//! ```
//!
//! `differs`: a line changes behaviour or has no equivalent. `line` is `null` for a whole file or a
//! command line, `written` for standard output. Keys such as the M_Key are not shown.

use ferrosm_opensm_compat::import::finding::Finding;
use serde::Serialize;

use crate::output::import::ImportReport;

/// The document.
#[must_use]
pub fn document(report: &ImportReport<'_>) -> impl Serialize {
    let sms: Vec<_> = report
        .sms
        .iter()
        .map(|sm| {
            object! {
                name: sm.name.to_owned(),
                sources: sm.sources.to_vec(),
                written: sm.target.map(|target| target.display().to_string()),
                findings: findings(&sm.imported.findings),
            }
        })
        .collect();
    object! {
        schema: super::SCHEMA,
        differs: report.has_differences(),
        findings: findings(report.findings),
        sms: sms,
    }
}

fn findings(list: &[Finding]) -> Vec<impl Serialize + use<>> {
    list.iter()
        .map(|finding| {
            object! {
                file: finding.place.file.clone(),
                line: finding.place.line,
                column: finding.place.column,
                text: finding.line.clone(),
                outcome: finding.outcome.name(),
                reason: finding.text.clone(),
            }
        })
        .collect()
}
