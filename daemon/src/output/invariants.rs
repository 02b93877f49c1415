//! Invariants as text.

use ferrosm_api::answer::Answer;
use ferrosm_api::invariant::{InvariantStatus, Invariants};

use super::table;

/// `invariants`.
#[must_use]
pub fn list(answer: &Answer<Invariants>) -> String {
    let items = &answer.body.items;
    if items.is_empty() {
        return "No invariant is declared; `ferrosm config print --default` shows how: [[invariant]].\n"
            .to_owned();
    }
    let mut out = table::new(["Invariant", "State", "Rule", "Example"]);
    for status in items {
        out.add_row([
            status.name.as_str(),
            status.state.name(),
            status.rule.as_str(),
            status.text.as_str(),
        ]);
    }
    format!("{out}\n")
}

/// A violated invariant.
#[must_use]
pub fn violation(status: &InvariantStatus) -> String {
    format!(
        "invariant {} violated: {}: {}",
        status.name, status.rule, status.text
    )
}
