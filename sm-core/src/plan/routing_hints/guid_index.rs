//! Where GUIDs are in one fabric: filled anew for each run, by whoever builds its graph.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_routing::SwitchIdx;

/// Where GUIDs are in one fabric.
#[derive(Debug, Clone, Default)]
pub struct GuidIndex {
    switches: BTreeMap<u64, (SwitchIdx, u8)>,
    num_ports: Vec<u8>,
    ends: BTreeMap<u64, End>,
    /// Node GUIDs of CAs and routers: a switch that they hang on.
    nodes: BTreeMap<u64, SwitchIdx>,
    /// Owner of each LID.
    by_lid: BTreeMap<u16, (u64, u16)>,
}

/// An end port.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// Base LID; 0 is none.
    pub lid: Lid,
    /// LIDs from there.
    pub count: u16,
    /// Where it hangs.
    pub switch: SwitchIdx,
}

impl GuidIndex {
    /// No fabric at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Enters a switch of the graph, with the GUIDs of node and port 0 and its LIDs.
    pub fn switch(
        &mut self,
        at: SwitchIdx,
        num_ports: u8,
        node: NodeGuid,
        port0: PortGuid,
        lid: (Lid, Lmc),
    ) {
        // Node GUIDs go first: a port GUID may be another switch's node GUID only by mistake.
        self.switches.insert(node.0, (at, num_ports));
        self.switches.entry(port0.0).or_insert((at, num_ports));
        if self.num_ports.len() <= at.index() {
            self.num_ports.resize(at.index() + 1, 0);
        }
        self.num_ports[at.index()] = num_ports;
        self.end(at, port0, lid);
        self.ends.entry(node.0).or_insert_with(|| End {
            lid: lid.0,
            count: lids(lid.1),
            switch: at,
        });
    }

    /// Enters a port of a CA or router that hangs on a switch.
    pub fn end_port(&mut self, on: SwitchIdx, node: NodeGuid, port: PortGuid, lid: (Lid, Lmc)) {
        self.nodes.entry(node.0).or_insert(on);
        self.end(on, port, lid);
    }

    fn end(&mut self, on: SwitchIdx, port: PortGuid, (lid, lmc): (Lid, Lmc)) {
        let count = lids(lmc);
        self.ends.insert(
            port.0,
            End {
                lid,
                count,
                switch: on,
            },
        );
        if lid.is_unicast() {
            self.by_lid.insert(lid.raw(), (port.0, count));
        }
    }

    pub(super) fn find_switch(&self, guid: u64) -> Option<(SwitchIdx, u8)> {
        self.switches.get(&guid).copied()
    }

    /// The end port with this GUID (of a switch its node GUID does as well).
    pub(super) fn find_end(&self, guid: u64) -> Option<End> {
        self.ends.get(&guid).copied()
    }

    /// Whether a CA or router has this node GUID.
    pub(super) fn is_node(&self, guid: u64) -> bool {
        self.nodes.contains_key(&guid)
    }

    /// External ports of each switch, by its place in the graph.
    pub(super) fn num_ports(&self) -> &[u8] {
        &self.num_ports
    }

    /// The switch that a CA or router hangs on, by its node GUID or a port GUID.
    pub(super) fn beside(&self, guid: u64) -> Option<SwitchIdx> {
        let end = || self.ends.get(&guid).map(|e| e.switch);
        self.nodes.get(&guid).copied().or_else(end)
    }

    /// The base LID of an end port that has one.
    pub(super) fn lid(&self, guid: PortGuid) -> Option<Lid> {
        let lid = self.ends.get(&guid.0)?.lid;
        lid.is_unicast().then_some(lid)
    }

    /// The GUID of the port that has a LID now.
    pub(super) fn owner(&self, lid: u16) -> Option<u64> {
        let (base, (guid, count)) = self.by_lid.range(..=lid).next_back()?;
        (lid - base < *count).then_some(*guid)
    }

    pub(super) fn top_lid(&self) -> u16 {
        let last = self.by_lid.iter().next_back();
        last.map_or(0, |(lid, (_, count))| lid.saturating_add(count - 1))
    }
}

fn lids(lmc: Lmc) -> u16 {
    1 << lmc.0.min(7)
}
