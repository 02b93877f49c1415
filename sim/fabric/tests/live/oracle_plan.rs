//! A minimal SM for the tests of the oracles: it computes the values of all devices and writes them
//! by SMPs.
//!
//! It shares no code with ferrosm's SM or the oracle. Its [`Plan`] has public fields: a faulty SM
//! is a plan with one change.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::attr::{
    LftBlock, MftBlock, MtuCode, PKeyBlock, PortState, SlToVl, SmState, VlArb, VlArbEntry, id,
};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, MKey, PKey, PortNum, Sl, Vl};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::DrPath;
use ferrosm_sim::generate::from_spec;
use ferrosm_sim::oracle::{Expectations, ExpectedGroup, PKeyEnforcement};
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};

use super::oracle_routes::{self, Routes};
use super::rig::Rig;

/// Partition of every other host.
pub(crate) const PARTITION: PKey = PKey(0x8001);
/// Multicast group of every other host.
pub(crate) const MLID: Lid = Lid(0xC003);
/// SL of multicast, and its exclusive VL.
pub(crate) const GROUP_SL: Sl = Sl(4);
pub(crate) const GROUP_VL: u8 = 2;
/// VL0 to VL3.
const FOUR_VLS: u8 = 3;

/// Planned values of a port.
#[derive(Debug, Clone)]
pub(crate) struct PortPlan {
    pub(crate) lid: Lid,
    pub(crate) lmc: Lmc,
    pub(crate) master_sm_lid: Lid,
    pub(crate) master_sm_sl: Sl,
    pub(crate) m_key: u64,
    pub(crate) m_key_protect_bits: u8,
    pub(crate) m_key_lease_period: u16,
    pub(crate) gid_prefix: GidPrefix,
    pub(crate) subnet_timeout: u8,
    pub(crate) reregister: bool,
    pub(crate) mtu: MtuCode,
    pub(crate) operational_vls: u8,
    pub(crate) hoq_life: u8,
    pub(crate) vl_stall_count: u8,
    pub(crate) enforce_inbound: bool,
    pub(crate) enforce_outbound: bool,
    /// Final state: Initialize, Armed or Active.
    pub(crate) state: PortState,
    /// By index.
    pub(crate) pkeys: Vec<PKey>,
    /// By input port; 0 on a CA.
    pub(crate) sl_to_vl: BTreeMap<u8, [u8; 16]>,
    /// VL and weight.
    pub(crate) vl_arb_low: Vec<(u8, u8)>,
}

/// Planned values of a switch.
#[derive(Debug, Clone)]
pub(crate) struct SwitchPlan {
    pub(crate) lft: Vec<u8>,
    pub(crate) linear_fdb_top: u16,
    pub(crate) mft: BTreeMap<Lid, BTreeSet<u8>>,
    pub(crate) multicast_fdb_top: u16,
    pub(crate) life_time_value: u8,
    pub(crate) clears_state_change: bool,
}

/// Planned values of all devices.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) spec: FabricSpec,
    pub(crate) sm: PortAt,
    pub(crate) is_sm: BTreeSet<PortAt>,
    pub(crate) sms: Vec<(PortAt, SmState)>,
    /// Both ports of all links, and port 0 of switches.
    pub(crate) ports: BTreeMap<PortAt, PortPlan>,
    pub(crate) switches: BTreeMap<NodeIdx, SwitchPlan>,
    pub(crate) peers: BTreeMap<PortAt, PortAt>,
    pub(crate) group: ExpectedGroup,
    pub(crate) routes: Routes,
}

impl Plan {
    /// The correct plan for a fabric.
    pub(crate) fn new(text: &str) -> Self {
        let spec = from_spec(text).unwrap();
        let mut peers = BTreeMap::new();
        for link in &spec.links {
            peers.extend([(link.a, link.b), (link.b, link.a)]);
        }
        let kind = |node: NodeIdx| spec.nodes[node].kind;
        let is_switch = |node: NodeIdx| kind(node) == ferrosm_mad::attr::NodeType::Switch;
        let switches: Vec<NodeIdx> = (0..spec.nodes.len()).filter(|n| is_switch(*n)).collect();
        let port0s = switches.iter().map(|n| PortAt::new(*n, 0));
        let all: BTreeSet<PortAt> = peers.keys().copied().chain(port0s).collect();
        let end_ports: Vec<PortAt> = all
            .iter()
            .copied()
            .filter(|at| at.port == 0 || !is_switch(at.node))
            .collect();
        // Hosts have two LIDs, switches one.
        let mut lids = BTreeMap::new();
        let mut next = 2u16;
        for at in &end_ports {
            next = next.next_multiple_of(2);
            lids.insert(*at, next);
            next += if is_switch(at.node) { 1 } else { 2 };
        }
        let routes = Routes::new(text, &spec, &peers, &lids);
        let hosts: Vec<PortAt> = end_ports.iter().copied().filter(|a| a.port != 0).collect();
        let members: BTreeSet<PortAt> = hosts.iter().copied().step_by(2).collect();
        let sm = hosts[0];
        let keys_of = |at: &PortAt| {
            if members.contains(at) {
                vec![PKey::DEFAULT_FULL, PARTITION]
            } else {
                vec![PKey::DEFAULT_FULL]
            }
        };
        let mut ports = BTreeMap::new();
        for at in &all {
            let peer = peers.get(at).copied();
            let to_end = peer.is_some_and(|p| !is_switch(p.node));
            let enforces = is_switch(at.node) && to_end;
            let port0 = PortAt::new(at.node, 0);
            let end = if is_switch(at.node) { port0 } else { *at };
            let inputs = if is_switch(at.node) && at.port != 0 {
                0..=spec.nodes[at.node].num_ports
            } else {
                0..=0
            };
            let key_owner = if enforces { peer.unwrap() } else { *at };
            let plan = PortPlan {
                lid: Lid(lids[&end]),
                lmc: Lmc(u8::from(!is_switch(at.node))),
                master_sm_lid: Lid(lids[&sm]),
                master_sm_sl: Sl(0),
                m_key: 0x1234,
                m_key_protect_bits: 1,
                m_key_lease_period: 60,
                gid_prefix: GidPrefix(0xFEC0_0000_0000_0007),
                subnet_timeout: 17,
                reregister: true,
                mtu: MtuCode::Mtu2048,
                operational_vls: FOUR_VLS,
                hoq_life: if to_end { 16 } else { 18 },
                vl_stall_count: 7,
                enforce_inbound: enforces,
                enforce_outbound: enforces,
                state: PortState::Active,
                pkeys: keys_of(&key_owner),
                sl_to_vl: inputs
                    .map(|input| (input, routes.vls(*at, input)))
                    .collect(),
                vl_arb_low: (0..4).map(|vl| (vl, 8)).collect(),
            };
            ports.insert(*at, plan);
        }
        let tree = oracle_routes::tree(&switches, &peers, &members);
        let switches = switches.iter().map(|node| {
            let ports = tree.get(node).cloned().unwrap_or_default();
            let plan = SwitchPlan {
                lft: routes.lft(*node),
                linear_fdb_top: next - 1,
                mft: BTreeMap::from([(MLID, ports)]),
                multicast_fdb_top: MLID.raw(),
                life_time_value: 17,
                clears_state_change: true,
            };
            (*node, plan)
        });
        let mut group = ExpectedGroup::new(MLID, members.iter().copied());
        group.sl = GROUP_SL;
        Self {
            switches: switches.collect(),
            spec,
            sm,
            is_sm: BTreeSet::from([sm]),
            sms: vec![(sm, SmState::Master)],
            ports,
            peers,
            group,
            routes,
        }
    }

    /// Expectations of an oracle that knows the configuration.
    pub(crate) fn expect(&self) -> Expectations {
        let mut expect = Expectations::new(self.sm).groups(vec![self.group.clone()]);
        if let Some(sl) = self.routes.sl_per_path() {
            expect = expect.sl_per_path(sl);
        }
        expect.sms = Some(self.sms.clone());
        expect.max_mtu = MtuCode::Mtu2048;
        expect.max_operational_vls = FOUR_VLS;
        for member in &self.group.members {
            let keys = vec![PKey::DEFAULT_FULL, PARTITION];
            let configured = expect.partitions.keys.get_or_insert_default();
            configured.insert(*member, keys);
        }
        expect.partitions.enforcement = PKeyEnforcement::Both;
        let settings = &mut expect.settings;
        settings.m_key = Some(MKey::new(0x1234));
        settings.m_key_protect_bits = Some(1);
        settings.m_key_lease_period_s = Some(60);
        settings.gid_prefix = Some(GidPrefix(0xFEC0_0000_0000_0007));
        settings.subnet_timeout = Some(17);
        settings.lmc = Some(Lmc(1));
        settings.master_sm_sl = Some(Sl(0));
        settings.hoq_life = Some((16, 18));
        settings.vl_stall_count = Some((7, 7));
        settings.packet_life_time = Some(17);
        settings.min_client_reregisters = 1;
        expect
    }

    pub(crate) fn is_switch(&self, node: NodeIdx) -> bool {
        self.switches.contains_key(&node)
    }

    pub(crate) fn port(&mut self, at: PortAt) -> &mut PortPlan {
        self.ports.get_mut(&at).unwrap()
    }

    pub(crate) fn switch(&mut self, node: NodeIdx) -> &mut SwitchPlan {
        self.switches.get_mut(&node).unwrap()
    }

    /// The port of a host.
    pub(crate) fn host(&self, index: usize) -> PortAt {
        let mut hosts = self.ports.keys().filter(|at| !self.is_switch(at.node));
        *hosts.nth(index).unwrap()
    }

    /// The switch port that a host is attached to.
    pub(crate) fn leaf_port(&self, index: usize) -> PortAt {
        self.peers[&self.host(index)]
    }

    /// A port of a link between switches.
    pub(crate) fn trunk(&self) -> PortAt {
        let mut links = self.peers.iter();
        let between = links.find(|(a, b)| self.is_switch(a.node) && self.is_switch(b.node));
        *between.unwrap().0
    }

    /// A new fabric, configured by the plan.
    pub(crate) fn apply(&self) -> Rig {
        let mut rig = Rig::new(&self.spec);
        rig.m_key = MKey::new(0x1234);
        for at in &self.is_sm {
            rig.fabric.set_is_sm(*at, true).unwrap();
        }
        let has_no_sm = |at: &PortAt| !self.is_sm.contains(at);
        if has_no_sm(&self.sm) {
            rig.fabric.set_is_sm(self.sm, false).unwrap();
        }
        let paths = self.paths();
        for (at, plan) in &self.ports {
            self.write_port(&mut rig, &paths[&at.node], *at, plan);
        }
        for (node, plan) in &self.switches {
            let positions = self.spec.nodes[*node].num_ports / 16 + 1;
            write_switch(&mut rig, &paths[node], plan, positions);
        }
        let has_state = |at: &PortAt| at.port != 0;
        for state in [PortState::Armed, PortState::Active] {
            for (at, plan) in self.ports.iter().filter(|(at, _)| has_state(at)) {
                if plan.state >= state {
                    let number = if self.is_switch(at.node) { at.port } else { 0 };
                    let status = rig.set_state(&paths[&at.node], number, state);
                    assert_eq!(status, Some(Status::OK), "{at:?} to {state}");
                }
            }
        }
        for (node, plan) in &self.switches {
            if plan.clears_state_change {
                let mut info = rig.switch_info(&paths[node]);
                info.port_state_change = true;
                let status = rig.set(&paths[node], id::SWITCH_INFO, 0, info.encode());
                assert_eq!(status, Some(Status::OK));
            }
        }
        // M_Keys are written last, because requests with another M_Key fail afterwards.
        for (at, plan) in &self.ports {
            if at.port == 0 || !self.is_switch(at.node) {
                let status = rig.change_port(&paths[&at.node], 0, |info| {
                    info.m_key = MKey::new(plan.m_key);
                    info.m_key_protect_bits = plan.m_key_protect_bits;
                    info.m_key_lease_period = plan.m_key_lease_period;
                    info.client_reregister = false;
                });
                assert_eq!(status, Some(Status::OK), "{at:?}");
            }
        }
        rig
    }

    fn write_port(&self, rig: &mut Rig, path: &DrPath, at: PortAt, plan: &PortPlan) {
        let is_switch = self.is_switch(at.node);
        let number = if is_switch { at.port } else { 0 };
        let status = rig.change_port(path, number, |info| {
            if at.port == 0 || !is_switch {
                info.lid = plan.lid;
                info.lmc = plan.lmc;
                info.master_sm_lid = plan.master_sm_lid;
                info.master_sm_sl = plan.master_sm_sl;
                info.gid_prefix = plan.gid_prefix;
                info.subnet_timeout = plan.subnet_timeout;
                info.client_reregister = plan.reregister;
            }
            if at.port != 0 {
                info.neighbor_mtu = plan.mtu;
                info.operational_vls = plan.operational_vls;
                info.hoq_life = plan.hoq_life;
                info.vl_stall_count = plan.vl_stall_count;
                info.partition_enforcement_inbound = plan.enforce_inbound;
                info.partition_enforcement_outbound = plan.enforce_outbound;
            }
        });
        assert_eq!(status, Some(Status::OK), "{at:?}");
        let mut keys = PKeyBlock {
            keys: [PKey(0); 32],
        };
        keys.keys[..plan.pkeys.len()].copy_from_slice(&plan.pkeys);
        let modifier = PKeyBlock::modifier(0, PortNum(number));
        let status = rig.set(path, id::PKEY_TABLE, modifier.0, keys.encode());
        assert_eq!(status, Some(Status::OK), "{at:?}");
        if at.port == 0 {
            return;
        }
        for (input, vls) in &plan.sl_to_vl {
            let table = SlToVl { vls: vls.map(Vl) };
            let modifier = SlToVl::modifier(PortNum(*input), PortNum(number));
            let status = rig.set(path, id::SL_TO_VL, modifier.0, table.encode());
            assert_eq!(status, Some(Status::OK), "{at:?}");
        }
        let mut low = VlArb::default();
        for (entry, (vl, weight)) in low.entries.iter_mut().zip(&plan.vl_arb_low) {
            (entry.vl, entry.weight) = (Vl(*vl), *weight);
        }
        let high = VlArb {
            entries: [VlArbEntry::default(); 32],
        };
        for (block, table) in [(1, low), (3, high)] {
            let modifier = VlArb::modifier(block, PortNum(number));
            let status = rig.set(path, id::VL_ARBITRATION, modifier.0, table.encode());
            assert_eq!(status, Some(Status::OK), "{at:?}");
        }
    }

    /// DR path to each node from the SM's port.
    fn paths(&self) -> BTreeMap<NodeIdx, DrPath> {
        let mut paths = BTreeMap::from([(self.sm.node, DrPath::LOCAL)]);
        let mut queue = VecDeque::from([self.sm.node]);
        while let Some(node) = queue.pop_front() {
            let links = self
                .peers
                .range(PortAt::new(node, 0)..=PortAt::new(node, 254));
            for (local, remote) in links {
                let passes = self.is_switch(node) || node == self.sm.node;
                if passes && !paths.contains_key(&remote.node) {
                    let path = paths[&node].extend(PortNum(local.port)).unwrap();
                    paths.insert(remote.node, path);
                    queue.push_back(remote.node);
                }
            }
        }
        paths
    }
}

fn write_switch(rig: &mut Rig, path: &DrPath, plan: &SwitchPlan, positions: u8) {
    for (block, ports) in (0u32..).zip(plan.lft.chunks(64)) {
        let mut table = LftBlock {
            ports: [PortNum::DROP; 64],
        };
        for (cell, port) in table.ports.iter_mut().zip(ports) {
            *cell = PortNum(*port);
        }
        let status = rig.set(path, id::LFT, block, table.encode());
        assert_eq!(status, Some(Status::OK));
    }
    for position in 0..positions {
        let mut table = MftBlock { masks: [0; 32] };
        for (mlid, ports) in &plan.mft {
            let in_position = ports.iter().filter(|p| **p / 16 == position);
            for port in in_position {
                table.masks[usize::from(mlid.raw() - 0xC000)] |= 1 << (port % 16);
            }
        }
        let modifier = MftBlock::modifier(0, position);
        let status = rig.set(path, id::MFT, modifier.0, table.encode());
        assert_eq!(status, Some(Status::OK));
    }
    let mut info = rig.switch_info(path);
    info.linear_fdb_top = plan.linear_fdb_top;
    info.multicast_fdb_top = plan.multicast_fdb_top;
    info.life_time_value = plan.life_time_value;
    info.port_state_change = false;
    let status = rig.set(path, id::SWITCH_INFO, 0, info.encode());
    assert_eq!(status, Some(Status::OK));
}
