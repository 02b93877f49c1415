//! What may be wrong with a file.

/// The first thing wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ReadError {
    /// Where, from 1 on; for an empty file its last line, or 1.
    pub line: usize,
    /// What.
    pub kind: ReadErrorKind,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// Not one node record up to the end.
    #[error(
        "the file describes no node (expected lines such as `Switch 36 \"S-...\"` and `Ca 1 \"H-...\"`)"
    )]
    NoNodes,
    /// A record's first line without number of ports or node id.
    #[error("expected `{0} PORTS \"NODE ID\"`")]
    BadHeader(&'static str),
    /// A number that does not fit its place.
    #[error("`{text}` is not a {what}")]
    BadNumber {
        /// What belongs there.
        what: &'static str,
        /// What is there.
        text: String,
    },
    /// Two records of one name.
    #[error("node `{id}` is already described in line {first}")]
    DuplicateNode {
        /// The node id.
        id: String,
        /// Where the other record begins.
        first: usize,
    },
    /// A port line before any record.
    #[error("a port line, but no node record before it")]
    PortWithoutNode,
    /// A port line that cannot be understood.
    #[error("expected `[PORT] \"NODE ID\"[PORT]`")]
    BadPortLine,
    /// A port that the node does not have.
    #[error("node `{id}` has no port {port}, it has {ports}")]
    NoSuchPort {
        /// The node.
        id: String,
        /// The port.
        port: u8,
        /// How many it has.
        ports: u8,
    },
    /// A port described twice.
    #[error("port {port} of node `{id}` is already described in line {first}")]
    DuplicatePort {
        /// The node.
        id: String,
        /// The port.
        port: u8,
        /// Where the first description is.
        first: usize,
    },
    /// The cable leads out of the file.
    #[error("the cable leads to node `{0}`, which is not described")]
    UnknownPeer(String),
    /// The other end says nothing.
    #[error("the cable leads to port {port} of node `{id}`, which does not mention it")]
    OneSided {
        /// The other node.
        id: String,
        /// Its port.
        port: u8,
    },
    /// The other end says something else.
    #[error(
        "the cable leads to port {port} of node `{id}`, which line {line} cables to port {other_port} of `{other}`"
    )]
    Contradiction {
        /// The other node.
        id: String,
        /// Its port.
        port: u8,
        /// Where its port is described.
        line: usize,
        /// The node that it names.
        other: String,
        /// The port that it names.
        other_port: u8,
    },
    /// Other files are not opened.
    #[error("`include` is not supported, join the files into one")]
    Include,
}
