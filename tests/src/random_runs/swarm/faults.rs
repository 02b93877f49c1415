//! Rare faults, for seeds from `FIRST_SEED_RARE_FAULTS`: faults of links and attributes, slow
//! receivers, random data, flapping and degraded links, duplicate GUIDs, foreign SMs and restarts
//! of our SM.
//!
//! Has its own random numbers, so that the basic scenario of a seed does not change. Changes that
//! no SM can notice are omitted, such as an LFT entry or a LID that changes without a trap.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState, id};
use ferrosm_mad::ids::{AttrId, NodeGuid, PortGuid};
use ferrosm_sim::fabric::{Fabric, PortCounter};
use ferrosm_sim::faults::{
    AgentFault, FabricAction, FaultScope, Garbage, LinkDirection, TransportFault,
};
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::{ForeignSm, SmId, SmProcessAction};

use crate::lab::{Lab, TestRng};
use crate::random_runs::swarm::seed_plan::seconds;
use crate::random_runs::swarm::simulation::SwarmRun;

/// Attributes whose MADs may be lost with their own probability.
const ATTRS: [AttrId; 6] = [
    id::NODE_INFO,
    id::PORT_INFO,
    id::SWITCH_INFO,
    id::LFT,
    id::SL_TO_VL,
    id::NOTICE,
];

pub(super) struct RareFaults {
    rng: TestRng,
    foreign_sms: Vec<SmId>,
    /// Original GUIDs of nodes that have another node's GUIDs.
    duplicated_guids: Vec<NodeGuids>,
}

/// The GUIDs of a node and of its ports.
struct NodeGuids {
    node: NodeIdx,
    guid: NodeGuid,
    ports: Vec<(PortAt, PortGuid)>,
}

impl NodeGuids {
    /// Restarts the node with these GUIDs.
    fn apply(self, fabric: &mut Fabric) {
        fabric.power_off(self.node);
        fabric.set_node_guid(self.node, self.guid);
        for (port, guid) in self.ports {
            fabric.set_port_guid(port, guid).unwrap();
        }
        fabric.power_on(self.node);
    }
}

impl RareFaults {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x57_11D0_0000),
            foreign_sms: Vec::new(),
            duplicated_guids: Vec::new(),
        }
    }

    /// Returns itself with a probability of 1/2; otherwise the next event is one of the basic
    /// scenario.
    pub(super) fn take_turn(&mut self) -> Option<&mut Self> {
        self.rng.one_in(2).then_some(self)
    }

    fn random_node(&mut self, lab: &Lab) -> NodeIdx {
        self.rng.index(lab.world.fabric().num_nodes())
    }

    fn random_link(&mut self, lab: &Lab) -> LinkDirection {
        let link = lab.spec.links[self.rng.index(lab.spec.links.len())];
        let at = if self.rng.one_in(2) { link.a } else { link.b };
        match self.rng.below(3) {
            0 => LinkDirection::Both(at),
            1 => LinkDirection::Into(at),
            _ => LinkDirection::OutOf(at),
        }
    }

    fn random_scope(&mut self, lab: &Lab) -> FaultScope {
        match self.rng.below(4) {
            0 => FaultScope::Fabric,
            1 => FaultScope::Node(self.random_node(lab)),
            _ => FaultScope::Link(self.random_link(lab)),
        }
    }

    /// Draws a fault that lasts until all faults end.
    fn random_fault(&mut self, lab: &Lab) -> FabricAction {
        let scope = self.random_scope(lab);
        let rng = &mut self.rng;
        let fault = match rng.below(9) {
            0 => TransportFault::Loss(rng.unit() * rng.unit() * 0.5),
            1 => TransportFault::Duplicate(rng.unit() * 0.5),
            2 => TransportFault::Jitter(seconds(rng.unit() * 0.2)),
            3 => TransportFault::Latency(seconds(rng.unit() * rng.unit() * 0.05)),
            4 => {
                let attr = ATTRS[rng.index(ATTRS.len())];
                return FabricAction::AttrLoss(scope, attr, rng.unit());
            }
            5 => {
                let time = seconds(rng.unit() * rng.unit() * 0.02);
                return FabricAction::Drain(self.random_link(lab), time);
            }
            6 => {
                let max = u32::try_from(1 + rng.below(20)).unwrap();
                return FabricAction::Agent(None, AgentFault::Backlog(max));
            }
            7 => {
                let chance = rng.unit() * rng.unit();
                return self.garbage(lab, Garbage::Data, chance);
            }
            _ => {
                let chance = rng.unit();
                return self.garbage(lab, Garbage::Any, chance);
            }
        };
        FabricAction::TransportFault(scope, fault)
    }

    fn garbage(&mut self, lab: &Lab, garbage: Garbage, chance: f64) -> FabricAction {
        let node = self.random_node(lab);
        FabricAction::Agent(Some(node), AgentFault::Garbage(Some(garbage), chance))
    }

    /// Applies faults at the start of the run.
    pub(super) fn start(&mut self, run: &mut SwarmRun) {
        for _ in 0..self.rng.upto(3) {
            let fault = self.random_fault(&run.lab);
            run.apply(fault);
        }
    }

    /// Draws and applies an event.
    pub(super) fn apply_event(&mut self, run: &mut SwarmRun) {
        let link = self.random_link(&run.lab).port();
        let action = match self.rng.below(12) {
            0 => FabricAction::Flap {
                at: link,
                period: seconds(self.rng.unit()),
                times: u32::try_from(1 + self.rng.below(6)).unwrap(),
            },
            1 => {
                let speed = LinkSpeed::ALL[self.rng.index(4)];
                let width = LinkWidth([1, 4][self.rng.index(2)]);
                FabricAction::Degrade(link, speed, width)
            }
            2 => FabricAction::SwapCables(link, self.random_link(&run.lab).port()),
            3 => return self.duplicate_guids(run),
            4 | 5 => return self.add_foreign_sm(run),
            6 => return self.change_foreign_sm(run),
            7 => {
                let time = self.rng.unit() * self.rng.unit() * 5.0;
                return run.restart_sm(seconds(time));
            }
            8 => FabricAction::Count {
                at: link,
                counter: PortCounter::SymbolErrors,
                n: 1 + self.rng.below(1000),
            },
            9 => FabricAction::Heal(self.random_scope(&run.lab)),
            _ => self.random_fault(&run.lab),
        };
        run.apply(action);
    }

    /// Restarts a node with the GUIDs of another node of the same kind.
    fn duplicate_guids(&mut self, run: &mut SwarmRun) {
        let node = self.random_node(&run.lab);
        let other = self.random_node(&run.lab);
        let sm_node = run.lab.at.node;
        let fabric = run.lab.world.fabric_mut();
        let is_like_other = fabric.kind(node) == fabric.kind(other)
            && fabric.num_ports(node) == fabric.num_ports(other);
        if node == other || !is_like_other || [node, other].contains(&sm_node) {
            return;
        }
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| p.node == node).collect();
        let guid_of_other = |at: &PortAt| fabric.port_guid(PortAt::new(other, at.port));
        let guids = NodeGuids {
            node,
            guid: fabric.node_guid(other),
            ports: ports.iter().map(|at| (*at, guid_of_other(at))).collect(),
        };
        self.duplicated_guids.push(NodeGuids {
            node,
            guid: fabric.node_guid(node),
            ports: ports
                .iter()
                .map(|at| (*at, fabric.port_guid(*at)))
                .collect(),
        });
        guids.apply(fabric);
        run.log(format_args!("{node} takes the GUIDs of {other}"));
    }

    /// Starts a foreign SM.
    fn add_foreign_sm(&mut self, run: &mut SwarmRun) {
        let fabric = run.lab.world.fabric();
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| *p != run.lab.at).collect();
        let Some(&at) = ports.get(self.rng.index(ports.len())) else {
            return;
        };
        let rng = &mut self.rng;
        let states = [
            SmState::Standby,
            SmState::Master,
            SmState::Discovering,
            SmState::NotActive,
        ];
        let guid = if rng.one_in(3) {
            PortGuid(rng.next())
        } else {
            fabric.port_guid(at)
        };
        let priority = u8::try_from(rng.below(16)).unwrap();
        let mut sm = ForeignSm::new(guid, priority, states[rng.index(4)]);
        sm.applies_controls = rng.one_in(2);
        run.log(format_args!(
            "an SM at {at:?}: {:?}, applies_controls {}",
            sm.info, sm.applies_controls
        ));
        // The port may be in use already.
        self.foreign_sms
            .extend(run.lab.world.add_foreign_sm(at, sm));
    }

    /// Kills, pauses or resumes a foreign SM.
    fn change_foreign_sm(&mut self, run: &mut SwarmRun) {
        if self.foreign_sms.is_empty() {
            return;
        }
        let id = self.foreign_sms[self.rng.index(self.foreign_sms.len())];
        let action = [
            SmProcessAction::Kill,
            SmProcessAction::Pause,
            SmProcessAction::Resume,
        ][self.rng.index(3)];
        run.log(format_args!("{action:?} {id:?}"));
        let now = run.lab.world.now();
        run.lab.world.schedule_sm(now, id, action);
    }

    /// Removes foreign SMs and restores all GUIDs. Our SM must handle what remains.
    pub(super) fn end(&mut self, run: &mut SwarmRun) {
        for id in self.foreign_sms.drain(..) {
            run.lab.world.kill(id);
        }
        for guids in self.duplicated_guids.drain(..).rev() {
            guids.apply(run.lab.world.fabric_mut());
        }
    }
}
