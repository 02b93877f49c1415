//! What may be wrong with a file, and what was put right on the way.

use core::fmt;

/// So many errors and warnings are told one by one; the rest is counted.
pub(super) const TOLD: usize = 20;

/// All that is wrong with a file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadErrors {
    /// At least one, at most twenty.
    pub list: Vec<ReadError>,
    /// How many more there are.
    pub left_off: usize,
}

impl std::error::Error for ReadErrors {}

/// One line for each.
impl fmt::Display for ReadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.list.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            write!(f, "{end}{error}")?;
        }
        match self.left_off {
            0 => Ok(()),
            n => write!(f, "\nand {n} more"),
        }
    }
}

/// One thing wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    /// The included file that it is in; none for the file itself.
    pub file: Option<String>,
    /// Where, from 1 on; for an empty file its last line, or 1.
    pub line: usize,
    /// Where in the line, in characters from 1 on, if it can be told.
    pub column: Option<usize>,
    /// What.
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

/// Something sloppy that was understood all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The included file that it is in; none for the file itself.
    pub file: Option<String>,
    /// Where, from 1 on.
    pub line: usize,
    /// What.
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

/// What was sloppy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WarningKind {
    /// Only one end of the cable is described.
    #[error("port {port} of node `{id}` does not mention this cable; it is taken as laid")]
    OneSided {
        /// The other node.
        id: String,
        /// Its port.
        port: u8,
    },
    /// The same record again.
    #[error("node `{id}` is described again as in line {first}")]
    SameNode {
        /// The node.
        id: String,
        /// Where the record is that counts.
        first: usize,
    },
    /// The same port line again.
    #[error("port {port} of node `{id}` is described again as in line {first}")]
    SamePort {
        /// The node.
        id: String,
        /// The port.
        port: u8,
        /// Where the line is that counts.
        first: usize,
    },
    /// `do ...`
    #[error("`{0}` is a command for ibsim, it is left out")]
    Command(String),
    /// A line that says nothing known.
    #[error("the line is not understood and left out")]
    Unknown,
    /// The writer did not know the rate.
    #[error(
        "the rate `{0}` says nothing, the link is taken as 4x SDR where the other end does not know better"
    )]
    UnknownRate(String),
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// Not one node record up to the end.
    #[error(
        "the file describes no node (expected lines such as `Switch 36 \"S-...\"` and `Ca 1 \"H-...\"`)"
    )]
    NoNodes,
    /// ibdiagnet's table of switch ports, which says too little.
    #[error(
        "an ibdiagnet2.net_dump does not tell the nodes that switches are cabled to: take ibdiagnet2.lst or \
         ibdiagnet2.ibnetdiscover of the same run"
    )]
    NetDump,
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
    /// A speed that no link has.
    #[error("unknown speed `{0}`, expected SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR")]
    UnknownSpeed(String),
    /// A width that no link has.
    #[error("unknown width `{0}`, expected 1x, 2x, 4x, 8x or 12x")]
    UnknownWidth(String),
    /// Two records of one name.
    #[error("node `{id}` is already described in line {first}")]
    DuplicateNode {
        /// The node id.
        id: String,
        /// Where the other record begins.
        first: usize,
    },
    /// Two ports of one name.
    #[error("the alias `{0}` is already another port's")]
    DuplicateAlias(String),
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
    /// Two cables to one port, which itself says nothing.
    #[error(
        "the cable leads to port {port} of node `{id}`, to which another leads in line {first}"
    )]
    PortTaken {
        /// The other node.
        id: String,
        /// Its port.
        port: u8,
        /// Where the other cable is described.
        first: usize,
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
    /// A line of OpenSM's or ibdiagnet's list that is none.
    #[error("expected `{{ NODE }} {{ NODE }} PHY=... LOG=... SPD=...`, {0}")]
    BadListLine(&'static str),
    /// One node that is two kinds of node, or has two numbers of ports.
    #[error("node `{id}` is described otherwise in line {first}")]
    OtherNode {
        /// The node.
        id: String,
        /// Where.
        first: usize,
    },
    /// More end ports than LIDs.
    #[error("{0} end ports need a LID, the unicast LID space has 49151")]
    Lids(usize),
    /// A file that is named here cannot be had.
    #[error("cannot include `{name}`: {why}")]
    Include {
        /// The file.
        name: String,
        /// What the operating system said.
        why: String,
    },
}

impl ReadErrorKind {
    /// What stands in the line where the error is.
    pub(super) fn token(&self) -> Option<String> {
        match self {
            Self::BadNumber { text, .. } | Self::UnknownSpeed(text) | Self::UnknownWidth(text) => {
                (!text.is_empty()).then(|| text.clone())
            }
            Self::UnknownPeer(id) => Some(format!("\"{}\"", short(id))),
            Self::DuplicateNode { id, .. } => Some(format!("\"{}\"", short(id))),
            Self::NoSuchPort { port, .. } => Some(format!("[{port}]")),
            Self::PortTaken { id, .. } | Self::Contradiction { id, .. } => {
                Some(format!("\"{}\"", short(id)))
            }
            Self::Include { name, .. } => Some(name.clone()),
            Self::DuplicateAlias(name) => Some(name.clone()),
            Self::NoNodes
            | Self::NetDump
            | Self::BadHeader(_)
            | Self::PortWithoutNode
            | Self::BadPortLine
            | Self::DuplicatePort { .. }
            | Self::BadListLine(_)
            | Self::OtherNode { .. }
            | Self::Lids(_) => None,
        }
    }
}

/// A name as the line has it, without the module in front.
fn short(id: &str) -> &str {
    id.rsplit_once('#').map_or(id, |(_, name)| name)
}
