//! A fabric with an open port, and helpers for requests.

use ferrosm_mad::attr::{
    LftBlock, LinkSpeed, LinkWidth, NodeType, PhysState, PortInfo, PortState, SwitchInfo, id,
};
use ferrosm_mad::ids::{
    AttrId, AttrMod, Lid, MKey, NodeGuid, PortGuid, PortNum, SystemImageGuid, Tid,
};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadIn, MadOut, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::{Delivery, Fabric, MadOutcome};
use ferrosm_sim::spec::{FabricSpec, LinkSpec, NodeOptions, NodeSpec, PortAt};

pub(crate) fn node(kind: NodeType, index: u64, num_ports: u8) -> NodeSpec {
    let guid = 0x1000 * (index + 1);
    let end_ports = if kind == NodeType::Switch {
        0..=0
    } else {
        1..=u64::from(num_ports)
    };
    NodeSpec {
        kind,
        description: format!("node {index}"),
        node_guid: NodeGuid(guid),
        system_image_guid: SystemImageGuid(guid),
        num_ports,
        port_guids: end_ports.map(|p| PortGuid(guid + p)).collect(),
        lids: Vec::new(),
        enhanced_port0: false,
        vendor_id: 0x02C9,
        device_id: 0xCB20,
        options: NodeOptions::default(),
    }
}

pub(crate) fn cable(a: (usize, u8), b: (usize, u8)) -> LinkSpec {
    LinkSpec {
        a: PortAt::new(a.0, a.1),
        b: PortAt::new(b.0, b.1),
        width: LinkWidth(4),
        speed: LinkSpeed::Hdr,
    }
}

/// CA 0, switches 1 to `n` in a row (port 1 to the left, port 2 to the right), CA `n` + 1.
pub(crate) fn chain(n: usize) -> FabricSpec {
    let mut spec = FabricSpec::default();
    for index in 0..n + 2 {
        let is_end = index == 0 || index == n + 1;
        let (kind, ports) = if is_end {
            (NodeType::Ca, 2)
        } else {
            (NodeType::Switch, 4)
        };
        spec.nodes.push(node(kind, index as u64, ports));
    }
    for index in 0..=n {
        let out = if index == 0 { 1 } else { 2 };
        spec.links.push(cable((index, out), (index + 1, 1)));
    }
    spec
}

/// DR path from CA 0 of a [`chain`] to a node.
pub(crate) fn path_to(node: usize) -> DrPath {
    (0..node).fold(DrPath::LOCAL, |path, hop| {
        path.extend(PortNum(if hop == 0 { 1 } else { 2 })).unwrap()
    })
}

pub(crate) struct Rig {
    pub(crate) fabric: Fabric,
    pub(crate) at: PortAt,
    pub(crate) now: Instant,
    pub(crate) m_key: MKey,
    tid: u64,
}

impl Rig {
    pub(crate) fn new(spec: &FabricSpec) -> Self {
        let mut fabric = Fabric::new(spec).unwrap();
        let at = fabric.default_port();
        fabric.attach(at).unwrap();
        Self {
            fabric,
            at,
            now: Instant::START,
            m_key: MKey::NONE,
            tid: 0,
        }
    }

    pub(crate) fn send(&mut self, mad: &MadOut) -> (MadOutcome, Vec<Delivery>) {
        let mut out = Vec::new();
        let outcome = self.fabric.handle(self.at, mad, self.now, &mut out);
        (outcome, out)
    }

    pub(crate) fn advance(&mut self) -> Vec<MadIn> {
        let mut out = Vec::new();
        self.fabric.advance(self.now, &mut out);
        out.into_iter().map(|d| d.mad).collect()
    }

    /// The reply to a request, if any.
    pub(crate) fn request(&mut self, path: &DrPath, request: &SmpRequest) -> Option<MadIn> {
        self.tid += 1;
        let mad = request.directed(path, Tid(self.tid));
        let (_, out) = self.send(&MadOut {
            to: Address::DIRECTED,
            mad,
        });
        out.first().map(|d| d.mad)
    }

    pub(crate) fn get(&mut self, path: &DrPath, attr: AttrId, modifier: u32) -> Option<MadIn> {
        self.request(path, &SmpRequest::get(attr, AttrMod(modifier), self.m_key))
    }

    pub(crate) fn set(
        &mut self,
        path: &DrPath,
        attr: AttrId,
        modifier: u32,
        data: [u8; 64],
    ) -> Option<Status> {
        let request = SmpRequest::set(attr, AttrMod(modifier), self.m_key, data);
        self.request(path, &request).map(|m| m.mad.status())
    }

    pub(crate) fn port_info(&mut self, path: &DrPath, port: u8) -> PortInfo {
        let reply = self
            .get(path, id::PORT_INFO, PortInfo::modifier(PortNum(port)).0)
            .unwrap();
        assert_eq!(reply.mad.status(), Status::OK);
        PortInfo::decode(smp::data(&reply.mad))
    }

    /// Reads PortInfo, changes it and writes it back; port states change only if `change` sets
    /// them.
    pub(crate) fn change_port(
        &mut self,
        path: &DrPath,
        port: u8,
        change: impl FnOnce(&mut PortInfo),
    ) -> Option<Status> {
        let mut info = self.port_info(path, port);
        info.port_state = PortState::NoChange;
        info.port_physical_state = PhysState::NoChange;
        info.link_down_default_state = 0;
        change(&mut info);
        self.set(
            path,
            id::PORT_INFO,
            PortInfo::modifier(PortNum(port)).0,
            info.encode(),
        )
    }

    pub(crate) fn set_state(
        &mut self,
        path: &DrPath,
        port: u8,
        state: PortState,
    ) -> Option<Status> {
        self.change_port(path, port, |info| info.port_state = state)
    }

    /// Configures a [`chain`] as an SM does: node i has LID i + 1, LFTs lead along the row, all
    /// links are Active.
    pub(crate) fn configure_chain(&mut self) {
        let nodes = self.fabric.num_nodes();
        let last = nodes - 1;
        for node in 0..nodes {
            let path = path_to(node);
            let end_port = if self.fabric.is_switch(node) { 0 } else { 1 };
            let lid = Lid(u16::try_from(node + 1).unwrap());
            let status = self.change_port(&path, end_port, |info| {
                info.lid = lid;
                info.master_sm_lid = Lid(1);
            });
            assert_eq!(status, Some(Status::OK));
            if end_port == 0 {
                let mut block = LftBlock {
                    ports: [PortNum::DROP; 64],
                };
                for (index, port) in block.ports.iter_mut().enumerate().take(nodes + 1).skip(1) {
                    *port = match (index - 1).cmp(&node) {
                        std::cmp::Ordering::Less => PortNum(1),
                        std::cmp::Ordering::Equal => PortNum(0),
                        std::cmp::Ordering::Greater => PortNum(2),
                    };
                }
                assert_eq!(
                    self.set(&path, id::LFT, 0, block.encode()),
                    Some(Status::OK)
                );
                let mut info = self.switch_info(&path);
                info.linear_fdb_top = u16::try_from(nodes).unwrap();
                info.port_state_change = true;
                assert_eq!(
                    self.set(&path, id::SWITCH_INFO, 0, info.encode()),
                    Some(Status::OK)
                );
            }
        }
        for state in [PortState::Armed, PortState::Active] {
            for node in 0..nodes {
                let ports = if node == 0 || node == last {
                    1..=1
                } else {
                    1..=2
                };
                for port in ports {
                    assert_eq!(
                        self.set_state(&path_to(node), port, state),
                        Some(Status::OK)
                    );
                }
            }
        }
    }

    pub(crate) fn switch_info(&mut self, path: &DrPath) -> SwitchInfo {
        let reply = self.get(path, id::SWITCH_INFO, 0).unwrap();
        SwitchInfo::decode(smp::data(&reply.mad))
    }

    /// The reply to a LID-routed Get(NodeInfo).
    pub(crate) fn by_lid(&mut self, lid: Lid) -> (MadOutcome, Option<MadIn>) {
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), self.m_key);
        let (outcome, out) = self.send(&MadOut {
            to: Address::smp(lid),
            mad: request.lid_routed(Tid(77)),
        });
        (outcome, out.first().map(|d| d.mad))
    }

    pub(crate) fn repress(&mut self, trap: &MadIn) -> MadOutcome {
        let request = SmpRequest {
            method: Method::TrapRepress,
            attr_id: id::NOTICE,
            attr_mod: AttrMod(0),
            m_key: self.m_key,
            data: *smp::data(&trap.mad),
        };
        let mad = MadOut {
            to: trap.from,
            mad: request.lid_routed(trap.mad.tid()),
        };
        self.send(&mad).0
    }
}

/// An SA query, to which only programs reply.
pub(crate) fn sa_query() -> Mad {
    Mad::new(&MadHeader {
        base_version: 1,
        mgmt_class: MgmtClass::SubnAdm,
        class_version: 2,
        method: Method::Get,
        status: 0,
        class_specific: 0,
        tid: Tid(5),
        attr_id: id::NODE_INFO,
        attr_mod: AttrMod(0),
    })
}
