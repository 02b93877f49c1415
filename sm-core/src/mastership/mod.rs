//! Mastership: which SM is master of the subnet, and the transitions from one master to the next
//! (IBA vol. 1, 14.4; ADR 0010, 0013).
//!
//! | module | contents |
//! |---|---|
//! | [`decisions`] | carries out what the election decides |
//! | [`sm_info`] | SMInfo on the wire: queries, polls, controls, trap 144 |
//! | [`requesters`] | who sent an SMInfo request: its sender is queried before a control is obeyed or the SM_Key is shown |
//! | [`config_proof`] | in which sections the configuration of another ferrosm SM differs |
//! | [`m_key_proof`] | whether another ferrosm SM has the M_Key of this one |
//! | [`sm_key_proof`] | the proof in Get(SMInfo) that this SM knows the SM_Key |
//! | [`sm_scan`] | queries all SMs outside a sweep |
//! | [`handover`] | SA service after a handover; stalls and lost leases |
//! | [`replica`] | the replica of the master's records, and the role in replication |
//! | [`takeover`] | the replica of the last master's state, and detection of masters between scans |
//!
//! Owned by the subnet manager. What has to happen in other components it adds to the context as
//! [`Effect`](crate::effect::Effect)s, which the manager applies in order before the component is
//! called again.
//! Invariants: a master that [`Election`] does not let write has no request in progress that
//! writes; SMInfo, also in controls, is made by [`Mastership::sm_info`] only.

mod config_proof;
mod decisions;
mod handover;
mod m_key_proof;
mod replica;
mod requesters;
pub(crate) mod sm_info;
mod sm_key_proof;
mod sm_scan;
mod takeover;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::{SmInfo, SmState};
use ferrosm_mad::ids::{MKey, PortGuid};
use ferrosm_mad::time::Instant;

use crate::config::SmConfig;
use crate::config::sections::{ConfigDigests, ConfigSections};
use crate::election::{Election, ElectionSettings, OtherSm, SmMKey};
use crate::report::ignored_sm::IgnoredSm;
use replica::StandbyReplica;
use requesters::SenderQueries;
pub(crate) use sm_scan::sm_ports;
use takeover::Takeover;
pub(crate) use takeover::{knows_all_sms, with_sm_lid};

/// Most SMs that are remembered as ferrosm because they reported it. Further ones are polled at the
/// pace of other SMs.
const FERROSM_PEERS_MAX: usize = 64;

/// The mastership component.
#[derive(Debug)]
pub(crate) struct Mastership {
    election: Election,
    /// An SMInfo scan starts as soon as nothing else is in progress.
    sm_scan_pending: bool,
    /// An SMInfo scan is in progress outside a sweep.
    sm_scan_running: bool,
    takeover: Takeover,
    replica: StandbyReplica,
    /// No sweep as master has completed since the start, or since another SM was master.
    first_as_master: bool,
    /// This SM has not been standby or completed a sweep as master since its start: LIDs may be
    /// reassigned if the operator requests it.
    is_new: bool,
    /// The other SMs by GUID, with the port and the SMInfo of the last response.
    other_sms: BTreeMap<PortGuid, (PortRef, SmInfo)>,
    /// Whether they have the M_Key of this SM, of those that told it.
    other_m_keys: BTreeMap<PortGuid, SmMKey>,
    /// Ports whose SMs reported that they are ferrosm, besides configured ones.
    ferrosm_peers: BTreeSet<PortGuid>,
    /// Requests whose senders are being queried.
    sender_queries: SenderQueries,
    /// The SMs that the last scan as master reported, with their states; `None` without a response.
    reported_sms: BTreeMap<PortGuid, Option<SmState>>,
    /// Those of them that it reported to have another M_Key.
    reported_m_keys: BTreeSet<PortGuid>,
    /// The digests of this SM's configuration.
    config_digests: ConfigDigests,
    /// The sections in which the configurations of other SMs differ, of those that told it.
    other_configs: BTreeMap<PortGuid, ConfigSections>,
    /// Those that this SM reported as master.
    reported_configs: BTreeMap<PortGuid, ConfigSections>,
}

/// The settings of the election.
fn election_settings(cfg: &SmConfig, ferrosm_peers: &BTreeSet<PortGuid>) -> ElectionSettings {
    let peers = if ferrosm_peers.is_empty() {
        Arc::clone(&cfg.peer_sms)
    } else {
        Arc::new(cfg.peer_sms.union(ferrosm_peers).copied().collect())
    };
    ElectionSettings {
        priority: cfg.priority,
        master_priority: cfg.master_priority,
        poll_interval: cfg.sm_poll_interval,
        missed_polls: cfg.sm_poll_retries.saturating_add(1),
        peers,
        peer_poll_interval: cfg.peer_poll_interval,
        peer_missed_polls: cfg.peer_poll_retries.saturating_add(1),
        handover_tries: cfg.handover_tries,
        wait_polls: cfg.wait_polls,
        allowed: cfg.allowed_sms.clone(),
        refuse_managed: cfg.refuse_managed_subnet,
        ..ElectionSettings::default()
    }
}

/// Whether an SM belongs to the same installation: any SM does if no SM_Key is configured,
/// otherwise one that shows the same key, or the earlier one while it is accepted.
fn sm_key_matches(cfg: &SmConfig, info: &SmInfo) -> bool {
    let is_earlier = cfg.earlier_sm_key != MKey::NONE && info.sm_key == cfg.earlier_sm_key;
    cfg.sm_key == MKey::NONE || info.sm_key == cfg.sm_key || is_earlier
}

impl Mastership {
    /// `records_incomplete`: records are missing in the restored state.
    pub(crate) fn new(cfg: &SmConfig, records_incomplete: bool) -> Self {
        let ferrosm_peers = BTreeSet::new();
        let settings = election_settings(cfg, &ferrosm_peers);
        Self {
            election: Election::new(PortGuid(0), settings),
            sm_scan_pending: false,
            sm_scan_running: false,
            takeover: Takeover::default(),
            replica: StandbyReplica::new(records_incomplete),
            first_as_master: true,
            is_new: true,
            other_sms: BTreeMap::new(),
            other_m_keys: BTreeMap::new(),
            ferrosm_peers,
            sender_queries: SenderQueries::default(),
            reported_sms: BTreeMap::new(),
            reported_m_keys: BTreeSet::new(),
            config_digests: ConfigDigests::default(),
            other_configs: BTreeMap::new(),
            reported_configs: BTreeMap::new(),
        }
    }

    /// Records are replicated. Must precede the first output.
    pub(crate) const fn enable_replication(&mut self) {
        self.replica.enable();
    }

    /// The SM state.
    pub(crate) const fn role(&self) -> SmState {
        self.election.state()
    }

    /// Whether other SMs must not see this one yet.
    pub(crate) const fn is_hidden(&self) -> bool {
        self.election.is_hidden()
    }

    /// Whether this SM is master, verified to be, and neither offers the subnet nor waits for
    /// another master.
    pub(crate) const fn may_write(&self) -> bool {
        self.election.may_write()
    }

    /// Whether this SM may acknowledge SA registrations.
    pub(crate) const fn may_register(&self) -> bool {
        self.election.may_register()
    }

    /// Whether no sweep as master has completed since the start, or since another SM was master.
    pub(crate) const fn is_first_as_master(&self) -> bool {
        self.first_as_master
    }

    /// Whether LIDs may still be reassigned.
    pub(crate) const fn is_new(&self) -> bool {
        self.is_new
    }

    /// The SM that this standby polls.
    pub(crate) fn polled_master(&self) -> Option<PortGuid> {
        let is_standby = self.role() == SmState::Standby;
        self.election.other().filter(|_| is_standby)
    }

    /// Whether this SM is standby, and its master did not respond to the last poll.
    pub(crate) const fn doubts_master(&self) -> bool {
        self.election.doubts_master()
    }

    /// Whether a handover is in progress, or follows the SMInfo scan.
    pub(crate) const fn is_handing_over(&self) -> bool {
        self.election.is_handing_over()
    }

    /// Whether this SM has stopped, or will stop after a handover or the SMInfo scan.
    pub(crate) fn is_stopping(&self) -> bool {
        self.election.is_stopping()
    }

    /// When [`Self::on_timeout`] or the election's timer is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.election.poll_timeout();
        let other_timers = [
            self.takeover.sa_reads_until,
            self.replica.poll_timeout(),
            self.sender_queries.poll_timeout(),
        ];
        timer
            .into_iter()
            .chain(other_timers.into_iter().flatten())
            .min()
    }

    /// Whether the election's timer is due.
    pub(crate) fn is_timer_due(&self, now: Instant) -> bool {
        self.election.poll_timeout().is_some_and(|due| due <= now)
    }

    /// The other SMs with a matching SM_Key, as they last responded.
    pub(crate) fn other_sms<'a>(
        &'a self,
        cfg: &SmConfig,
    ) -> impl Iterator<Item = (PortRef, &'a SmInfo)> {
        let other_sms = self.other_sms.values();
        let matching = other_sms.filter(|(_, info)| sm_key_matches(cfg, info));
        matching.map(|(at, info)| (*at, info))
    }

    /// The other SMs that the election ignores, as they last responded.
    pub(crate) fn ignored_sms(&self, cfg: &SmConfig) -> Vec<IgnoredSm> {
        let infos = self.other_sms.values();
        let ignored = infos.filter_map(|(_, info)| {
            let reason = self.election.ignore_reason(&self.peer(cfg, info))?;
            let info = SmInfo {
                sm_key: MKey::NONE,
                ..*info
            };
            Some(IgnoredSm { info, reason })
        });
        ignored.collect()
    }

    /// Numbers of other SMs of the installation that show the SM_Key in force, and that do not.
    pub(crate) fn count_sm_keys(&self, cfg: &SmConfig) -> (usize, usize) {
        let shown = self.other_sms(cfg).map(|(_, info)| info.sm_key);
        let (with, without): (Vec<MKey>, Vec<MKey>) = shown.partition(|key| *key == cfg.sm_key);
        (with.len(), without.len())
    }

    /// The other SMs as the election sees them.
    fn peers(&self, cfg: &SmConfig) -> Vec<OtherSm> {
        let infos = self.other_sms.values();
        infos.map(|(_, info)| self.peer(cfg, info)).collect()
    }

    /// Another SM as the election sees it.
    fn peer(&self, cfg: &SmConfig, info: &SmInfo) -> OtherSm {
        OtherSm::new(info, sm_key_matches(cfg, info), self.m_key_of(info.guid))
    }

    /// Whether another SM has the M_Key of this one.
    pub(crate) fn m_key_of(&self, guid: PortGuid) -> SmMKey {
        self.other_m_keys.get(&guid).copied().unwrap_or_default()
    }

    /// The configuration of this SM, without what operators added at run time.
    pub(crate) fn set_config_digests(&mut self, digests: ConfigDigests) {
        self.config_digests = digests;
        // They compare again at the next query.
        self.other_configs.clear();
    }

    /// The other SMs that told in which sections their configuration differs.
    pub(crate) const fn other_configs(&self) -> &BTreeMap<PortGuid, ConfigSections> {
        &self.other_configs
    }

    /// Whether a master knows another SM, as of the last scan.
    pub(crate) fn knew_other_sm(&self) -> bool {
        self.reported_sms.values().any(Option::is_some)
    }

    /// Whether the SMs that could take over have this SM's M_Key.
    pub(crate) fn keys_of_successors(&self, cfg: &SmConfig) -> BTreeSet<SmMKey> {
        let peers = self.peers(cfg).into_iter();
        let able = peers.filter(|p| p.competes() && p.sm_key_matches);
        able.map(|p| p.m_key).collect()
    }

    /// Whether an SM may be eligible for a handover: it competes, or has not been queried yet.
    pub(crate) fn may_have_successor(&self, fabric: &ObservedFabric, cfg: &SmConfig) -> bool {
        let peers = self.peers(cfg);
        sm_ports(fabric).len() > peers.len() || peers.iter().any(OtherSm::competes)
    }

    /// A node left the fabric.
    pub(crate) fn remove_node(&mut self, n: NodeIdx) {
        self.other_sms.retain(|_, (p, _)| p.node != n);
    }

    /// An SM reported that it is ferrosm: it is polled at the pace of ferrosm SMs.
    pub(crate) fn add_ferrosm_peer(&mut self, cfg: &SmConfig, guid: PortGuid) {
        if self.ferrosm_peers.len() < FERROSM_PEERS_MAX && self.ferrosm_peers.insert(guid) {
            self.update_settings(cfg);
        }
    }

    /// The configuration or the set of ferrosm SMs changed. SMs do not report again after a reload,
    /// so the set survives one, except for SMs that the configuration no longer allows.
    pub(crate) fn update_settings(&mut self, cfg: &SmConfig) {
        if let Some(allowed) = &cfg.allowed_sms {
            self.ferrosm_peers.retain(|guid| allowed.contains(guid));
        }
        let settings = election_settings(cfg, &self.ferrosm_peers);
        self.election.set_settings(settings);
    }

    /// A sweep starts, which queries all SMs: an SMInfo scan in progress is abandoned.
    pub(crate) const fn begin_sweep(&mut self) {
        self.sm_scan_running = false;
    }

    /// A sweep as master is complete.
    pub(crate) const fn finish_sweep(&mut self) {
        self.first_as_master = false;
        self.is_new = false;
        self.takeover.finish_sweep();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peers(mastership: &Mastership, cfg: &SmConfig) -> Vec<u64> {
        let settings = election_settings(cfg, &mastership.ferrosm_peers);
        settings.peers.iter().map(|guid| guid.0).collect()
    }

    fn guids(numbers: &[u64]) -> Arc<BTreeSet<PortGuid>> {
        Arc::new(numbers.iter().map(|guid| PortGuid(*guid)).collect())
    }

    #[test]
    fn ferrosm_peers_survive_a_reload_unless_disallowed() {
        let cfg = SmConfig {
            peer_sms: guids(&[1]),
            ..SmConfig::default()
        };
        let mut mastership = Mastership::new(&cfg, false);
        for guid in [1, 2, 3] {
            mastership.add_ferrosm_peer(&cfg, PortGuid(guid));
        }
        let mut reload = |cfg: &SmConfig| {
            mastership.update_settings(cfg);
            peers(&mastership, cfg)
        };
        assert_eq!(reload(&cfg), [1, 2, 3]);
        let other_cfg = SmConfig {
            peer_sms: guids(&[4]),
            ..cfg.clone()
        };
        assert_eq!(reload(&other_cfg), [1, 2, 3, 4]);
        let narrow = SmConfig {
            peer_sms: guids(&[1]),
            allowed_sms: Some(guids(&[1, 3])),
            ..cfg.clone()
        };
        assert_eq!(reload(&narrow), [1, 3]);
        assert_eq!(reload(&cfg), [1, 3]);
    }

    #[test]
    fn ferrosm_peers_are_bounded() {
        let cfg = SmConfig::default();
        let mut mastership = Mastership::new(&cfg, false);
        for guid in 1..1000 {
            mastership.add_ferrosm_peer(&cfg, PortGuid(guid));
        }
        assert_eq!(peers(&mastership, &cfg).len(), FERROSM_PEERS_MAX);
    }
}
