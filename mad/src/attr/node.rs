//! NodeInfo and NodeDescription: identity of a node (IBA 14.2.5.2, 14.2.5.3).

use core::fmt;

use crate::ids::{NodeGuid, PortGuid, PortNum, SystemImageGuid};

crate::open_enum! {
    /// Type of node.
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum NodeType(u8) {
        /// Channel adapter.
        Ca = 1, "CA";
        /// Switch.
        Switch = 2, "switch";
        /// Router.
        Router = 3, "router";
    }
}

crate::wire! {
    /// NodeInfo.
    pub struct NodeInfo[64] {
        /// Version of the MAD format.
        base_version: u8 = 0, 8;
        /// Version of the subnet management class.
        class_version: u8 = 8, 8;
        /// CA, switch or router.
        node_type: NodeType = 16, 8;
        /// Number of physical ports, without a switch's port 0.
        num_ports: u8 = 24, 8;
        /// Shared by the nodes of one system; 0 if unknown.
        system_image_guid: SystemImageGuid = 32, 64;
        /// The node's GUID, the same on all ports.
        node_guid: NodeGuid = 96, 64;
        /// GUID of the responding port (port 0 of a switch).
        port_guid: PortGuid = 160, 64;
        /// Entries of the P_Key table (CA or router port, switch port 0).
        partition_cap: u16 = 224, 16;
        /// DeviceID.
        device_id: u16 = 240, 16;
        /// Revision of the product.
        revision: u32 = 256, 32;
        /// The port that received the request.
        local_port_num: PortNum = 288, 8;
        /// VendorID.
        vendor_id: u32 = 296, 24;
    }
}

/// NodeDescription: up to 64 bytes of UTF-8, zero padded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct NodeDescription {
    /// The bytes as they are on the wire.
    pub bytes: [u8; 64],
}

impl NodeDescription {
    /// From text, truncated at 64 bytes.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut bytes = [0; 64];
        let n = text.len().min(64);
        bytes[..n].copy_from_slice(&text.as_bytes()[..n]);
        Self { bytes }
    }

    /// From the attribute's bytes.
    #[must_use]
    pub const fn decode(bytes: &[u8; 64]) -> Self {
        Self { bytes: *bytes }
    }

    /// The attribute's bytes.
    #[must_use]
    pub const fn encode(&self) -> [u8; 64] {
        self.bytes
    }

    /// The text without quotation marks, for formats that quote it.
    #[must_use]
    pub fn unquoted(&self) -> String {
        self.to_string().replace('"', " ")
    }
}

impl Default for NodeDescription {
    fn default() -> Self {
        Self { bytes: [0; 64] }
    }
}

/// Hosts choose the text: control characters, which could forge log lines or control a terminal,
/// are replaced like invalid UTF-8.
impl fmt::Display for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.bytes.iter().position(|b| *b == 0).unwrap_or(64);
        let padded = String::from_utf8_lossy(&self.bytes[..end]);
        let text = padded.trim_end();
        if text.contains(is_unprintable) {
            f.pad(&text.replace(is_unprintable, "\u{FFFD}"))
        } else {
            f.pad(text)
        }
    }
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and characters that change the
/// direction of text.
fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Debug for NodeDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description cannot start a new log line or send an escape sequence to a terminal.
    #[test]
    fn description_is_printed_without_control_characters() {
        let printed = |text: &str| NodeDescription::new(text).to_string();
        assert_eq!(printed("host-1 mlx5_0"), "host-1 mlx5_0");
        assert_eq!(printed("h\u{F6}st "), "h\u{F6}st");
        assert_eq!(
            printed("a\nERROR b\r\x1b[2J\x7f\u{9b}31m\u{202e}"),
            "a\u{FFFD}ERROR b\u{FFFD}\u{FFFD}[2J\u{FFFD}\u{FFFD}31m\u{FFFD}"
        );
        let raw = NodeDescription::new("a\nb");
        assert_eq!(format!("{raw:?}"), "\"a\u{FFFD}b\"");
        assert_eq!(
            raw.encode()[..3],
            *b"a\nb",
            "the wire has the bytes of the host"
        );
    }
}
