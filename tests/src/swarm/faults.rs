//! What seeds of the second kind add: faults of cables and attributes, slow receivers, random data, flaps, worse cables,
//! duplicate GUIDs, subnet managers of others, and restarts of our own.
//!
//! It draws from numbers of its own, so that the first kind's scenario of a seed stays what it is. Left out is what no
//! manager can notice: a table entry or a LID that changes by itself without a report.

use std::time::Duration;

use crate::simulated::{Dice, Lab, Sm};
use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState, id};
use ferrosm_mad::ids::{AttrId, NodeGuid, PortGuid};
use ferrosm_sa::view::persist::ViewSnapshot;
use ferrosm_sim::fabric::PortCounter;
use ferrosm_sim::faults::{
    AgentFault, FabricAction, FaultScope, Garbage, LinkDirection, TransportFault,
};
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::{ForeignSm, SmId, SmProcessAction};

use crate::swarm::invariants::Watch;
use crate::swarm::seed_plan::seconds;

/// Attributes that a net may lose more often than others.
const ATTRS: [AttrId; 6] = [
    id::NODE_INFO,
    id::PORT_INFO,
    id::SWITCH_INFO,
    id::LFT,
    id::SL_TO_VL,
    id::NOTICE,
];

pub(crate) struct Wild {
    d: Dice,
    cfg: SmConfig,
    foreign: Vec<SmId>,
    /// GUIDs of nodes that have another one's.
    guids: Vec<Guids>,
}

/// The GUIDs that a node had.
struct Guids {
    node: NodeIdx,
    guid: NodeGuid,
    ports: Vec<(PortAt, PortGuid)>,
}

impl Wild {
    pub(crate) const fn new(seed: u64, cfg: SmConfig) -> Self {
        Self {
            d: Dice::new(seed ^ 0x57_11D0_0000),
            cfg,
            foreign: Vec::new(),
            guids: Vec::new(),
        }
    }

    /// Itself, half of the times: the other half is the first kind's.
    pub(crate) fn wanting(&mut self) -> Option<&mut Self> {
        self.d.one_in(2).then_some(self)
    }

    fn node(&mut self, lab: &Lab) -> NodeIdx {
        self.d.index(lab.world.fabric().num_nodes())
    }

    fn cable(&mut self, lab: &Lab) -> LinkDirection {
        let link = lab.spec.links[self.d.index(lab.spec.links.len())];
        let at = if self.d.one_in(2) { link.a } else { link.b };
        match self.d.below(3) {
            0 => LinkDirection::Both(at),
            1 => LinkDirection::Into(at),
            _ => LinkDirection::OutOf(at),
        }
    }

    fn place(&mut self, lab: &Lab) -> FaultScope {
        match self.d.below(4) {
            0 => FaultScope::Fabric,
            1 => FaultScope::Node(self.node(lab)),
            _ => FaultScope::Link(self.cable(lab)),
        }
    }

    /// A fault that lasts until peace.
    fn fault(&mut self, lab: &Lab) -> FabricAction {
        let place = self.place(lab);
        let d = &mut self.d;
        match d.below(9) {
            0 => FabricAction::Wire(place, TransportFault::Loss(d.unit() * d.unit() * 0.5)),
            1 => FabricAction::Wire(place, TransportFault::Duplicate(d.unit() * 0.5)),
            2 => FabricAction::Wire(place, TransportFault::Jitter(seconds(d.unit() * 0.2))),
            3 => FabricAction::Wire(
                place,
                TransportFault::Latency(seconds(d.unit() * d.unit() * 0.05)),
            ),
            4 => {
                let attr = ATTRS[d.index(ATTRS.len())];
                FabricAction::AttrLoss(place, attr, d.unit())
            }
            5 => {
                let time = seconds(d.unit() * d.unit() * 0.02);
                FabricAction::Drain(self.cable(lab), time)
            }
            6 => {
                let most = u32::try_from(1 + d.below(20)).unwrap();
                FabricAction::Agent(None, AgentFault::Backlog(most))
            }
            7 => {
                let chance = d.unit() * d.unit();
                let node = self.node(lab);
                FabricAction::Agent(Some(node), AgentFault::Garbage(Some(Garbage::Data), chance))
            }
            _ => {
                let chance = d.unit();
                let node = self.node(lab);
                FabricAction::Agent(Some(node), AgentFault::Garbage(Some(Garbage::Any), chance))
            }
        }
    }

    /// Faults from the beginning.
    pub(crate) fn begin(&mut self, lab: &mut Lab) -> Vec<String> {
        let count = self.d.upto(3);
        let faults: Vec<FabricAction> = (0..count).map(|_| self.fault(lab)).collect();
        faults.into_iter().map(|f| act(lab, f)).collect()
    }

    /// Draws what happens at a moment and does it; says what it was.
    pub(crate) fn happen(&mut self, lab: &mut Lab, watch: &mut Watch) -> String {
        let cable = self.cable(lab).port();
        match self.d.below(12) {
            0 => {
                let flap = FabricAction::Flap {
                    at: cable,
                    period: seconds(self.d.unit()),
                    times: u32::try_from(1 + self.d.below(6)).unwrap(),
                };
                act(lab, flap)
            }
            1 => {
                let speed = LinkSpeed::ALL[self.d.index(4)];
                let width = LinkWidth([1, 4][self.d.index(2)]);
                act(lab, FabricAction::Degrade(cable, speed, width))
            }
            2 => {
                let other = self.cable(lab).port();
                act(lab, FabricAction::SwapCables(cable, other))
            }
            3 => self.take_a_guid(lab),
            4 | 5 => self.invite(lab),
            6 => self.dismiss(lab),
            7 => self.restart(lab, watch),
            8 => {
                let n = 1 + self.d.below(1000);
                act(
                    lab,
                    FabricAction::Count {
                        at: cable,
                        counter: PortCounter::SymbolErrors,
                        n,
                    },
                )
            }
            9 => {
                let place = self.place(lab);
                act(lab, FabricAction::Heal(place))
            }
            _ => {
                let fault = self.fault(lab);
                act(lab, fault)
            }
        }
    }

    /// A node comes back with the GUIDs of another one of its kind.
    fn take_a_guid(&mut self, lab: &mut Lab) -> String {
        let (node, other) = (self.node(lab), self.node(lab));
        let fabric = lab.world.fabric_mut();
        let alike = fabric.kind(node) == fabric.kind(other)
            && fabric.num_ports(node) == fabric.num_ports(other);
        if node == other || !alike || [node, other].contains(&lab.at.node) {
            return "nothing".to_owned();
        }
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| p.node == node).collect();
        self.guids.push(Guids {
            node,
            guid: fabric.node_guid(node),
            ports: ports.iter().map(|p| (*p, fabric.port_guid(*p))).collect(),
        });
        fabric.power_off(node);
        fabric.set_node_guid(node, fabric.node_guid(other));
        for port in ports {
            let guid = fabric.port_guid(PortAt::new(other, port.port));
            fabric.set_port_guid(port, guid).unwrap();
        }
        fabric.power_on(node);
        format!("{node} takes the GUIDs of {other}")
    }

    /// An SM of somebody else appears.
    fn invite(&mut self, lab: &mut Lab) -> String {
        let fabric = lab.world.fabric();
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| *p != lab.at).collect();
        let Some(&at) = ports.get(self.d.index(ports.len())) else {
            return "nothing".to_owned();
        };
        let d = &mut self.d;
        let states = [
            SmState::Standby,
            SmState::Master,
            SmState::Discovering,
            SmState::NotActive,
        ];
        let guid = if d.one_in(3) {
            PortGuid(d.next())
        } else {
            fabric.port_guid(at)
        };
        let priority = u8::try_from(d.below(16)).unwrap();
        let mut sm = ForeignSm::new(guid, priority, states[d.index(4)]);
        sm.obeys = d.one_in(2);
        let text = format!("an SM at {at:?}: {:?}, obeys {}", sm.info, sm.obeys);
        match lab.world.add_foreign_sm(at, sm) {
            Ok(id) => self.foreign.push(id),
            Err(_) => return "nothing".to_owned(),
        }
        text
    }

    /// One of them goes, or stops, or goes on.
    fn dismiss(&mut self, lab: &mut Lab) -> String {
        if self.foreign.is_empty() {
            return "nothing".to_owned();
        }
        let id = self.foreign[self.d.index(self.foreign.len())];
        let what = [
            SmProcessAction::Kill,
            SmProcessAction::Pause,
            SmProcessAction::Resume,
        ][self.d.index(3)];
        lab.world.schedule_sm(lab.world.now(), id, what);
        format!("{what:?} {id:?}")
    }

    /// Our manager ends without a word and begins again, with the LIDs that it kept or without.
    fn restart(&mut self, lab: &mut Lab, watch: &mut Watch) -> String {
        let time = self.d.unit() * self.d.unit() * 5.0;
        restart(lab, watch, &self.cfg, seconds(time))
    }

    /// Foreign SMs are gone and every node has its own GUIDs: what is left, a manager must deal with.
    pub(crate) fn end(&mut self, lab: &mut Lab) {
        for id in self.foreign.drain(..) {
            lab.world.kill(id);
        }
        let fabric = lab.world.fabric_mut();
        for Guids { node, guid, ports } in self.guids.drain(..).rev() {
            fabric.power_off(node);
            fabric.set_node_guid(node, guid);
            for (port, guid) in ports {
                fabric.set_port_guid(port, guid).unwrap();
            }
            fabric.power_on(node);
        }
    }
}

/// Our manager ends without a word, and begins again after this time with its durable records.
pub(crate) fn restart(lab: &mut Lab, watch: &mut Watch, cfg: &SmConfig, time: Duration) -> String {
    let Some(old) = lab.world.kill(lab.sm) else {
        return "nothing".to_owned();
    };
    let restored = old.restored(lab.world.now());
    let restored = RestoredState {
        snapshot: old.view_kept.map(|view| ViewSnapshot {
            view,
            age: Duration::ZERO,
        }),
        ..restored
    };
    lab.world.run_for(time);
    let sm = Sm::new(cfg.clone(), restored, lab.world.now());
    lab.sm = lab.world.add_sm(Some(lab.at), sm).unwrap();
    watch.restarted(lab);
    format!("our manager begins anew after {time:?}")
}

/// Does it if it can be done, and says what it was.
fn act(lab: &mut Lab, action: FabricAction) -> String {
    let text = format!("{action:?}");
    match lab.world.act(action) {
        Ok(()) => text,
        Err(error) => format!("{text}: {error}"),
    }
}
