//! Errors and warnings of fabric files.

use core::fmt;

use ferrosm_mad::ids::{Lid, NodeGuid};

use super::other_formats::OtherFormat;

/// Errors and warnings that are reported individually; further ones are counted.
pub(super) const MAX_REPORTED: usize = 20;

/// Errors of a file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadErrors {
    /// The first errors, at most twenty.
    pub list: Vec<ReadError>,
    /// Number of further errors, which are omitted.
    pub omitted: usize,
}

impl std::error::Error for ReadErrors {}

/// One line per error.
impl fmt::Display for ReadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.list.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        match self.omitted {
            0 => Ok(()),
            n => write!(f, "\nand {n} more"),
        }
    }
}

/// An error with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The included file; `None` for the main file.
    pub file: Option<String>,
    /// Line, from 1; for a file without nodes its last line, or 1.
    pub line: usize,
    /// Column in characters, from 1, if known.
    pub column: Option<usize>,
    /// Reason.
    pub kind: ReadErrorKind,
}

impl std::error::Error for ReadError {}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        write!(f, "line {}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.kind)
    }
}

/// A defect that does not prevent reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The included file; `None` for the main file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: usize,
    /// Reason.
    pub kind: WarningKind,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// Reason of a warning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarningKind {
    /// Only one port of the link is described.
    #[error("port {port} of node `{id}` does not describe this link; it is assumed to exist")]
    OneSided {
        /// The other node.
        id: String,
        port: u8,
    },
    /// A repeated node record.
    #[error("node `{id}` is repeated from line {first}")]
    RepeatedNode {
        /// Node.
        id: String,
        /// Line of the first record, which is used.
        first: usize,
    },
    /// A repeated port line.
    #[error("port {port} of node `{id}` is repeated from line {first}")]
    RepeatedPort {
        /// Node.
        id: String,
        port: u8,
        /// Line of the first description, which is used.
        first: usize,
    },
    /// An ibsim command (`do ...`).
    #[error("`{0}` is an ibsim command; ignored")]
    Command(String),
    /// An unknown line.
    #[error("unknown line ignored")]
    Unknown,
    /// The writer of the file did not know the rate.
    #[error("unknown rate `{0}`: assuming 4x SDR unless the other port has a rate")]
    UnknownRate(String),
    /// Links of a list without a speed; the line is that of the first.
    #[error("{0} links without a speed: assuming SDR")]
    LinksWithoutSpeed(usize),
    /// A text in the place of a LID.
    #[error("`{0}` is no unicast LID (1 to 49151); ignored")]
    IgnoredLid(String),
    /// The line of the other port has another LID, which is used.
    #[error("LID {lid} of port {port} of node `{id}` is {own} in the record of that node")]
    OtherLid {
        /// The other node.
        id: String,
        port: u8,
        /// Its LID in this line.
        lid: Lid,
        /// Its LID in its record.
        own: Lid,
    },
    /// Two ports with one LID.
    #[error("LID {lid} of node `{id}` is also that of node `{other}`")]
    SharedLid {
        lid: Lid,
        /// This node.
        id: String,
        /// The earlier node.
        other: String,
    },
    /// Switches that share a node GUID, such as the chips of a director.
    #[error(
        "{switches} switches share the node GUID {guid}: their port GUIDs are taken for node GUIDs"
    )]
    SharedNodeGuid {
        guid: NodeGuid,
        /// Number of switches.
        switches: usize,
    },
}

/// Reason of an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// No node record.
    #[error(
        "the file contains no node (expected lines such as `Switch 36 \"S-...\"` and `Ca 1 \"H-...\"`)"
    )]
    NoNodes,
    /// A file of another format.
    #[error("this is {}: {}", .0.name, .0.instead)]
    OtherFormat(OtherFormat),
    /// A node record without number of ports or node ID.
    #[error("expected `{0} PORTS \"NODE ID\"`")]
    BadHeader(&'static str),
    /// An invalid number.
    #[error("`{text}` is not a valid {description}")]
    BadNumber {
        /// Expected value.
        description: &'static str,
        /// Given text.
        text: String,
    },
    #[error("unknown speed `{0}`, expected SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR")]
    UnknownSpeed(String),
    #[error("unknown width `{0}`, expected 1x, 2x, 4x, 8x or 12x")]
    UnknownWidth(String),
    /// Two records with one node ID.
    #[error("node `{id}` is already described in line {first}")]
    DuplicateNode {
        /// Node ID.
        id: String,
        /// Line of the other record.
        first: usize,
    },
    /// An alias of two ports.
    #[error("alias `{0}` already names another port")]
    DuplicateAlias(String),
    /// A port line before any record.
    #[error("port line before the first node record")]
    PortWithoutNode,
    /// An invalid port line.
    #[error("expected `[PORT] \"NODE ID\"[PORT]`")]
    BadPortLine,
    /// A port number that the node does not have.
    #[error("node `{id}` has no port {port}, it has {ports}")]
    NoSuchPort {
        /// Node.
        id: String,
        port: u8,
        /// Number of ports of the node.
        ports: u8,
    },
    /// A port described twice.
    #[error("port {port} of node `{id}` is already described in line {first}")]
    DuplicatePort {
        /// Node.
        id: String,
        port: u8,
        /// Line of the first description.
        first: usize,
    },
    /// A link to a node that is not in the file.
    #[error("the link leads to unknown node `{0}`")]
    UnknownPeer(String),
    /// Two links to a port that has no line of its own.
    #[error(
        "the link leads to port {port} of node `{id}`, which already has a link in line {first}"
    )]
    PortTaken {
        /// The node at the other end.
        id: String,
        port: u8,
        /// Line of the other link.
        first: usize,
    },
    /// The line of the port at the other end names another peer.
    #[error(
        "the link leads to port {port} of node `{id}`, which line {line} connects to port {other_port} of `{other}`"
    )]
    Contradiction {
        /// The node at the other end.
        id: String,
        port: u8,
        /// Line of that port.
        line: usize,
        /// The node that it names.
        other: String,
        /// The port that it names.
        other_port: u8,
    },
    /// An invalid line of OpenSM's or ibdiagnet's list.
    #[error("expected `{{ NODE }} {{ NODE }} PHY=... LOG=... SPD=...`, {0}")]
    BadListLine(&'static str),
    /// A node with two node types or numbers of ports.
    #[error("node `{id}` is described differently in line {first}")]
    InconsistentNode {
        /// Node.
        id: String,
        /// Line of the other description.
        first: usize,
    },
    /// More end ports than unicast LIDs.
    #[error("{0} end ports exceed the 49151 unicast LIDs")]
    TooManyEndPorts(usize),
    /// An included file that cannot be read.
    #[error("cannot include `{name}`: {reason}")]
    Include {
        /// File name.
        name: String,
        reason: String,
    },
}

impl ReadErrorKind {
    /// The text in the line where the error is.
    pub(super) fn token(&self) -> Option<String> {
        match self {
            Self::BadNumber { text, .. } | Self::UnknownSpeed(text) | Self::UnknownWidth(text) => {
                (!text.is_empty()).then(|| text.clone())
            }
            Self::UnknownPeer(id) => Some(format!("\"{}\"", without_module(id))),
            Self::DuplicateNode { id, .. } => Some(format!("\"{}\"", without_module(id))),
            Self::NoSuchPort { port, .. } => Some(format!("[{port}]")),
            Self::PortTaken { id, .. } | Self::Contradiction { id, .. } => {
                Some(format!("\"{}\"", without_module(id)))
            }
            Self::Include { name, .. } => Some(name.clone()),
            Self::DuplicateAlias(name) => Some(name.clone()),
            Self::NoNodes
            | Self::OtherFormat(_)
            | Self::BadHeader(_)
            | Self::PortWithoutNode
            | Self::BadPortLine
            | Self::DuplicatePort { .. }
            | Self::BadListLine(_)
            | Self::InconsistentNode { .. }
            | Self::TooManyEndPorts(_) => None,
        }
    }
}

/// A node ID without the module prefix, as it is written in a line.
fn without_module(id: &str) -> &str {
    id.rsplit_once('#').map_or(id, |(_, name)| name)
}
