//! Discovery by directed route (behaviour rules 1.1 to 1.24), of the whole fabric or of what a trap named.
//!
//! One mechanism serves both: a switch is read (SwitchInfo, then PortInfo of all ports), and whoever is behind a port is
//! probed (NodeInfo). A full sweep probes behind every live port; a local one only where a port's state differs from
//! what was known. Nothing that a node says, or fails to say, ends a sweep: it is left out, and reported.
//!
//! Which port reaches which is the business of [`super::claims`].

use core::time::Duration;

use ferrosm_mad::attr::{
    ExtendedPortInfo, LinkSpeed, NodeDescription, NodeInfo, NodeType, PortInfo, PortState,
    SwitchInfo, id,
};
use ferrosm_mad::ids::{AttrMod, PortGuid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::DrPath;

use super::{Stage, SubnetManager};
use crate::io::Event;
use crate::report::{Phase, ProblemKind, QuarantineReason};
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::route;
use crate::subnet::{Node, NodeIdx, PortRef, plausible};

/// Whether two answers can come from the same node.
fn same_node(a: &NodeInfo, b: &NodeInfo) -> bool {
    (a.node_type, a.num_ports, a.device_id, a.vendor_id)
        == (b.node_type, b.num_ports, b.device_id, b.vendor_id)
}

/// Time between looks at the SM's own port while it has no link, where light sweeps do not give one.
const NO_LINK_RETRY: Duration = Duration::from_secs(10);

impl SubnetManager {
    pub(super) fn begin_full_sweep(&mut self) {
        let interval = self.cfg.sweep_interval;
        self.schedule.begin_full_sweep(self.now, interval);
        self.traps.begin_full_sweep();
        self.begin_sweep(false);
        self.epoch += 1;
        self.routing.mark_stale();
        self.enqueue(SmpOp::NodeInfo(None));
    }

    /// Reading what is there: discovery itself, or traps that are followed up while routes are computed.
    pub(super) fn is_looking(&self) -> bool {
        matches!(self.stage, Stage::Sweep(Phase::Discover | Phase::Route))
    }

    pub(super) fn begin_local_sweep(&mut self) {
        self.schedule.begin_local_sweep();
        self.begin_sweep(true);
        self.ask_suspects();
    }

    /// What is in the switches is not sure any more: it is read before anything is written.
    pub(super) fn distrust_tables(&mut self) {
        self.remember_tables();
        let nodes: Vec<NodeIdx> = self.subnet.node_indices().collect();
        for n in nodes {
            if let Some(node) = self.subnet.get_mut(n) {
                node.forget_tables();
            }
        }
        // Whoever was in charge meanwhile may have routed otherwise, and let other trees grow: what is there is taken on, not what was
        // once.
        self.routing.forget_installed();
        self.multicast.forget_trees();
    }

    /// Reads the switches and ports that are to be read again.
    pub(super) fn ask_suspects(&mut self) {
        let rereads = self.schedule.take_rereads();
        for n in rereads.switches {
            if self.subnet.get(n).is_some_and(Node::is_switch) {
                self.enqueue(SmpOp::SwitchInfo(n));
            }
        }
        for p in rereads.ports {
            if self.is_here(p) {
                self.enqueue(SmpOp::PortInfo(p));
            }
        }
    }

    pub(super) fn on_node_info(&mut self, from: Option<PortRef>, status: Status, data: &[u8; 64]) {
        let info = NodeInfo::decode(data);
        let garbage = if status.is_ok() {
            plausible::wrong_node_info(&info)
        } else {
            Some("error status to NodeInfo")
        };
        if let Some(why) = garbage {
            match from {
                Some(from) => self.on_nobody_behind(from, QuarantineReason::Garbage(why)),
                None => self.no_link(format!("the local node's answer cannot be used: {why}")),
            }
            return;
        }
        let Some(path) = from.map_or(Some(DrPath::LOCAL), |p| {
            route::shortest(&self.subnet, p).and_then(|path| path.extend(p.port))
        }) else {
            return;
        };
        let Some(idx) = self.visit(from, &info, path) else {
            return;
        };
        let to = PortRef::new(idx, info.local_port_num);
        match from {
            None => {
                let port = if info.node_type == NodeType::Switch {
                    PortNum::ZERO
                } else {
                    info.local_port_num
                };
                self.subnet.set_local(PortRef::new(idx, port));
            }
            Some(from) => {
                if self.has_moved(from, to) {
                    self.distrust_tables();
                    if self.sweep.local {
                        self.emit(Event::Noticed(format!(
                            "the cable at {} leads elsewhere than before",
                            self.subnet.describe(from)
                        )));
                        self.begin_full_sweep();
                        return;
                    }
                }
                self.sweep.claims.insert(from, to);
                self.link_found(from, to);
            }
        }
        if info.node_type != NodeType::Switch {
            self.visit_end_port(to, info.port_guid);
        }
    }

    /// The node that answered, added where it is new; `None` where it cannot be the node that its GUID names.
    fn visit(&mut self, from: Option<PortRef>, info: &NodeInfo, path: DrPath) -> Option<NodeIdx> {
        let epoch = self.epoch;
        let local = self.sweep.local;
        if let Some(idx) = self.subnet.node_by_guid(info.node_guid) {
            let node = self.subnet.get_mut(idx)?;
            if node.seen == epoch {
                if same_node(&node.info, info) {
                    return Some(idx);
                }
                // More hangs on a switch than on a CA that uses its GUID, so the switch stays.
                let switch_came_second = !node.is_switch() && info.node_type == NodeType::Switch;
                let is_ours = self.subnet.local().is_some_and(|l| l.node == idx);
                if !switch_came_second || is_ours {
                    if let Some(from) = from {
                        self.quarantine(from, QuarantineReason::DuplicateNodeGuid(info.node_guid));
                    }
                    return None;
                }
                self.leave_out(idx, &QuarantineReason::DuplicateNodeGuid(info.node_guid));
                return Some(self.add_visited(info, path));
            }
            if local || same_node(&node.info, info) {
                node.seen = epoch;
                node.path = path;
                node.info = *info;
                self.read_node(idx);
                return Some(idx);
            }
            // Something else has taken the GUID since the last sweep: begin anew with it.
            self.subnet.remove_node(idx);
        }
        Some(self.add_visited(info, path))
    }

    fn add_visited(&mut self, info: &NodeInfo, path: DrPath) -> NodeIdx {
        let mut node = Node::new(*info, path);
        node.seen = self.epoch;
        let idx = self.subnet.add_node(node);
        self.routing.mark_stale();
        if self.last_report.is_some() {
            self.emit(Event::NodeAdded(info.node_guid.to_string()));
        }
        self.read_node(idx);
        idx
    }

    fn read_node(&mut self, idx: NodeIdx) {
        let Some(node) = self.subnet.get(idx) else {
            return;
        };
        let (is_switch, guid) = (node.is_switch(), node.info.port_guid);
        self.enqueue(SmpOp::NodeDescription(idx));
        if is_switch {
            let at = PortRef::new(idx, PortNum::ZERO);
            if let Some(port) = self.subnet.port_mut(at) {
                port.guid = guid;
            }
            self.index_port(at, guid);
            self.enqueue(SmpOp::SwitchInfo(idx));
        }
    }

    fn visit_end_port(&mut self, at: PortRef, guid: PortGuid) {
        let epoch = self.epoch;
        let Some(port) = self.subnet.port_mut(at) else {
            return;
        };
        if port.seen == epoch && !self.sweep.local {
            return;
        }
        port.seen = epoch;
        if port.guid != guid {
            port.guid = guid;
            self.routing.mark_stale();
        }
        self.index_port(at, guid);
        self.enqueue(SmpOp::PortInfo(at));
    }

    /// Books a port GUID, or leaves the port out where another living port has it.
    fn index_port(&mut self, at: PortRef, guid: PortGuid) {
        if let Some(owner) = self.subnet.port_by_guid(guid)
            && owner != at
            && self.subnet.port(owner).is_some_and(|p| p.guid == guid)
            && self
                .subnet
                .get(owner.node)
                .is_some_and(|n| n.seen == self.epoch)
        {
            let why = QuarantineReason::DuplicatePortGuid(guid);
            if let Some(port) = self.subnet.port_mut(at) {
                port.quarantine = Some(why);
            }
            return;
        }
        if let Some(port) = self.subnet.port_mut(at) {
            port.quarantine = None;
        }
        self.subnet.index_port_guid(guid, at);
    }

    pub(super) fn on_description(&mut self, n: NodeIdx, status: Status, data: &[u8; 64]) {
        if status.is_ok()
            && let Some(node) = self.subnet.get_mut(n)
        {
            node.description = NodeDescription::decode(data);
            node.described = true;
        }
    }

    pub(super) fn on_switch_info(&mut self, n: NodeIdx, status: Status, data: &[u8; 64]) {
        let told = SwitchInfo::decode(data);
        if !status.is_ok() || plausible::wrong_switch_info(&told).is_some() {
            self.on_switch_silent(n);
            return;
        }
        let top = self.lids.top();
        let Some(node) = self.subnet.get_mut(n) else {
            return;
        };
        node.switch_raw = Some(*data);
        // A switch that has forgotten how far its table reaches has forgotten the table (a reboot).
        if node.installed.is_some() && told.linear_fdb_top != top.0 {
            node.forget_tables();
            self.routing.mark_stale();
        }
        if self.stage == Stage::Light {
            let unwritten = told.linear_fdb_cap > 0
                && self.subnet.get(n).is_some_and(|s| s.installed.is_none());
            if told.port_state_change || unwritten {
                self.schedule.reread_switch(n);
            }
            return;
        }
        if told.port_state_change && self.is_master() {
            self.enqueue(SmpOp::ClearPortStateChange(n));
        } else {
            if told.port_state_change {
                self.sweep.change_unread.insert(n);
            }
            self.read_ports(n);
        }
    }

    pub(super) fn on_change_cleared(&mut self, n: NodeIdx, status: Status, data: &[u8; 64]) {
        if status.is_ok()
            && let Some(node) = self.subnet.get_mut(n)
        {
            node.switch_raw = Some(*data);
        }
        if self.is_looking() {
            self.read_ports(n);
        }
    }

    fn read_ports(&mut self, n: NodeIdx) {
        let Some(node) = self.subnet.get(n) else {
            return;
        };
        let ports = node.physical_ports();
        self.enqueue(SmpOp::PortInfo(PortRef::new(n, PortNum::ZERO)));
        for p in ports {
            self.enqueue(SmpOp::PortInfo(PortRef::new(n, p)));
        }
    }

    pub(super) fn on_port_info(
        &mut self,
        at: PortRef,
        asked: AttrMod,
        status: Status,
        data: &[u8; 64],
    ) {
        let Some(node) = self.subnet.get(at.node) else {
            return;
        };
        let is_switch = node.is_switch();
        let is_external = is_switch && at.port != PortNum::ZERO;
        let new = PortInfo::decode(data);
        if !status.is_ok() {
            let with_bit = asked.0 & PortInfo::EXTENDED_SPEEDS_MOD != 0;
            let asks_left = node.port_info_refusals <= node.info.num_ports.into();
            if status.is_bad_field() && with_bit && asks_left {
                // An agent from before extended speeds takes the modifier's top bit for a part of the port number.
                // All ports of a switch are asked before the first refusal comes, so each may be refused once.
                if let Some(node) = self.subnet.get_mut(at.node) {
                    node.plain_port_info = true;
                    node.port_info_refusals += 1;
                }
                self.enqueue(SmpOp::PortInfo(at));
                return;
            }
            self.on_port_silent(
                at,
                ProblemKind::NoAnswer {
                    attr: id::PORT_INFO,
                },
            );
            return;
        }
        if let Some(why) = plausible::wrong_port_info(&new, is_external || !is_switch) {
            let why = QuarantineReason::Garbage(why);
            self.on_port_silent(at, ProblemKind::Quarantined(why));
            return;
        }
        self.notice_reboot(at, &new);
        self.doubt_keys(at, &new);
        self.notice_meddling(at, &new);
        let (epoch, now) = (self.epoch, self.now);
        let Some(port) = self.subnet.port_mut(at) else {
            return;
        };
        if port.known && new.port_state < port.state() {
            port.fell = Some(now);
        }
        port.known = true;
        port.seen = epoch;
        if new.port_state == PortState::Down && (is_external || !is_switch) {
            // Only the states of a port that is down are valid (rule 1.10). A base port 0 has no link to be down.
            port.raw[32] = data[32];
            port.raw[33] = data[33];
        } else {
            port.raw = *data;
        }
        self.sweep.touched.insert(at);
        self.doubt_past(at);
        self.tell_of_change(at);
        self.ask_fdr10(at, &new);
        let is_ours = self.subnet.local() == Some(at) && !is_switch;
        if self.stage == Stage::Light && is_ours && new.port_state < PortState::Active {
            self.want_full();
        }
        if self.sweep.refused.remove(&at) && self.may_be_armed(at) {
            self.enqueue(SmpOp::SetPortInfo(at, PortSetting::ArmOnly));
        }
        if !self.is_looking() {
            return;
        }
        if is_external {
            self.on_external_port(at);
        } else if is_ours {
            if new.port_state > PortState::Down {
                if !self.recall_again() {
                    self.enqueue(SmpOp::NodeInfo(Some(at)));
                }
            } else {
                self.no_link(format!("{} is down", self.subnet.describe(at)));
            }
        }
    }

    /// FDR10 is a vendor's speed that PortInfo shows as QDR; only such ports are asked, while the SM looks.
    fn ask_fdr10(&mut self, at: PortRef, new: &PortInfo) {
        let knows = self.subnet.get(at.node).is_some_and(Node::may_know_fdr10);
        let up = new.port_state > PortState::Down;
        if self.is_looking() && knows && up && new.speed() == Some(LinkSpeed::Qdr) {
            self.enqueue(SmpOp::MlnxExtPortInfo(at));
        }
    }

    pub(super) fn on_ext_port_info(&mut self, at: PortRef, status: Status, data: &[u8; 64]) {
        if let Some(port) = self.subnet.port_mut(at) {
            port.fdr10 =
                status.is_ok() && ExtendedPortInfo::decode(data).link_speed_active & 1 != 0;
        }
    }

    /// A switch that has forgotten its LID has forgotten its tables.
    fn notice_reboot(&mut self, at: PortRef, new: &PortInfo) {
        let Some(node) = self.subnet.get_mut(at.node) else {
            return;
        };
        let Some(port0) = node.ports.first().filter(|p| p.known) else {
            return;
        };
        if at.port == PortNum::ZERO
            && node.is_switch()
            && node.installed.is_some()
            && port0.info().lid != new.lid
        {
            node.forget_tables();
            self.routing.mark_stale();
        }
    }

    /// An end port whose link was down, or that has lost its LID, may have lost its P_Keys.
    fn doubt_keys(&mut self, at: PortRef, new: &PortInfo) {
        let is_switch = self.subnet.get(at.node).is_some_and(Node::is_switch);
        let Some(port) = self.subnet.port_mut(at).filter(|port| port.known) else {
            return;
        };
        let down = !is_switch && new.port_state < PortState::Armed && self.stage != Stage::Light;
        if (!is_switch || at.port == PortNum::ZERO) && (down || port.info().lid != new.lid) {
            port.keys.forget();
        }
    }

    fn on_external_port(&mut self, at: PortRef) {
        let doubtful = self.sweep.doubtful.contains(&at);
        let Some(port) = self.subnet.port_mut(at) else {
            return;
        };
        port.quarantine = None;
        if !port.is_up() {
            self.link_lost(at);
            return;
        }
        // A link that is not active, or became so after its far end was asked for, may lead elsewhere by now.
        let unproven = core::mem::take(&mut port.unproven) || port.state() < PortState::Active;
        let hidden = self.subnet.peer(at).and_then(|p| self.subnet.port(p));
        let hidden = hidden.is_some_and(|far| far.quarantine.is_some());
        let unlinked = self.subnet.peer(at).is_none();
        if !self.sweep.local || unlinked || unproven || doubtful || hidden {
            let way = route::shortest(&self.subnet, at).and_then(|p| p.extend(at.port));
            if way.is_some() {
                self.enqueue(SmpOp::NodeInfo(Some(at)));
            } else if unlinked {
                // The port by which the last switch in reach was reached has its cable.
                self.quarantine(at, QuarantineReason::TooFar);
            }
        }
    }

    /// A port that had a cable is down: the cable goes, and the far end is asked for its own view.
    fn link_lost(&mut self, at: PortRef) {
        let before = self.subnet.describe(at);
        let Some(peer) = self.subnet.disconnect(at) else {
            return;
        };
        self.routing.mark_stale();
        for (end, other) in [(at, peer), (peer, at)] {
            if let Some(port) = self.subnet.port_mut(end) {
                port.last_peer = Some(other);
            }
        }
        self.emit(Event::LinkDown(format!(
            "{before} - {}",
            self.subnet.describe(peer)
        )));
        if self.sweep.local && self.subnet.get(peer.node).is_some_and(Node::is_switch) {
            // The known way to it may have been over this very cable.
            self.paths_stale = true;
            self.enqueue(SmpOp::PortInfo(peer));
        }
    }

    pub(super) fn on_probe_failed(&mut self, from: Option<PortRef>) {
        match from {
            Some(from) => self.on_nobody_behind(from, QuarantineReason::NoAnswer),
            None => self.no_link("the local node does not answer".to_owned()),
        }
    }

    /// A probe got no answer that can be used. An active link of a running fabric is not given up for that: its agent may
    /// be hung, and it goes on forwarding.
    fn on_nobody_behind(&mut self, from: PortRef, why: QuarantineReason) {
        let linked = self.subnet.peer(from).is_some();
        let local_sweep = self.sweep.local;
        match self.subnet.port_mut(from) {
            Some(port) if local_sweep && linked && port.state() == PortState::Active => {
                port.unproven = true;
                self.schedule.reread_port_later(from);
                let attr = id::NODE_INFO;
                self.problem(Some(from), ProblemKind::NoAnswer { attr });
            }
            _ => self.quarantine(from, why),
        }
    }

    /// A switch that does not tell its SwitchInfo: in a full sweep it cannot be used; otherwise its neighbours are
    /// asked whether it is still there.
    pub(super) fn on_switch_silent(&mut self, n: NodeIdx) {
        self.problem(
            Some(PortRef::new(n, PortNum::ZERO)),
            ProblemKind::NoAnswer {
                attr: id::SWITCH_INFO,
            },
        );
        if self.stage == Stage::Light || self.sweep.local || !self.is_looking() {
            let Some(node) = self.subnet.get(n) else {
                return;
            };
            self.schedule.reread_switch_later(n);
            let peers: Vec<PortRef> = node
                .physical_ports()
                .filter_map(|p| self.subnet.peer(PortRef::new(n, p)))
                .collect();
            for peer in peers.into_iter().filter(|p| p.node != n) {
                if self.subnet.get(peer.node).is_some_and(Node::is_switch) {
                    if self.is_looking() {
                        self.enqueue(SmpOp::PortInfo(peer));
                    } else {
                        self.schedule.reread_port(peer);
                    }
                }
            }
        } else {
            self.leave_out(n, &QuarantineReason::NoAnswer);
        }
    }

    pub(super) fn on_port_silent(&mut self, at: PortRef, kind: ProblemKind) {
        self.problem(Some(at), kind);
        self.schedule.reread_port_later(at);
        let is_switch = self.subnet.get(at.node).is_some_and(Node::is_switch);
        if self.stage == Stage::Sweep(Phase::Discover)
            && !self.sweep.local
            && at.port == PortNum::ZERO
            && is_switch
        {
            self.leave_out(at.node, &QuarantineReason::NoAnswer);
        }
    }

    /// Removes a node that cannot be used, and says so at the ports that lead to it.
    fn leave_out(&mut self, n: NodeIdx, why: &QuarantineReason) {
        let Some(node) = self.subnet.get(n) else {
            return;
        };
        let peers: Vec<PortRef> = (0..node.ports.len())
            .filter_map(|p| {
                self.subnet
                    .peer(PortRef::new(n, PortNum(u8::try_from(p).ok()?)))
            })
            .collect();
        for peer in peers {
            self.quarantine(peer, why.clone());
        }
        self.subnet.remove_node(n);
        self.routing.mark_stale();
    }

    pub(super) fn quarantine(&mut self, at: PortRef, why: QuarantineReason) {
        if let Some(peer) = self.subnet.disconnect(at) {
            self.routing.mark_stale();
            if let Some(port) = self.subnet.port_mut(at) {
                port.last_peer = Some(peer);
            }
        }
        // On a switch port the mark is on what is behind it; on an end port it would be on the port itself.
        let is_switch = self.subnet.get(at.node).is_some_and(Node::is_switch);
        match self.subnet.port_mut(at).filter(|_| is_switch) {
            // A port that went down while somebody was asked for behind it has nobody there.
            Some(port) => port.quarantine = Some(why).filter(|_| port.is_up()),
            None => self.problem(Some(at), ProblemKind::Quarantined(why)),
        }
    }

    /// Whether a port belongs to the subnet as it is known: a CA's port does by its cable.
    pub(super) fn is_here(&self, p: PortRef) -> bool {
        self.subnet.get(p.node).is_some_and(|node| {
            node.is_switch() || self.subnet.local() == Some(p) || self.subnet.peer(p).is_some()
        })
    }

    /// Reports what is left out at the end of a sweep, whichever sweep found it.
    pub(super) fn report_quarantined(&mut self) {
        let mut found = Vec::new();
        for (n, node) in self.subnet.nodes() {
            for (p, port) in (0..=u8::MAX).zip(&node.ports) {
                let at = PortRef::new(n, PortNum(p));
                if let Some(why) = &port.quarantine {
                    // A CA is found at the switch port that it hangs on.
                    let place = self.subnet.peer(at).filter(|_| !node.is_switch());
                    found.push((place.unwrap_or(at), why.clone()));
                }
            }
        }
        for (at, why) in found {
            self.problem(Some(at), ProblemKind::Quarantined(why));
        }
    }

    pub(super) fn no_link(&mut self, why: String) {
        self.smps.clear();
        self.stage = Stage::NoLink;
        // Also where light sweeps are switched off: nobody else would tell that the link is back.
        let again = self.cfg.sweep_interval;
        let again = if again.is_zero() {
            NO_LINK_RETRY
        } else {
            again
        };
        self.schedule.arm_timer(self.now, again);
        // Another SM may take charge while this one is cut off.
        self.elect(crate::election::Input::NoLink);
        self.doubt_copy();
        self.emit(Event::NoLink(why));
    }

    /// Every answer is in: settle disputes, remove what is gone, and find the shortest ways.
    pub(super) fn finish_discovery(&mut self) {
        self.find_out_what_is_gone();
        if self.subnet.local().is_none() {
            self.no_link("the local node is not known".to_owned());
        } else if self.read_only {
            self.finish_sweep();
        } else {
            self.distrust_after_meddling();
            self.begin_asking_sms();
        }
    }

    pub(super) fn find_out_what_is_gone(&mut self) {
        self.settle_disputes();
        if !self.sweep.local {
            self.check_both_views();
            let gone: Vec<NodeIdx> = self
                .subnet
                .nodes()
                .filter(|(_, n)| n.seen != self.epoch)
                .map(|(i, _)| i)
                .collect();
            self.remove_nodes(&gone);
        }
        let lost = self.subnet.refresh_paths(self.now);
        self.paths_stale = false;
        self.remove_nodes(&lost);
        self.forget_loose_end_ports();
    }

    fn remove_nodes(&mut self, gone: &[NodeIdx]) {
        for n in gone {
            let Some(node) = self.subnet.remove_node(*n) else {
                continue;
            };
            self.routing.mark_stale();
            self.forget(*n);
            self.emit(Event::NodeGone(format!(
                "\"{}\" ({})",
                node.description, node.info.node_guid
            )));
        }
    }

    /// Drops what is kept of a node for later.
    fn forget(&mut self, n: NodeIdx) {
        self.schedule.remove_node(n);
        self.others.retain(|_, (p, _)| p.node != n);
    }

    /// A CA port that no cable leads to any more is no end port.
    fn forget_loose_end_ports(&mut self) {
        let local = self.subnet.local();
        let loose: Vec<PortRef> = self
            .subnet
            .end_ports()
            .filter(|p| {
                p.port != PortNum::ZERO && Some(*p) != local && self.subnet.peer(*p).is_none()
            })
            .collect();
        for p in loose {
            self.routing.mark_stale();
            if let Some(port) = self.subnet.port_mut(p) {
                port.known = false;
                port.guid = PortGuid(0);
            }
        }
    }
}
