//! What the election decides, done: who is polled and offered the subnet, what begins and ends with a state.
//!
//! [`crate::election`] decides, [`super::sminfo`] knows the wire; here is what a decision means for the sweeps, for requests
//! under way and for what is known of the tables. Whoever may not write has nothing outstanding that writes.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{
    LocalChangeDetails, NodeType, Notice, NoticeType, PortInfo, SmControl, SmInfo, SmState,
    TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortGuid, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadIn, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, SmpRequest};

use super::{Stage, SubnetManager};
use crate::config::SmConfig;
use crate::election::{self, Notice as Said, Output as Decision, Peer, Settings};
use crate::io::Event;
use crate::smp::op::SmpOp;
use crate::smp::{PathPolicy, SmpTransaction};
use crate::subnet::{Port, PortRef};
use crate::sweep::quarantine::is_in_fabric;

/// TID of what nobody waits for; questions never have it.
const UNTRACKED: Tid = Tid(u32::MAX as u64);

/// Ports that are remembered because their SMs told that they are ferrosm; further ones are polled as others are.
const LEARNED_MAX: usize = 64;

impl SubnetManager {
    /// What the election is to go by.
    pub(super) fn election_settings(cfg: &SmConfig, learned: &BTreeSet<PortGuid>) -> Settings {
        let peers = if learned.is_empty() {
            Arc::clone(&cfg.peer_sms)
        } else {
            Arc::new(cfg.peer_sms.union(learned).copied().collect())
        };
        Settings {
            priority: cfg.priority,
            master_priority: cfg.master_priority,
            poll_interval: cfg.sm_poll_interval,
            missed_polls: cfg.sm_poll_retries.saturating_add(1),
            peers,
            peer_poll_interval: cfg.peer_poll_interval,
            peer_missed_polls: cfg.peer_poll_retries.saturating_add(1),
            handover_tries: cfg.handover_tries,
            patience: cfg.patience,
            allowed: cfg.allowed_sms.clone(),
            refuse_managed: cfg.refuse_managed_subnet,
            ..Settings::default()
        }
    }

    /// The state among subnet managers.
    #[must_use]
    pub const fn role(&self) -> SmState {
        self.election.state()
    }

    /// Whether the subnet is this SM's to configure.
    pub(super) fn is_master(&self) -> bool {
        self.election.may_write() && !self.read_only && self.stage != Stage::Yielding
    }

    /// How another SM looks to the election.
    pub(super) fn peer_of(&self, info: &SmInfo) -> Peer {
        // Who hides its key, or asks for none, is not somebody else's.
        let fits = self.cfg.sm_key == MKey::NONE
            || info.sm_key == MKey::NONE
            || info.sm_key == self.cfg.sm_key;
        Peer::new(info, fits)
    }

    /// The other SMs, as they were last seen.
    pub(super) fn peers(&self) -> Vec<Peer> {
        let infos = self.others.values().map(|(_, info)| info);
        infos.map(|info| self.peer_of(info)).collect()
    }

    /// An SM that counts and said when it was asked last that it is master.
    pub(super) fn master_among_others(&self) -> Option<PortGuid> {
        let allowed = self.cfg.allowed_sms.as_ref();
        let counts = |p: &Peer| p.key_fits && allowed.is_none_or(|a| a.contains(&p.guid));
        let masters = self.peers().into_iter().filter(Peer::is_master);
        masters.filter(counts).map(|p| p.guid).next()
    }

    /// Another SM is ferrosm: it is polled at the pace of such.
    pub(super) fn add_peer_sm(&mut self, guid: PortGuid) {
        if self.learned.len() < LEARNED_MAX && self.learned.insert(guid) {
            self.set_election_settings();
        }
    }

    /// The election goes by the settings in force, and by what was learned of other SMs: it is not told again when settings are
    /// read again. Where the operator says that none runs there, that counts.
    pub(super) fn set_election_settings(&mut self) {
        if let Some(allowed) = &self.cfg.allowed_sms {
            self.learned.retain(|guid| allowed.contains(guid));
        }
        let settings = Self::election_settings(&self.cfg, &self.learned);
        self.election.set_settings(settings);
    }

    /// As if it had missed all its polls: the SMs are asked next, and if it answers them, it is waited for again.
    pub(super) fn on_peer_silent(&mut self, guid: PortGuid, doubtful: bool) {
        if self.role() == SmState::Standby && self.election.other() == Some(guid) {
            self.takeover.doubt_silence(doubtful);
        }
        for _ in 0..=u8::MAX {
            if self.role() != SmState::Standby || self.election.other() != Some(guid) {
                return;
            }
            self.elect(election::Input::Silent { guid, paths: 1 });
        }
    }

    /// From now on it is ready to be handed the subnet, or not; the master looks again when it is.
    pub(super) fn on_copying(&mut self, copying: bool) {
        let before = core::mem::replace(&mut self.copying, copying);
        if self.role() == SmState::Standby {
            self.election.set_lacks_copy(copying);
        }
        if let (true, false, SmState::Standby) = (before, copying, self.role())
            && let Some(master) = self.election.other()
        {
            self.announce(master);
        }
    }

    /// The election takes something in, and what it decides is done.
    pub(super) fn elect(&mut self, input: election::Input) {
        self.decide(input, None);
    }

    /// The same, where the answer to a request follows from it.
    pub(super) fn elect_and_reply(&mut self, input: election::Input, request: &MadIn) {
        self.decide(input, Some(request));
    }

    fn decide(&mut self, input: election::Input, request: Option<&MadIn>) {
        let own = self.own_sm_info();
        self.election.set_guid(own.guid);
        let cut_off = input == election::Input::NoLink;
        let was = self.role();
        let decisions = self.election.step(self.now, input);
        self.hold_back();
        if cut_off && was == SmState::Master && self.role() == SmState::Discovering {
            self.outlive_the_link();
        }
        let mut sweeps = false;
        for decision in decisions {
            match decision {
                Decision::Get { to, path } => self.poll_sm(to, path),
                Decision::Set {
                    to,
                    control,
                    as_state,
                } => self.control_sm(to, control, as_state),
                Decision::Reply { accepted } => {
                    if let Some(request) = request {
                        let status = if accepted {
                            Status::OK
                        } else {
                            Status::BAD_FIELD
                        };
                        let answer = smp::response(&request.mad, status, &own.encode());
                        self.out.send(request.from, answer);
                    }
                }
                Decision::Become { state, why } => {
                    // What was copied is wanted as it was before this one is anything else.
                    if was == SmState::Standby
                        && matches!(state, SmState::Discovering | SmState::Master)
                    {
                        self.begin_recall();
                    }
                    self.on_state(state, &why);
                }
                Decision::Sweep => sweeps = true,
                Decision::Look => self.look_wanted = true,
                Decision::Announce { to } => self.announce(to),
                Decision::Stop {
                    handed_to: Some(to),
                } => self.begin_lingering(Some(to)),
                Decision::Stop { handed_to } => {
                    self.takeover.end_alone();
                    self.emit(Event::Stopped {
                        handed_to,
                        was_master: was == SmState::Master,
                    });
                }
                Decision::Notice(said) => self.on_election_notice(&said),
            }
        }
        // Meanwhile another one may have been in charge.
        let unsure = self.takeover.is_unsure();
        let back = self.stage == Stage::Yielding && self.election.may_write() && !unsure;
        if sweeps || back {
            self.distrust_tables();
            self.lids.unconfirm();
        }
        // Without a link the port is looked at now and then, and a sweep begins when it has one.
        if ((sweeps && !cut_off) || back) && !self.waits_for_recall() {
            self.begin_full_sweep();
        }
    }

    /// A master that offers the subnet, or waits for another one, has nothing on its way that writes.
    fn hold_back(&mut self) {
        let yields = self.role() == SmState::Master && !self.election.may_write();
        if yields && self.stage != Stage::Yielding {
            self.leave_off(Stage::Yielding);
        }
    }

    /// What was under way, or was to be begun by the clock, is left for this.
    pub(super) fn leave_off(&mut self, stage: Stage) {
        self.smps.clear();
        self.routing.cancel_job();
        self.schedule.stop_timer();
        self.stage = stage;
    }

    fn on_state(&mut self, state: SmState, why: &election::Why) {
        match state {
            SmState::Standby => {
                self.election.set_lacks_copy(self.copying);
                self.takeover.doubt_silence(false);
            }
            SmState::Master | SmState::NotActive => {
                self.election.set_lacks_copy(false);
                self.takeover.doubt_silence(false);
            }
            // It begins with what it had as standby.
            _ => {}
        }
        if matches!(state, SmState::Standby | SmState::NotActive) {
            self.is_new = false;
            self.leave_off(Stage::Standby);
            self.look_wanted = false;
            self.schedule.cancel();
        }
        if state != SmState::Master || matches!(why, election::Why::HandedOverBy(_)) {
            // Another SM is in charge, or was until now: clients are new to this one when it is master.
            self.first_as_master = true;
            self.lids.unconfirm();
        }
        if state == SmState::Standby && matches!(why, election::Why::HandedOver(_)) {
            self.begin_lingering(None);
        }
        let why = self.with_place(why.to_string(), why.about());
        self.emit(Event::Role { state, why });
    }

    fn on_election_notice(&mut self, said: &Said) {
        if matches!(said, Said::OutsiderGone(_)) {
            self.look_after_outsider();
        }
        let text = self.with_place(said.to_string(), said.about());
        let stays = matches!(
            said,
            Said::NoSuccessor | Said::NotReady(_) | Said::Unwilling(_)
        );
        self.emit(if stays {
            Event::NotHandedOver(text)
        } else if said.is_alarm() {
            Event::Alarm(text)
        } else {
            Event::Noticed(text)
        });
    }

    /// What is said of an SM, with where that one runs.
    fn with_place(&self, said: String, about: Option<PortGuid>) -> String {
        match about {
            Some(guid) => format!("{said} ({})", self.sm_place(guid)),
            None => said,
        }
    }

    /// Where an SM runs, with the cable that leads to it: somebody may have to go there.
    fn sm_place(&self, guid: PortGuid) -> String {
        let Some(at) = self.sm_port(guid) else {
            return "at an unknown place".to_owned();
        };
        let place = self.subnet.describe(at);
        match self.subnet.peer(at) {
            Some(peer) => format!("at {place}, behind {}", self.subnet.describe(peer)),
            None => format!("at {place}"),
        }
    }

    /// The port that an SM was last seen at.
    fn sm_port(&self, guid: PortGuid) -> Option<PortRef> {
        let seen = self.others.get(&guid).map(|(at, _)| *at);
        seen.filter(|at| is_in_fabric(&self.subnet, *at))
            .or_else(|| self.subnet.port_by_guid(guid))
    }

    fn poll_sm(&mut self, to: PortGuid, path: u8) {
        match self.sm_port(to) {
            Some(at) => self
                .smps
                .enqueue_over(SmpOp::SmInfoPoll(at), PathPolicy::Rotate(path)),
            None => self.elect(election::Input::Silent { guid: to, paths: 1 }),
        }
    }

    fn control_sm(&mut self, to: PortGuid, control: SmControl, as_state: SmState) {
        let Some(at) = self.sm_port(to) else {
            self.elect(election::Input::Unanswered { guid: to, control });
            return;
        };
        if control == SmControl::Acknowledge {
            // A courtesy: it is sent, and nothing waits for it, least of all the sweep of the one that took over.
            self.send_untracked(SmpOp::SetSmInfo(at, control, as_state));
        } else {
            self.enqueue(SmpOp::SetSmInfo(at, control, as_state));
        }
    }

    fn send_untracked(&mut self, op: SmpOp) {
        let transaction = SmpTransaction {
            op,
            paths: self.path_policy(),
        };
        if let Some(mad) = self.frame(&transaction, 0, UNTRACKED) {
            self.count_request(op);
            self.out.send(Address::DIRECTED, mad);
        }
    }

    /// Tells a master by trap 144 that there is something to compare (behaviour rule 8.4). It is repeated with the polls, if
    /// that is of use; nobody waits for its end.
    fn announce(&mut self, to: PortGuid) {
        let lid_of = |p: PortRef| self.subnet.lid(p);
        let own = self.subnet.local();
        let from = own.map_or(Lid::NONE, lid_of);
        let master = self.sm_port(to).map_or(Lid::NONE, lid_of);
        // A port without a LID sends no traps; the master asks all SMs now and then.
        let (Some(own), true) = (own, from.is_unicast() && master.is_unicast()) else {
            return;
        };
        let (info, kind) = match (self.subnet.port(own), self.subnet.get(own.node)) {
            (Some(port), Some(node)) => (port.info(), node.info.node_type),
            _ => return,
        };
        let mut data_details = [0; 54];
        LocalChangeDetails {
            lid: from,
            other_local_changes: true,
            capability_mask: info.capability_mask,
            change_flags: LocalChangeDetails::SM_PRIORITY,
            ..LocalChangeDetails::default()
        }
        .encode_onto(&mut data_details);
        let notice = Notice {
            is_generic: true,
            notice_type: NoticeType::Informational,
            producer_type: u32::from(if kind == NodeType::Switch {
                NodeType::Switch.0
            } else {
                NodeType::Ca.0
            }),
            trap_number: TrapNumber::LocalChange,
            issuer_lid: from,
            data_details,
            ..Notice::default()
        };
        let mut data = [0; smp::DATA_LEN];
        notice.encode_onto(&mut data);
        let request = SmpRequest::set(id::NOTICE, AttrMod(0), MKey::NONE, data);
        let mut mad: Mad = request.lid_routed(UNTRACKED);
        let header = MadHeader {
            method: Method::Trap,
            mgmt_class: MgmtClass::SubnLid,
            ..mad.header()
        };
        mad.set_header(&header);
        self.out.send(Address::smp(master), mad);
    }

    /// Asks all SMs that are known: whenever nothing else is under way.
    pub(super) fn begin_look(&mut self) -> bool {
        if !core::mem::take(&mut self.look_wanted) || self.role() != SmState::Master {
            return false;
        }
        if self.stage == Stage::Idle {
            self.stage = Stage::Looking;
        }
        let asked = self.ask_sms();
        self.looks = true;
        if !asked {
            self.finish_look();
        }
        true
    }

    /// The SMs have answered, or not.
    pub(super) fn finish_look(&mut self) {
        self.looks = false;
        if self.stage == Stage::Looking {
            self.stage = Stage::Idle;
        }
        self.go_on_after_look();
    }

    /// The election hears of all SMs.
    pub(super) fn looked(&mut self) {
        let seen = self.peers();
        let managed = self.is_managed();
        self.elect(election::Input::Looked { seen, managed });
    }

    /// Whether ports carry data for a master that is not this SM and did not answer.
    fn is_managed(&self) -> bool {
        let Some(own) = self.subnet.local().map(|p| self.subnet.lid(p)) else {
            return false;
        };
        // This SM's host may have rebooted and have no LID now: others still name the one that it had, or that of the SM that this
        // one goes on for. In another subnet that is somebody else's, but the ports there are not those that are remembered.
        let had = [self.lids.of_sm(&self.subnet), self.last_master_lid()];
        let left = |port: &Port, info: &PortInfo| {
            had.contains(&Some(info.master_sm_lid))
                && self.lids.of(port.guid) == Some((info.lid, info.lmc))
        };
        let ports = self.subnet.end_ports().filter_map(|p| self.subnet.port(p));
        ports.filter(|port| port.known).any(|port| {
            let info = port.info();
            let master = info.master_sm_lid;
            let managed = info.lid.is_unicast() && master.is_unicast();
            managed && master != own && !left(port, &info)
        })
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::time::Instant;

    use super::*;
    use crate::io::Input;
    use crate::kept::Restored;

    fn peers(sm: &SubnetManager) -> Vec<u64> {
        let settings = SubnetManager::election_settings(&sm.cfg, &sm.learned);
        settings.peers.iter().map(|guid| guid.0).collect()
    }

    fn reload(sm: &mut SubnetManager, cfg: SmConfig) {
        sm.handle(Input::Config(Box::new(cfg)), Instant::START);
    }

    fn guids(of: &[u64]) -> Arc<BTreeSet<PortGuid>> {
        Arc::new(of.iter().map(|guid| PortGuid(*guid)).collect())
    }

    /// What was learned of other SMs outlives settings that are read again, whichever peers they name, until they forbid an SM at
    /// that port; and it is no new setting.
    #[test]
    fn what_was_learned_outlives_a_reload() {
        let cfg = SmConfig {
            peer_sms: guids(&[1]),
            ..SmConfig::default()
        };
        let mut sm = SubnetManager::new(cfg.clone(), Restored::default(), Instant::START);
        for guid in [1, 2, 3] {
            sm.handle(Input::PeerSm(PortGuid(guid)), Instant::START);
        }
        reload(&mut sm, cfg.clone());
        assert_eq!((peers(&sm), sm.routing.configuration()), (vec![1, 2, 3], 0));
        let other = SmConfig {
            peer_sms: guids(&[4]),
            ..cfg.clone()
        };
        reload(&mut sm, other);
        assert_eq!(peers(&sm), [1, 2, 3, 4]);
        let narrow = SmConfig {
            peer_sms: guids(&[1]),
            allowed_sms: Some(guids(&[1, 3])),
            ..cfg.clone()
        };
        reload(&mut sm, narrow);
        assert_eq!(peers(&sm), [1, 3]);
        reload(&mut sm, cfg);
        assert_eq!(peers(&sm), [1, 3]);
    }

    /// Whoever tells of SMs without end is heard so long.
    #[test]
    fn what_is_learned_has_an_end() {
        let cfg = SmConfig::default();
        let mut sm = SubnetManager::new(cfg, Restored::default(), Instant::START);
        for guid in 1..1000 {
            sm.handle(Input::PeerSm(PortGuid(guid)), Instant::START);
        }
        assert_eq!(peers(&sm).len(), LEARNED_MAX);
    }
}
