//! Rare faults, for seeds from `FIRST_SEED_RARE_FAULTS`: faults of links and attributes, slow
//! receivers, random data, flapping and degraded links, duplicate GUIDs, foreign SMs and restarts
//! of our SM.
//!
//! Has its own random numbers, so that the basic scenario of a seed does not change. Changes that
//! no SM can notice are omitted, such as an LFT entry or a LID that changes without a trap.

use std::time::Duration;

use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_fabric::snapshot::persist::RestoredSnapshot;
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState, id};
use ferrosm_mad::ids::{AttrId, NodeGuid, PortGuid};
use ferrosm_sim::fabric::PortCounter;
use ferrosm_sim::faults::{
    AgentFault, FabricAction, FaultScope, Garbage, LinkDirection, TransportFault,
};
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_sim::world::{ForeignSm, SmId, SmProcessAction};

use crate::lab::{Lab, Sm, TestRng};
use crate::random_runs::swarm::invariants::InvariantMonitor;
use crate::random_runs::swarm::seed_plan::seconds;

/// Attributes whose MADs may be lost with their own probability.
const ATTRS: [AttrId; 6] = [
    id::NODE_INFO,
    id::PORT_INFO,
    id::SWITCH_INFO,
    id::LFT,
    id::SL_TO_VL,
    id::NOTICE,
];

pub(crate) struct RareFaults {
    rng: TestRng,
    cfg: SmConfig,
    foreign_sms: Vec<SmId>,
    /// Original GUIDs of nodes that have another node's GUIDs.
    duplicated_guids: Vec<OriginalGuids>,
}

/// The original GUIDs of a node.
struct OriginalGuids {
    node: NodeIdx,
    guid: NodeGuid,
    ports: Vec<(PortAt, PortGuid)>,
}

impl RareFaults {
    pub(crate) const fn new(seed: u64, cfg: SmConfig) -> Self {
        Self {
            rng: TestRng::new(seed ^ 0x57_11D0_0000),
            cfg,
            foreign_sms: Vec::new(),
            duplicated_guids: Vec::new(),
        }
    }

    /// Returns itself with a probability of 1/2; otherwise the next event is one of the basic
    /// scenario.
    pub(crate) fn take_turn(&mut self) -> Option<&mut Self> {
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
        match rng.below(9) {
            0 => FabricAction::TransportFault(
                scope,
                TransportFault::Loss(rng.unit() * rng.unit() * 0.5),
            ),
            1 => FabricAction::TransportFault(scope, TransportFault::Duplicate(rng.unit() * 0.5)),
            2 => FabricAction::TransportFault(
                scope,
                TransportFault::Jitter(seconds(rng.unit() * 0.2)),
            ),
            3 => FabricAction::TransportFault(
                scope,
                TransportFault::Latency(seconds(rng.unit() * rng.unit() * 0.05)),
            ),
            4 => {
                let attr = ATTRS[rng.index(ATTRS.len())];
                FabricAction::AttrLoss(scope, attr, rng.unit())
            }
            5 => {
                let time = seconds(rng.unit() * rng.unit() * 0.02);
                FabricAction::Drain(self.random_link(lab), time)
            }
            6 => {
                let max = u32::try_from(1 + rng.below(20)).unwrap();
                FabricAction::Agent(None, AgentFault::Backlog(max))
            }
            7 => {
                let chance = rng.unit() * rng.unit();
                let node = self.random_node(lab);
                FabricAction::Agent(Some(node), AgentFault::Garbage(Some(Garbage::Data), chance))
            }
            _ => {
                let chance = rng.unit();
                let node = self.random_node(lab);
                FabricAction::Agent(Some(node), AgentFault::Garbage(Some(Garbage::Any), chance))
            }
        }
    }

    /// Applies faults at the start of the run.
    pub(crate) fn start(&mut self, lab: &mut Lab) -> Vec<String> {
        let count = self.rng.upto(3);
        let faults: Vec<FabricAction> = (0..count).map(|_| self.random_fault(lab)).collect();
        faults.into_iter().map(|f| apply(lab, f)).collect()
    }

    /// Draws and applies an event, and describes it.
    pub(crate) fn apply_event(&mut self, lab: &mut Lab, monitor: &mut InvariantMonitor) -> String {
        let link = self.random_link(lab).port();
        match self.rng.below(12) {
            0 => {
                let flap = FabricAction::Flap {
                    at: link,
                    period: seconds(self.rng.unit()),
                    times: u32::try_from(1 + self.rng.below(6)).unwrap(),
                };
                apply(lab, flap)
            }
            1 => {
                let speed = LinkSpeed::ALL[self.rng.index(4)];
                let width = LinkWidth([1, 4][self.rng.index(2)]);
                apply(lab, FabricAction::Degrade(link, speed, width))
            }
            2 => {
                let other = self.random_link(lab).port();
                apply(lab, FabricAction::SwapCables(link, other))
            }
            3 => self.duplicate_guids(lab),
            4 | 5 => self.add_foreign_sm(lab),
            6 => self.change_foreign_sm(lab),
            7 => self.restart(lab, monitor),
            8 => {
                let n = 1 + self.rng.below(1000);
                apply(
                    lab,
                    FabricAction::Count {
                        at: link,
                        counter: PortCounter::SymbolErrors,
                        n,
                    },
                )
            }
            9 => {
                let scope = self.random_scope(lab);
                apply(lab, FabricAction::Heal(scope))
            }
            _ => {
                let fault = self.random_fault(lab);
                apply(lab, fault)
            }
        }
    }

    /// Restarts a node with the GUIDs of another node of the same kind.
    fn duplicate_guids(&mut self, lab: &mut Lab) -> String {
        let (node, other) = (self.random_node(lab), self.random_node(lab));
        let fabric = lab.world.fabric_mut();
        let alike = fabric.kind(node) == fabric.kind(other)
            && fabric.num_ports(node) == fabric.num_ports(other);
        if node == other || !alike || [node, other].contains(&lab.at.node) {
            return "nothing".to_owned();
        }
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| p.node == node).collect();
        self.duplicated_guids.push(OriginalGuids {
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

    /// Starts a foreign SM.
    fn add_foreign_sm(&mut self, lab: &mut Lab) -> String {
        let fabric = lab.world.fabric();
        let ports: Vec<PortAt> = fabric.end_ports().filter(|p| *p != lab.at).collect();
        let Some(&at) = ports.get(self.rng.index(ports.len())) else {
            return "nothing".to_owned();
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
        let text = format!(
            "an SM at {at:?}: {:?}, applies_controls {}",
            sm.info, sm.applies_controls
        );
        match lab.world.add_foreign_sm(at, sm) {
            Ok(id) => self.foreign_sms.push(id),
            Err(_) => return "nothing".to_owned(),
        }
        text
    }

    /// Kills, pauses or resumes a foreign SM.
    fn change_foreign_sm(&mut self, lab: &mut Lab) -> String {
        if self.foreign_sms.is_empty() {
            return "nothing".to_owned();
        }
        let id = self.foreign_sms[self.rng.index(self.foreign_sms.len())];
        let action = [
            SmProcessAction::Kill,
            SmProcessAction::Pause,
            SmProcessAction::Resume,
        ][self.rng.index(3)];
        lab.world.schedule_sm(lab.world.now(), id, action);
        format!("{action:?} {id:?}")
    }

    /// Kills our SM and starts it again after a random time.
    fn restart(&mut self, lab: &mut Lab, monitor: &mut InvariantMonitor) -> String {
        let time = self.rng.unit() * self.rng.unit() * 5.0;
        restart(lab, monitor, &self.cfg, seconds(time))
    }

    /// Removes foreign SMs and restores all GUIDs. Our SM must handle what remains.
    pub(crate) fn end(&mut self, lab: &mut Lab) {
        for id in self.foreign_sms.drain(..) {
            lab.world.kill(id);
        }
        let fabric = lab.world.fabric_mut();
        for OriginalGuids { node, guid, ports } in self.duplicated_guids.drain(..).rev() {
            fabric.power_off(node);
            fabric.set_node_guid(node, guid);
            for (port, guid) in ports {
                fabric.set_port_guid(port, guid).unwrap();
            }
            fabric.power_on(node);
        }
    }
}

/// Kills our SM, and starts it again after `time` with its durable records.
pub(crate) fn restart(
    lab: &mut Lab,
    monitor: &mut InvariantMonitor,
    cfg: &SmConfig,
    time: Duration,
) -> String {
    let Some(old) = lab.world.kill(lab.sm) else {
        return "nothing".to_owned();
    };
    let restored = old.restored(lab.world.now());
    let restored = RestoredState {
        snapshot: old.persisted_view.map(|view| RestoredSnapshot {
            snapshot: view,
            age: Duration::ZERO,
        }),
        ..restored
    };
    lab.world.run_for(time);
    let sm = Sm::new(cfg.clone(), restored, lab.world.now());
    lab.sm = lab.world.add_sm(Some(lab.at), sm).unwrap();
    monitor.on_restart(lab);
    format!("our SM restarts after {time:?}")
}

/// Applies an action if possible, and describes it.
fn apply(lab: &mut Lab, action: FabricAction) -> String {
    let text = format!("{action:?}");
    match lab.world.act(action) {
        Ok(()) => text,
        Err(error) => format!("{text}: {error}"),
    }
}
