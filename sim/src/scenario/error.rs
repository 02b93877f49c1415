//! Errors of scenarios with their position.

/// An invalid statement, or one that names something unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ScenarioError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Reason.
    pub problem: ScenarioProblem,
}

/// Why a statement is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioProblem {
    /// Syntax error.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// Expected syntax.
        expected: String,
        /// Actual token.
        found: String,
    },
    /// A quoted text without closing quote.
    #[error("unterminated quoted text")]
    OpenQuote,
    /// Unknown node.
    #[error("unknown node {0}")]
    NoSuchNode(String),
    /// Ambiguous node name.
    #[error("{count} nodes are named {name}: use a GUID or an index")]
    AmbiguousNode {
        /// Name or GUID.
        name: String,
        /// Number of nodes with it.
        count: usize,
    },
    /// Unknown or unsuitable port.
    #[error("{node} has no suitable port {port}")]
    NoSuchPort {
        /// Node.
        node: String,
        /// Port number.
        port: u8,
    },
    /// A query in a scenario.
    #[error("queries are not allowed in a scenario")]
    QueryInScenario,
    /// Unknown counter.
    #[error("unknown counter {0}")]
    NoSuchCounter(String),
}

impl ScenarioError {
    pub(super) const fn new(column: u32, problem: ScenarioProblem) -> Self {
        Self {
            line: 1,
            column,
            problem,
        }
    }

    pub(super) fn on_line(self, line: u32) -> Self {
        Self { line, ..self }
    }
}
