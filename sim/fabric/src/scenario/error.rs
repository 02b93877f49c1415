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
    /// Unknown first word.
    #[error("unknown command `{0}` (`help` lists the commands)")]
    NoSuchCommand(String),
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
    /// Unknown port, or a port that the command cannot use.
    #[error("{node} has no port {port}{}: {usable}", if *.exists { " that this command can use" } else { "" })]
    NoSuchPort {
        node: String,
        /// Port number.
        port: u8,
        /// Whether the node has this port.
        exists: bool,
        /// The usable ports.
        usable: String,
    },
    /// A query in a scenario.
    #[error(
        "queries are not allowed in a scenario: use `ferrosm sim-ctl` while the fabric is served"
    )]
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
