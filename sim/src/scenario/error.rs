//! What is wrong with a scenario, and where.

/// A line that is no statement, or names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct ScenarioError {
    /// The line, counted from 1.
    pub line: u32,
    /// The character of the line where it goes wrong, counted from 1.
    pub column: u32,
    /// What is wrong.
    pub problem: ScenarioProblem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScenarioProblem {
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should.
        expected: String,
        /// What does.
        found: String,
    },
    /// A text that does not end.
    #[error("the quoted text has no end")]
    OpenQuote,
    /// No node is called so.
    #[error("there is no node {0}")]
    NoSuchNode(String),
    /// Several nodes are called so.
    #[error("{count} nodes are called {name}: use a GUID or an index")]
    AmbiguousNode {
        /// The name or GUID.
        name: String,
        /// How many.
        count: usize,
    },
    /// The node has no such port.
    #[error("{node} has no port {port} for this")]
    NoSuchPort {
        /// The node.
        node: String,
        /// The port.
        port: u8,
    },
    /// A question where something should happen.
    #[error("a question has no place in a scenario")]
    Question,
    /// No counter is called so.
    #[error("there is no counter {0}")]
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
