//! Whether the VL tables of a node are those of a QoS configuration of another SM.
//!
//! Devices that no SM configured for QoS have tables of which nothing is lost when this SM writes
//! its own: their power-up tables, those of routings that avoid deadlocks with VLs, and those of
//! this SM. They map SL n to VL n modulo some number, or all SLs to one VL, and all VLs have the
//! same share. The power-up tables of some devices (ibsim is one) are the built-in tables of
//! OpenSM, for 15 VLs. The maps of some engines are irregular, but the shares are recognised as
//! those that this SM writes. All other tables count as QoS.
//!
//! Per linked port this reads the table from one input port, and the first blocks of low and high
//! priority. A port whose tables count as QoS is read again until two reads agree.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{Node, PortRef};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{PortInfo, SlToVl, VlArb};
use ferrosm_mad::ids::{NodeGuid, PortNum, Vl};
use ferrosm_mad::smp::DATA_LEN;
use ferrosm_routing::DATA_VLS_MAX;

use super::of_kind::FoundSettings;
use crate::ctx::Ctx;
use crate::routing::vl_plan::{WEIGHT, has_several_vls, has_sl_to_vl};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::vls::{is_configured, live_ports};

/// Reads of the tables of a port in one sweep.
const READS_MAX: u8 = 4;
/// First blocks of low and high priority.
const LOW: u8 = 1;
const HIGH: u8 = 3;

/// What was read of VL tables, before they are compared.
#[derive(Debug, Default)]
pub(super) struct VlTablesRead {
    ports: BTreeMap<PortRef, PortRead>,
    nodes: BTreeMap<NodeGuid, NodeRead>,
}

/// The tables of a port while they are read.
#[derive(Debug)]
struct PortRead {
    requests: Vec<SmpOp>,
    tables: PortTables,
    /// The tables of the read before, which count as QoS.
    before: Option<PortTables>,
    reads: u8,
}

/// Tables of a port; those that it does not have are missing.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct PortTables {
    sl_to_vl: Option<[Vl; 16]>,
    low: Option<VlArb>,
    high: Option<VlArb>,
}

/// The result for a node.
#[derive(Debug, Default)]
struct NodeRead {
    /// Ports that were not read completely.
    unknown: BTreeSet<PortNum>,
    /// Ports whose tables are those of a QoS configuration.
    qos: BTreeSet<PortNum>,
}

impl VlTablesRead {
    /// Reads the tables of the nodes that an SM has configured.
    pub(super) fn start(&mut self, ctx: &mut Ctx<'_>) {
        *self = Self::default();
        for (n, node) in ctx.fabric.nodes() {
            if !is_configured(node) || node.is_unresponsive {
                continue;
            }
            let live = live_ports(ctx.fabric, n, node);
            let result = self.nodes.entry(node.info.node_guid).or_default();
            for &port in &live {
                let requests = requests(node, PortRef::new(n, port), &live);
                if requests.is_empty() {
                    continue;
                }
                let _ = result.unknown.insert(port);
                for op in &requests {
                    ctx.smps.enqueue(*op);
                }
                let read = PortRead {
                    requests,
                    tables: PortTables::default(),
                    before: None,
                    reads: 0,
                };
                self.ports.insert(PortRef::new(n, port), read);
            }
        }
    }

    /// A table was read. A port of which one cannot be read stays unknown.
    pub(super) fn on_table(&mut self, ctx: &mut Ctx<'_>, op: SmpOp, outcome: &SmpOutcome) {
        let (p, block) = if let SmpOp::SlToVl(p, at) = op {
            let (_, output) = at.ports();
            (PortRef::new(p.node, output), None)
        } else if let SmpOp::VlArbitration(p, block) = op {
            (p, Some(block))
        } else {
            return;
        };
        let Some(read) = self.ports.get_mut(&p) else {
            return;
        };
        let Some(data) = outcome.data() else {
            self.ports.remove(&p);
            return;
        };
        read.tables.store(block, data);
        if !read.is_complete() {
            return;
        }
        let tables = core::mem::take(&mut read.tables);
        read.reads += 1;
        let is_qos = tables.is_of_qos();
        if is_qos && read.before != Some(tables) {
            if read.reads < READS_MAX {
                read.before = Some(tables);
                for op in read.requests.clone() {
                    ctx.smps.enqueue(op);
                }
            } else {
                self.ports.remove(&p);
            }
            return;
        }
        self.ports.remove(&p);
        if let Some(node) = ctx.fabric.get(p.node)
            && let Some(result) = self.nodes.get_mut(&node.info.node_guid)
        {
            result.unknown.remove(&p.port);
            if is_qos {
                let _ = result.qos.insert(p.port);
            }
        }
    }

    /// What was found at a node.
    pub(super) fn of_node(&self, node: &Node) -> FoundSettings<usize> {
        if !is_configured(node) {
            return FoundSettings::Own;
        }
        match self.nodes.get(&node.info.node_guid) {
            Some(read) if !read.qos.is_empty() => FoundSettings::Foreign(read.qos.len()),
            Some(read) if read.unknown.is_empty() => FoundSettings::Own,
            Some(_) | None => FoundSettings::Unknown,
        }
    }

    /// The tables that were read are those of an earlier configuration of the node.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl PortRead {
    fn is_complete(&self) -> bool {
        let tables = &self.tables;
        let read = [
            tables.sl_to_vl.is_some(),
            tables.low.is_some(),
            tables.high.is_some(),
        ];
        read.iter().filter(|is_read| **is_read).count() == self.requests.len()
    }
}

impl PortTables {
    fn store(&mut self, block: Option<u8>, data: &[u8; DATA_LEN]) {
        match block {
            None => self.sl_to_vl = Some(SlToVl::decode(data).vls),
            Some(LOW) => self.low = Some(VlArb::decode(data)),
            Some(_) => self.high = Some(VlArb::decode(data)),
        }
    }

    /// Whether they distinguish SLs or VLs as only a QoS configuration does.
    fn is_of_qos(&self) -> bool {
        let weights = |block: Option<VlArb>| {
            let mut weights = [0_u32; 16];
            for entry in block.unwrap_or_default().entries {
                weights[usize::from(entry.vl.0 & 0xF)] += u32::from(entry.weight);
            }
            weights
        };
        let low = weights(self.low);
        let high = weights(self.high);
        let is_built_in = self
            .sl_to_vl
            .is_some_and(|map| is_modulo(&map, DATA_VLS_MAX))
            && is_built_in_arbitration(&low, &high);
        let has_plain_map = self.sl_to_vl.is_none_or(|map| is_plain(&map))
            || is_arbitration_of_this_sm(&low, &high);
        !(is_built_in || (has_plain_map && is_even(&low, &high)))
    }
}

/// The requests for the tables of a port that has a link.
fn requests(node: &Node, p: PortRef, live: &[PortNum]) -> Vec<SmpOp> {
    let mut requests = Vec::new();
    if !has_several_vls(node, p.port) {
        return requests;
    }
    if !node.is_switch() {
        if has_sl_to_vl(node, p.port) {
            requests.push(SmpOp::SlToVl(p, SlToVlSelector::EndPort(p.port)));
        }
    } else if has_sl_to_vl(node, PortNum::ZERO) {
        let mut others = live.iter().filter(|input| **input != p.port);
        let input = others.next().copied().unwrap_or(PortNum::ZERO);
        let port0 = PortRef::new(p.node, PortNum::ZERO);
        requests.push(SmpOp::SlToVl(port0, SlToVlSelector::Pair(input, p.port)));
    }
    if let Some(port) = node.ports.get(p.port.index()) {
        if PortInfo::vl_arbitration_low_cap.read(&port.raw) > 0 {
            requests.push(SmpOp::VlArbitration(p, LOW));
        }
        if PortInfo::vl_arbitration_high_cap.read(&port.raw) > 0 {
            requests.push(SmpOp::VlArbitration(p, HIGH));
        }
    }
    requests
}

/// Whether the map is SL n to VL n modulo a number of VLs, or all SLs to one VL.
fn is_plain(map: &[Vl; 16]) -> bool {
    (1..=DATA_VLS_MAX).any(|vls| is_modulo(map, vls)) || map.iter().all(|vl| *vl == map[0])
}

/// Whether SL n has VL n modulo `vls`. No path has SL 15, which OpenSM maps to VL 7.
fn is_modulo(map: &[Vl; 16], vls: u8) -> bool {
    let sls = 0..15_u8;
    sls.zip(map).all(|(sl, vl)| vl.0 == sl % vls)
}

/// Whether no VL has priority, or a larger share than another one.
fn is_even(low: &[u32; 16], high: &[u32; 16]) -> bool {
    let is_used = |weights: &[u32; 16]| weights.map(|weight| weight > 0);
    let none = [false; 16];
    let used_low = is_used(low);
    let used_high = is_used(high);
    has_equal_shares(low)
        && has_equal_shares(high)
        && (used_low == none || used_high == none || used_low == used_high)
}

/// Whether no VL with a weight has more than another one.
fn has_equal_shares(weights: &[u32; 16]) -> bool {
    let mut given = weights.iter().filter(|weight| **weight > 0);
    let first = given.next();
    given.all(|weight| Some(weight) == first)
}

/// Whether the shares are those that this SM writes for some number of VLs.
fn is_arbitration_of_this_sm(low: &[u32; 16], high: &[u32; 16]) -> bool {
    let vls = low.iter().take_while(|weight| **weight > 0).count();
    let (used, unused) = low.split_at(vls);
    vls > 0
        && used.iter().all(|weight| *weight == u32::from(WEIGHT))
        && unused.iter().chain(high).all(|weight| *weight == 0)
}

/// OpenSM's built-in tables: weight 4 for VL 0 at high priority, for all others at low priority.
fn is_built_in_arbitration(low: &[u32; 16], high: &[u32; 16]) -> bool {
    low[0] == 0
        && has_equal_shares(low)
        && high[0] > 0
        && high[1..].iter().all(|weight| *weight == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::VlArbEntry;

    fn block(weights: &[u8]) -> VlArb {
        let mut block = VlArb::default();
        for ((vl, weight), entry) in (0..).zip(weights).zip(block.entries.iter_mut()) {
            *entry = VlArbEntry {
                vl: Vl(vl),
                weight: *weight,
            };
        }
        block
    }

    fn is_of_qos(map: impl Fn(u8) -> u8, low: &[u8], high: &[u8]) -> bool {
        let sls: [u8; 16] = core::array::from_fn(|sl| u8::try_from(sl).unwrap());
        let tables = PortTables {
            sl_to_vl: Some(sls.map(|sl| Vl(map(sl)))),
            low: Some(block(low)),
            high: Some(block(high)),
        };
        tables.is_of_qos()
    }

    #[test]
    fn plain_tables_are_no_qos_configuration() {
        let none = [0; 8];
        // Power-up, and all numbers of VLs of this SM.
        for vls in 1..=15 {
            assert!(!is_of_qos(|sl| sl % vls, &[4; 8], &none));
        }
        assert!(!is_of_qos(|_| 3, &[64], &none));
        assert!(!is_of_qos(|_| 0, &none, &none));
        assert!(!is_of_qos(|sl| sl % 8, &[64; 8], &[64; 8]));
        // ibsim.
        let identity = |sl| if sl == 15 { 7 } else { sl };
        let high = [4, 0, 0, 0, 0, 0, 0, 0];
        let low = [0, 4, 4, 4, 4, 4, 4, 4];
        assert!(!is_of_qos(identity, &low, &high));
        // The engine torus-2QoS on four VLs.
        assert!(!is_of_qos(|sl| (sl & 1) + 2 * (sl >> 3), &[64; 4], &none));
    }

    #[test]
    fn maps_and_shares_of_a_site_are_qos() {
        let high = [4, 0, 0, 0, 0, 0, 0, 0];
        let low = [0, 4, 4, 4, 4, 4, 4, 4];
        // OpenSM's built-in tables on links with eight VLs.
        assert!(is_of_qos(|sl| sl % 8, &low, &high));
        assert!(is_of_qos(|sl| sl % 2, &[32, 64], &[0; 2]));
        assert!(is_of_qos(|sl| sl / 2, &[4; 8], &[0; 8]));
        assert!(is_of_qos(|sl| sl / 2, &[64, 64, 0, 64], &[0; 4]));
        assert!(is_of_qos(|sl| if sl == 5 { 15 } else { 0 }, &[4], &[0]));
    }
}
