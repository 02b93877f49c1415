//! Calls [`crate::mastership`]: steps of the election, what it decided, and the replica of another
//! master or this SM's own state.

use std::sync::Arc;

use ferrosm_fabric::observed::PortRef;
use ferrosm_mad::attr::{PortInfo, SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortGuid};
use ferrosm_mad::mad::{Address, MadIn};
use ferrosm_mad::smp::SmpRequest;

use super::SubnetManager;
use crate::adoption::{Adoption, last_epoch};
use crate::config::key_rotation::KeyKind;
use crate::effect::Effect;
use crate::election::{self, AfterHandover};
use crate::event::AboutSm;
use crate::io::{LoadedReplica, PeerEvent, ReplicaEvent, StepDownReason};
use crate::maintenance::MaintenanceList;
use crate::maintenance::port_limits::PortLimitList;
use crate::mastership::{Mastership, knows_all_sms, sm_ports};
use crate::records::RestoredState;
use crate::smp::op::{SmpOp, Target};
use crate::smp::sender::SenderQuery;
use crate::smp::{SmpTransaction, UNTRACKED};
use crate::sweep::SweepPhase;
use crate::sweep::activity::Activity;

impl SubnetManager {
    /// The SM state.
    #[must_use]
    pub const fn role(&self) -> SmState {
        self.mastership.role()
    }

    /// Another SM, with its location.
    #[must_use]
    pub fn describe_sm(&self, guid: PortGuid) -> AboutSm<PortGuid> {
        self.mastership.describe_sm(&self.fabric, guid)
    }

    /// The SM that a standby polls.
    pub(super) fn polled_master(&self) -> Option<AboutSm<PortGuid>> {
        let master = self.mastership.polled_master()?;
        Some(self.describe_sm(master))
    }

    /// Whether this SM configures the subnet now. Also true while it awaits its replica
    /// ([`Activity::AwaitReplica`]), when no sweep runs.
    pub(super) fn is_master(&self) -> bool {
        self.mastership.may_write()
            && !self.read_only
            && !matches!(self.activity, Activity::AwaitMastership)
    }

    /// The SMInfo of this SM, in a response or in a control that it sends.
    pub(super) fn own_sm_info(&self, control: Option<SmControl>) -> SmInfo {
        let sent = self.outbox.sent();
        self.mastership
            .sm_info(&self.cfg, &self.fabric, sent, control)
    }

    /// Steps the election, and applies what it decides.
    pub(super) fn step_election(&mut self, input: election::ElectionInput) {
        self.apply(Effect::Elect(input));
    }

    /// Steps the election, which replies to a request. The decisions are effects that follow.
    pub(super) fn elect(&mut self, input: election::ElectionInput, request: Option<&MadIn>) {
        with_ctx!(self, |ctx| self.mastership.step(ctx, input, request));
    }

    pub(super) fn carry_out(&mut self, decision: election::Decision) {
        let role = decision.role();
        let (is_master, has_view) = (self.is_master(), self.view().is_some());
        with_ctx!(self, |ctx| {
            self.mastership
                .carry_out(ctx, decision, is_master, has_view);
            if let Some((state, handed_to)) = role {
                ctx.effects.push(Effect::ReportRole(state, handed_to));
            }
        });
    }

    pub(super) fn sweep_as_elected(&mut self, is_link_down: bool) {
        self.distrust_tables();
        self.lids.unconfirm();
        // Without a link the port is read from time to time, and a sweep starts when the link is
        // up.
        if is_link_down {
            return;
        }
        if self.mastership.is_awaiting_replica() {
            self.abandon_for(Activity::AwaitReplica);
        } else {
            self.begin_full_sweep();
        }
    }

    /// Abandons what is in progress or due.
    pub(super) fn abandon_for(&mut self, activity: Activity) {
        self.smps.clear();
        self.routing.cancel_job();
        self.schedule.stop_timer();
        self.set_activity(activity);
    }

    pub(super) fn send_untracked(&mut self, op: SmpOp) {
        let transaction = SmpTransaction {
            op,
            paths: self.activity.paths(),
        };
        if let Some(mad) = self.build_mad(&transaction, 0, UNTRACKED) {
            self.count_request(op);
            self.outbox.send(Address::DIRECTED, mad);
        }
    }

    /// Queries the SM at the port that a request came from.
    pub(super) fn query_sender(&mut self, query: SenderQuery) {
        let SenderQuery {
            sender,
            attr,
            tid,
            attempt,
        } = query;
        let m_key = sender.port.map_or(MKey::NONE, |port| {
            let target = Target::Port(port);
            self.keys
                .key_for(&self.fabric, self.cfg.m_key, target, attempt)
        });
        let mut request = SmpRequest::get(attr, AttrMod(0), m_key);
        if attr == id::SM_INFO {
            request.data = self
                .mastership
                .sm_info_request(&self.cfg, &self.fabric, sender.port);
        }
        let mad = request.directed(&sender.path, tid);
        self.outbox.send(Address::DIRECTED, mad);
    }

    /// Replication reports about the replica.
    pub(super) fn on_replica_event(&mut self, event: ReplicaEvent) {
        match event {
            ReplicaEvent::InSync(master) => self.mastership.on_in_sync(&self.cfg, master),
            ReplicaEvent::OutOfSync => self.mastership.on_out_of_sync(self.now),
            ReplicaEvent::KeyRotation(kind, rotation) => self.on_key_rotation(kind, rotation),
            ReplicaEvent::Loaded(loaded) => self.on_replica_loaded(loaded),
        }
    }

    /// Replication or the driver reports that an SM is alive, silent or replaced.
    pub(super) fn on_peer_event(&mut self, event: PeerEvent) {
        match event {
            PeerEvent::Ferrosm(guid) => self.mastership.add_ferrosm_peer(&self.cfg, guid),
            PeerEvent::Silent {
                guid,
                in_sync,
                uncertain,
            } => {
                self.mastership.on_master_end(in_sync);
                self.step_election(election::ElectionInput::PeerSilent { guid, uncertain });
            }
            PeerEvent::Leaving {
                guid,
                reason,
                in_sync,
            } => {
                self.mastership.on_master_end(in_sync);
                // A handover is announced by HANDOVER.
                if reason == StepDownReason::NoSuccessor {
                    let uncertain = false;
                    self.step_election(election::ElectionInput::PeerSilent { guid, uncertain });
                }
            }
            PeerEvent::Stalled => {
                self.outbox.drop_replies();
                self.on_stalled();
            }
            PeerEvent::LeaseLost => self.on_lease_lost(),
            PeerEvent::Deposed(by) => self.step_election(election::ElectionInput::Deposed(by)),
        }
    }

    pub(super) fn begin_handover(&mut self, after: AfterHandover) {
        let sms_known = match after {
            // If the last SMInfo scan found no eligible SM, no SM is queried: the running sweep
            // continues.
            AfterHandover::StandBy => self.mastership.may_have_successor(&self.fabric, &self.cfg),
            AfterHandover::Stop => !sm_ports(&self.fabric).is_empty(),
        };
        self.step_election(election::ElectionInput::HandOver {
            then: after,
            sms_known,
        });
    }

    fn on_stalled(&mut self) {
        let activity = self.activity();
        with_ctx!(self, |ctx| self.mastership.on_stalled(ctx, activity));
    }

    fn on_lease_lost(&mut self) {
        let activity = self.activity();
        with_ctx!(self, |ctx| Mastership::on_lease_lost(ctx, activity));
    }

    /// Ends what has timed out.
    pub(super) fn on_mastership_timeout(&mut self) {
        with_ctx!(self, |ctx| self.mastership.end_sa_reads(ctx));
        while self.mastership.awaits_sender()
            && with_ctx!(self, |ctx| self.mastership.on_sender_timeout(ctx))
        {}
        if self.mastership.on_timeout(&mut self.outbox, self.now) {
            self.adopt_replica(None);
        }
        if self.mastership.take_lid_records_differ() {
            self.outbox.persist(self.lids.all_records());
        }
        if let Some(is_incomplete) = self.mastership.take_replica_change() {
            self.step_election(election::ElectionInput::ReplicaChanged { is_incomplete });
        }
        if self.mastership.is_timer_due(self.now) {
            self.step_election(election::ElectionInput::Timer);
        }
    }

    /// Starts the pending SMInfo scan, if any.
    pub(super) fn begin_sm_scan(&mut self) -> bool {
        if !self.mastership.take_pending_scan() {
            return false;
        }
        if self.activity.is_idle() {
            self.set_activity(Activity::SmScan);
        }
        if !with_ctx!(self, |ctx| self.mastership.start_scan(ctx)) {
            self.finish_sm_scan();
        }
        true
    }

    pub(super) fn finish_sm_scan(&mut self) {
        if matches!(self.activity, Activity::SmScan) {
            self.set_activity(Activity::Idle);
        }
        with_ctx!(self, |ctx| self.mastership.finish_scan(ctx));
    }

    /// Abandons an SMInfo scan outside a sweep.
    pub(super) fn end_sm_scan(&mut self) {
        self.smps.clear();
        if matches!(self.activity, Activity::SmScan) {
            self.set_activity(Activity::Idle);
        }
    }

    /// The SMInfo scan of a sweep.
    pub(super) fn begin_sm_scan_of_sweep(&mut self) {
        self.begin_phase(SweepPhase::SmScan);
        if let Some(discovery) = self.activity.discovery() {
            discovery.begin_sm_scan();
        }
        let local = self.activity.is_local_sweep();
        with_ctx!(self, |ctx| self.mastership.query_sms_in_sweep(ctx, local));
    }

    /// The SMs have responded. The sweep waits while mastership is undecided.
    pub(super) fn finish_sm_scan_of_sweep(&mut self) {
        let sweep = self.last_sweep.number;
        self.compare_sms();
        let is_other_sweep = self.last_sweep.number != sweep;
        if !is_other_sweep && self.is_master() {
            self.compare_restored_view();
            self.begin_reading();
        }
    }

    /// Steps the election with the SMs as they last responded.
    pub(super) fn compare_sms(&mut self) {
        let own_lid = self.lids.sm_lid(&self.fabric);
        let last_master = self.adoption.last_master_lid();
        let lids = self.lids.map();
        let input =
            self.mastership
                .scan_result(&self.fabric, &self.cfg, lids, own_lid, last_master);
        self.step_election(input);
        with_ctx!(self, |ctx| self.mastership.report_sms(ctx));
        self.retire_sm_key();
    }

    /// Discards a replica that may be outdated.
    pub(super) fn distrust_replica(&mut self) {
        with_ctx!(self, |ctx| self.mastership.distrust_replica(ctx));
    }

    /// Requests an outdated replica again; returns whether it does.
    pub(super) fn reload_replica(&mut self) -> bool {
        with_ctx!(self, |ctx| self.mastership.reload_replica(ctx))
    }

    fn on_replica_loaded(&mut self, loaded: LoadedReplica) {
        let restored = with_ctx!(self, |ctx| self.mastership.end_replica_load(ctx, loaded));
        if let Some(restored) = restored {
            self.adopt_replica(restored);
        }
    }

    /// Continues the takeover with the replica; `None` if there is none.
    fn adopt_replica(&mut self, restored: Option<RestoredState>) {
        self.step_election(election::ElectionInput::ReplicaLoadEnded);
        if self.role() != SmState::Master {
            // The view of this SM's own term, which has just ended, is older than the replica.
            let _ = self.withdraw_view();
        }
        match restored {
            Some(restored) => self.load_replica(restored),
            None => self.clear_registrations(),
        }
        if !matches!(self.activity, Activity::AwaitReplica) {
            return;
        }
        self.set_activity(Activity::Idle);
        let own_guid = self.own_sm_info(None).guid;
        let view = self.adoption.restored_view().map(Arc::as_ref);
        if self.role() == SmState::Discovering && knows_all_sms(&self.fabric, own_guid, view) {
            self.set_activity(Activity::SmScan);
            with_ctx!(self, |ctx| self.mastership.start_takeover_scan(ctx));
        } else {
            self.begin_full_sweep();
        }
    }

    fn load_replica(&mut self, restored: RestoredState) {
        self.adoption = Adoption::of_replica(&restored, self.now);
        self.partitions.load_replica(restored.partitions.clone());
        self.maintenance = MaintenanceList::new(&restored);
        self.port_limits = PortLimitList::new(&restored);
        self.cfg.port_limits = self.port_limits.in_force();
        self.partitions_changed();
        self.maintenance_changed();
        self.consent.load_replica(&restored);
        self.apply_consent();
        self.vls.load_replica(last_epoch(&restored));
        self.keys.load_replica(&restored);
        self.sm_key
            .set_rotation(restored.rotation_of(KeyKind::SmKey));
        self.lids.load_replica(restored.lids);
        self.update_m_key();
        self.update_sm_key();
        let has_view = restored.snapshot.is_some();
        self.sa.load_replica(&restored.registrations, self.now);
        self.mastership.on_replica_loaded(has_view);
    }

    /// The master's own link is lost: its state is preserved as across a restart (ADR 0009). When
    /// the link is back, ports show whether another SM was master meanwhile.
    pub(super) fn preserve_state(&mut self, replica_unverified: bool) {
        if self.adoption.is_view_in_use() || self.view().is_none() {
            if replica_unverified {
                // The master whose records were loaded may be alive.
                self.adoption.mark_registrations_incomplete();
            }
            return;
        }
        let Some(view) = self.withdraw_view() else {
            return;
        };
        self.adoption
            .restore_own_snapshot(view.snapshot(), self.vls.epoch(), self.now);
    }

    /// Tables are about to be forgotten. Those that cannot be read back count as unchanged if the
    /// device shows that no other SM was master meanwhile ([`crate::adoption`]).
    pub(super) fn remember_tables(&mut self) {
        let wrote_tables = self.role() == SmState::Master
            && !self.read_only
            && !self.mastership.is_awaiting_replica();
        if wrote_tables
            && !self.adoption.is_view_in_use()
            && let Some(view) = self.view().cloned()
        {
            self.adoption
                .adopt_own_tables(view.snapshot(), self.vls.epoch());
        }
    }

    /// A port was read in a takeover: its MasterSMLID is written at once.
    pub(super) fn write_sm_lid_early(&mut self, at: PortRef) {
        let discovering = self.activity().is_full_discovery();
        if !self.mastership.has_replica_view() || !discovering || !self.is_master() {
            return;
        }
        let own_lid = self.lids.sm_lid(&self.fabric);
        let last_master = self.adoption.last_master_lid();
        with_ctx!(self, |ctx| {
            let lids = self.lids.map();
            self.mastership
                .write_sm_lid(ctx, at, lids, own_lid, last_master);
        });
    }

    /// A port was read; `new` is not yet in the fabric.
    pub(super) fn detect_foreign_change(&mut self, at: PortRef, new: &PortInfo) {
        let is_master = self.is_master();
        let own_lid = self.lids.sm_lid(&self.fabric);
        let detected = with_ctx!(self, |ctx| self
            .mastership
            .detect_foreign_change(ctx, at, new, is_master, own_lid));
        if detected && !self.activity().is_full_discovery() {
            self.request_full_sweep();
        }
    }

    /// A full sweep has read all ports: tables that another SM may have written are read next.
    pub(super) fn distrust_tables_after_foreign_change(&mut self) {
        if !self.activity.is_local_sweep()
            && self.mastership.take_foreign_change()
            && self.is_master()
        {
            self.distrust_tables();
            self.lids.unconfirm();
        }
    }

    /// In a takeover: this SM's LID, which devices may name as their master already.
    pub(super) fn announced_master(&self) -> Option<Lid> {
        self.lids
            .sm_lid(&self.fabric)
            .filter(|_| self.mastership.has_replica_view())
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::time::Instant;

    use super::*;
    use crate::config::SmConfig;
    use crate::io::Input;

    #[test]
    fn ferrosm_peers_are_not_part_of_the_configuration() {
        let cfg = SmConfig::default();
        let mut sm = SubnetManager::new(cfg.clone(), RestoredState::default(), Instant::START);
        let ferrosm = PeerEvent::Ferrosm(PortGuid(2));
        sm.handle(Input::Peer(ferrosm), Instant::START);
        sm.handle(Input::Config(Box::new(cfg)), Instant::START);
        assert_eq!(sm.routing.configuration(), 0);
    }
}
