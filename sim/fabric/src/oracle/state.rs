//! The values of all devices that the oracles check.
//!
//! A snapshot is copied from a [`Fabric`](crate::fabric::Fabric) (see `from_fabric.rs`) or built
//! from any other source of the same values.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{CapMask, NodeType, PortInfo, SwitchInfo, VlArbEntry};
use ferrosm_mad::ids::{Lid, PKey, PortNum};

use crate::spec::PortAt;

/// Values of all devices at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FabricSnapshot {
    pub nodes: Vec<NodeSnapshot>,
}

/// Values of a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeSnapshot {
    /// Name in violations.
    pub name: String,
    /// CA, switch or router.
    pub kind: NodeType,
    /// By port number. Entry 0 is port 0 of a switch, unused for other nodes.
    pub ports: Vec<PortSnapshot>,
    /// SwitchInfo (switches).
    pub switch_info: SwitchInfo,
    /// LFT: output port by LID. LIDs beyond the end are dropped.
    pub lft: Vec<u8>,
    /// MFT: output ports by MLID, without empty entries.
    pub mft: BTreeMap<Lid, PortSet>,
}

impl NodeSnapshot {
    /// The number of LIDs that the LFT of a switch can hold; unlimited if it reports none.
    pub(super) fn lft_entries(&self) -> u16 {
        let entries = Some(self.switch_info.linear_fdb_cap);
        entries.filter(|entries| *entries > 0).unwrap_or(u16::MAX)
    }

    /// Whether the MFT of a switch can hold an MLID; it can hold all if the switch reports no size.
    pub(super) fn can_hold_mlid(&self, mlid: Lid) -> bool {
        let entries = self.switch_info.multicast_fdb_cap;
        entries == 0 || mlid.raw().saturating_sub(0xC000) < entries
    }
}

/// Values of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortSnapshot {
    /// The port at the other end of the link, if the link is up.
    pub peer: Option<PortAt>,
    /// PortInfo. LID, M_Key and other node-wide values of a switch are those of port 0.
    pub info: PortInfo,
    /// Times that ClientReregister was set (end ports).
    pub reregisters: u32,
    /// P_Key table without trailing empty entries; `None` if unknown.
    pub pkeys: Option<Vec<PKey>>,
    /// SLtoVLMappingTable by input port, two SLs per byte, the even SL in the upper half. A single
    /// table applies to all inputs (and to CAs). If empty, no table was written: SL n maps to VL n
    /// modulo 8.
    pub sl_to_vl: Vec<[u8; 8]>,
    /// VLArbitrationTable; `None` if it was not written or is unknown.
    pub vl_arb: Option<Box<VlArbTables>>,
}

/// VLArbitrationTable: as many entries as the port supports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VlArbTables {
    /// Low priority.
    pub low: Vec<VlArbEntry>,
    /// High priority.
    pub high: Vec<VlArbEntry>,
}

/// A set of port numbers of one node, 0 to 254.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// Adds a port.
    pub fn insert(&mut self, port: u8) {
        self.0[usize::from(port / 64)] |= 1 << (port % 64);
    }

    /// Removes a port.
    pub fn remove(&mut self, port: u8) {
        self.0[usize::from(port / 64)] &= !(1 << (port % 64));
    }

    /// Whether the set contains a port.
    #[must_use]
    pub fn contains(self, port: u8) -> bool {
        self.0[usize::from(port / 64)] >> (port % 64) & 1 != 0
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// The ports in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let port = self.first_from(from)?;
            from = u16::from(port) + 1;
            Some(port)
        })
    }

    /// The first port that is not below `from`; `from` may be 256.
    #[must_use]
    pub fn first_from(self, from: u16) -> Option<u8> {
        let mut word = usize::from(from / 64);
        let mut bits = self.0.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.0.get(word)?;
        }
        u8::try_from(word * 64 + bits.trailing_zeros() as usize).ok()
    }
}

impl FromIterator<u8> for PortSet {
    fn from_iter<I: IntoIterator<Item = u8>>(ports: I) -> Self {
        let mut set = Self::default();
        ports.into_iter().for_each(|port| set.insert(port));
        set
    }
}

impl NodeSnapshot {
    /// Whether the node is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// Output port for a LID; 0xFF if the switch drops it.
    #[must_use]
    pub fn egress(&self, lid: u16) -> PortNum {
        if lid > self.switch_info.linear_fdb_top {
            return PortNum::DROP;
        }
        PortNum(
            self.lft
                .get(usize::from(lid))
                .copied()
                .unwrap_or(PortNum::DROP.0),
        )
    }

    /// Whether the switch implements MulticastFDBTop.
    #[must_use]
    pub fn has_multicast_top(&self) -> bool {
        let port0 = self.ports.first();
        port0.is_some_and(|p| p.info.capability_mask.has(CapMask::MULTICAST_FDB_TOP))
    }

    /// Output ports for a packet to an MLID that enters by `input`, without `input`.
    ///
    /// Packets to an MLID without an entry leave by the default multicast ports. A default port of
    /// 0xFF means none; port 0 discards.
    #[must_use]
    pub fn multicast_egress(&self, mlid: Lid, input: u8) -> PortSet {
        let above = self.has_multicast_top() && mlid.raw() > self.switch_info.multicast_fdb_top;
        let entry = self.mft.get(&mlid).filter(|_| !above);
        let mut ports = if let Some(entry) = entry.filter(|ports| !ports.is_empty()) {
            *entry
        } else {
            let primary = self.switch_info.default_multicast_primary_port;
            let other = self.switch_info.default_multicast_not_primary_port;
            let port = if input == primary.raw() {
                other
            } else {
                primary
            };
            let exists = port != PortNum::ZERO && port != PortNum::DROP;
            exists.then_some(port.raw()).into_iter().collect()
        };
        ports.remove(input);
        ports
    }
}

impl FabricSnapshot {
    /// The snapshot of a port, if it exists.
    #[must_use]
    pub fn port(&self, at: PortAt) -> Option<&PortSnapshot> {
        self.nodes.get(at.node)?.ports.get(usize::from(at.port))
    }

    /// `name[port]`.
    #[must_use]
    pub fn name(&self, at: PortAt) -> String {
        let name = self.nodes.get(at.node).map_or("?", |n| n.name.as_str());
        format!("{name}[{}]", at.port)
    }
}

/// Number of data VLs for an OperationalVLs code: 1, 2, 4, 8, 15 for codes 1 to 5.
pub(super) const fn data_vl_count(operational_vls: u8) -> u8 {
    match operational_vls {
        0 | 1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        _ => 15,
    }
}
