//! A node that emulates switches without end: behind its port there is a switch, and behind each
//! port of a switch another one.
//!
//! It answers directed-route SMPs whose path leads through its port to any depth. No packet leaves
//! it on the emulated links.

use ferrosm_mad::attr::{NodeInfo, NodeType, PhysState, PortInfo, PortState, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum, SystemImageGuid};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET, DrPath};

use super::{Fabric, Packet};
use crate::spec::NodeIdx;

/// What a node emulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Emulation {
    /// Ports of each switch.
    pub ports: u8,
    /// The first port of each switch with a host behind it; 0 for none.
    pub first_host_port: u8,
    /// Each NodeInfo has another GUID, as if the device were in a loop that never reports the same
    /// node twice. Otherwise the GUID depends on the path.
    pub has_fresh_guids: bool,
}

impl Emulation {
    /// Switches with `ports` ports, as far as a directed route leads.
    #[must_use]
    pub const fn endless(ports: u8) -> Self {
        Self {
            ports,
            first_host_port: 0,
            has_fresh_guids: false,
        }
    }
}

/// An emulation, and the number of NodeInfos that it has sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Emulator {
    emulation: Emulation,
    node_infos: u64,
}

fn hash(bytes: &[u8]) -> u64 {
    let step = |h: u64, b: &u8| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01B3);
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, step)
}

impl Fabric {
    /// Makes a node emulate switches, or ends the emulation.
    pub fn emulate_switches(&mut self, node: NodeIdx, emulation: Option<Emulation>) {
        if let Some(n) = self.nodes.get_mut(node) {
            n.emulator = emulation.map(|emulation| {
                Box::new(Emulator {
                    emulation,
                    node_infos: 0,
                })
            });
        }
    }

    /// Processes a directed-route SMP in place, if the node emulates switches. Few fabrics have
    /// one.
    #[cold]
    pub(crate) fn emulate(&mut self, packet: &mut Packet) -> Option<Status> {
        let node = packet.at.node;
        let hops = packet.hops;
        let path = DrPath::from_smp(&packet.mad).filter(|_| packet.is_directed())?;
        let own_port = self.ports[self.nodes[node].base + usize::from(packet.at.port)].info;
        let n = &mut self.nodes[node];
        let Emulator {
            emulation,
            node_infos,
        } = n.emulator.as_deref_mut()?;
        let attr = packet.mad.attr_id();
        let modifier = packet.mad.attr_mod().0;
        let is_set = packet.mad.method() == Method::Set;
        let path = path.hops();
        let last = path.last().copied().unwrap_or(0);
        let depth = path.len().saturating_sub(usize::from(hops));
        let hosts = emulation.first_host_port;
        let is_host = depth > 0 && hosts > 0 && last >= hosts;
        n.counters.count(attr, is_set);
        let bytes = packet.mad.as_bytes_mut();
        let data: &mut [u8; DATA_LEN] = bytes[DATA_OFFSET..].first_chunk_mut()?;
        if is_set {
            return Some(Status::OK);
        }
        *data = [0; DATA_LEN];
        match attr {
            id::NODE_INFO => {
                *node_infos += 1;
                let serial = if emulation.has_fresh_guids {
                    *node_infos
                } else {
                    0
                };
                let guid = (hash(path) ^ serial) >> 16 | 0x0BAD << 48;
                NodeInfo {
                    base_version: 1,
                    class_version: 1,
                    node_type: if is_host {
                        NodeType::Ca
                    } else {
                        NodeType::Switch
                    },
                    num_ports: if is_host { 1 } else { emulation.ports },
                    system_image_guid: SystemImageGuid(guid),
                    node_guid: NodeGuid(guid),
                    port_guid: PortGuid(guid),
                    partition_cap: 32,
                    local_port_num: PortNum(1),
                    ..NodeInfo::default()
                }
                .encode_onto(data);
            }
            id::SWITCH_INFO => SwitchInfo {
                linear_fdb_cap: 0xBFFF,
                multicast_fdb_cap: 0x1000,
                ..SwitchInfo::default()
            }
            .encode_onto(data),
            id::PORT_INFO => {
                *data = own_port;
                let number = modifier & 0xFF;
                let mut info = PortInfo::decode(data);
                info.lid = Lid::NONE;
                info.master_sm_lid = Lid::NONE;
                info.local_port_num = PortNum(u8::try_from(number).unwrap_or(0));
                info.port_state = PortState::Initialize;
                info.port_physical_state = PhysState::LinkUp;
                info.encode_onto(data);
            }
            _ => {}
        }
        Some(Status::OK)
    }
}
