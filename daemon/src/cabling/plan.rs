//! A plan of cables.

use core::fmt;

/// Most cables in a plan.
pub const CABLES_MAX: usize = 1_000_000;

/// A node as a plan names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedNode {
    /// Its GUID, if the plan has it.
    pub guid: Option<u64>,
    /// Its name; `*` stands for any text. Empty if the plan has only the GUID.
    pub name: String,
}

/// The end of a planned cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedEnd {
    pub node: PlannedNode,
    /// `None`: any port.
    pub port: Option<u8>,
}

/// A planned cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCable {
    pub a: PlannedEnd,
    pub b: PlannedEnd,
    /// Its line in the file.
    pub line: usize,
}

/// A plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CablingPlan {
    pub cables: Vec<PlannedCable>,
}

/// Why a plan cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    pub line: usize,
    pub problem: String,
}

impl PlanError {
    pub(super) fn new(line: usize, problem: impl Into<String>) -> Self {
        Self {
            line,
            problem: problem.into(),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl PlannedNode {
    /// A node that a text names: a GUID such as `0x0002c90300a1b2c3`, or a name.
    #[must_use]
    pub fn named(text: &str) -> Self {
        let text = text.trim();
        let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
        match hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            Some(guid) => Self {
                guid: Some(guid),
                name: String::new(),
            },
            None => Self {
                guid: None,
                name: text.to_owned(),
            },
        }
    }
}

impl fmt::Display for PlannedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.guid {
            Some(guid) if self.name.is_empty() => write!(f, "{guid:#018x}"),
            Some(_) | None => f.write_str(&self.name),
        }
    }
}

impl fmt::Display for PlannedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}/{port}", self.node),
            None => write!(f, "{}", self.node),
        }
    }
}

impl fmt::Display for PlannedCable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} - {}", self.a, self.b)
    }
}

impl CablingPlan {
    /// Formats list a cable from both of its ends.
    pub(super) fn remove_repetitions(&mut self) {
        let mut known = std::collections::BTreeSet::new();
        self.cables.retain(|cable| {
            let mut ends = [&cable.a, &cable.b];
            ends.sort_unstable();
            let ends = ends.map(Clone::clone);
            // Cables between any ports of two nodes are several.
            let is_exact = ends.iter().all(|end| end.port.is_some());
            !is_exact || known.insert(ends)
        });
    }
}
