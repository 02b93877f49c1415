//! The facts that are judged: a plain picture of all devices at one moment.
//!
//! Copied from a [`Fabric`](crate::fabric::Fabric) (see `copy.rs`) or made by hand, from any other
//! fabric of which the same facts are known. Nothing here judges.

use std::collections::BTreeMap;

use ferrosm_mad::attr::{CapMask, NodeType, PortInfo, SwitchInfo, VlArbEntry};
use ferrosm_mad::ids::{Lid, PKey, PortNum};

use crate::spec::PortAt;

/// The facts about all devices at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FabricSnapshot {
    /// By node.
    pub nodes: Vec<NodeSnapshot>,
}

/// The facts about a node.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeSnapshot {
    /// What it is called in a verdict.
    pub name: String,
    /// CA, switch or router.
    pub kind: NodeType,
    /// By port number; entry 0 is a switch's port 0, and without meaning on other nodes.
    pub ports: Vec<PortSnapshot>,
    /// SwitchInfo (switches).
    pub switch_info: SwitchInfo,
    /// Egress ports by LID; what is missing at the end drops.
    pub lft: Vec<u8>,
    /// Egress ports by MLID, where there are any.
    pub mft: BTreeMap<Lid, PortSet>,
}

/// The facts about a port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortSnapshot {
    /// The other end of a trained link.
    pub peer: Option<PortAt>,
    /// PortInfo. The addresses and keys of a switch are port 0's.
    pub info: PortInfo,
    /// Requests for client reregistration that the port got (end ports).
    pub reregisters: u32,
    /// The P_Key table by index, empty entries at the end left out; `None` is not known.
    pub pkeys: Option<Vec<PKey>>,
    /// SLtoVLMappingTable by input port, two service levels a byte, the even one in the upper half.
    /// A single table is for all inputs (and a CA's); none was written: SL n is on VL n modulo 8.
    pub sl_to_vl: Vec<[u8; 8]>,
    /// VLArbitrationTable; `None` was not written, or is not known.
    pub vl_arb: Option<Box<VlArbTables>>,
}

/// Both priorities of VLArbitrationTable, as far as the port has entries.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VlArbTables {
    /// Low priority.
    pub low: Vec<VlArbEntry>,
    /// High priority.
    pub high: Vec<VlArbEntry>,
}

/// Ports of one node, 0 to 254.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortSet([u64; 4]);

impl PortSet {
    /// Adds a port.
    pub fn insert(&mut self, port: u8) {
        self.0[usize::from(port / 64)] |= 1 << (port % 64);
    }

    /// Takes a port out.
    pub fn remove(&mut self, port: u8) {
        self.0[usize::from(port / 64)] &= !(1 << (port % 64));
    }

    /// Whether a port is in it.
    #[must_use]
    pub fn contains(self, port: u8) -> bool {
        self.0[usize::from(port / 64)] >> (port % 64) & 1 != 0
    }

    /// Whether no port is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// The ports, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let port = self.first_from(from)?;
            from = u16::from(port) + 1;
            Some(port)
        })
    }

    /// The first port from `from` on; `from` may be 256.
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
    /// Whether it forwards.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// Where the tables send a LID; 0xFF drops.
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

    /// Whether MulticastFDBTop bounds what is looked up.
    #[must_use]
    pub fn has_multicast_top(&self) -> bool {
        let own = self.ports.first();
        own.is_some_and(|p| p.info.capability_mask.has(CapMask::MULTICAST_FDB_TOP))
    }

    /// Where the tables send a multicast LID that came in by a port; the port itself is left out.
    ///
    /// An MLID without an entry goes to the default ports; 0xFF is none, and what goes to port 0
    /// ends there unheard.
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
            let is_one = port != PortNum::ZERO && port != PortNum::DROP;
            is_one.then_some(port.raw()).into_iter().collect()
        };
        ports.remove(input);
        ports
    }
}

impl FabricSnapshot {
    /// The facts about a port, if it exists.
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

/// Lanes that an OperationalVLs code stands for; the codes 1 to 5 are 1, 2, 4, 8 and 15.
pub(super) const fn lanes_of(operational_vls: u8) -> u8 {
    match operational_vls {
        0 | 1 => 1,
        2 => 2,
        3 => 4,
        4 => 8,
        _ => 15,
    }
}
