//! Takeover from another master with a replica of its state, and detection of SMs that were master
//! between two scans.
//!
//! A standby with a replica queries the SMs that it knows, becomes master, answers from the
//! replica, and writes MasterSMLID to each end port as soon as discovery has read it. The sweep
//! then compares and writes what differs, as any sweep does.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{PortInfo, PortState, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;

use super::Mastership;
use super::sm_scan::sm_ports;
use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::event::Event;
use crate::io::LoadedReplica;
use crate::outbox::Outbox;
use crate::ports::port_settings;
use crate::records::RestoredState;
use crate::records::lid_map::LidMap;
use crate::smp::PathPolicy;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::queue::Limits;

/// A change of masters in progress.
#[derive(Debug, Default)]
pub(super) struct Takeover {
    /// A replica with a snapshot was loaded, and no sweep as master has completed since.
    pub(super) has_replica_view: bool,
    /// A replica was loaded, with or without a snapshot, and no sweep as master has completed
    /// since.
    pub(super) replica_loaded: bool,
    /// The replica is outdated and is loaded again when there is a link.
    pub(super) replica_outdated: bool,
    /// Time until which SA reads are answered although another SM is master.
    pub(super) sa_reads_until: Option<Instant>,
    /// The SM that took over, to be reported when SA reads are no longer answered.
    pub(super) successor: Option<PortGuid>,
    /// This SM stopped without a successor: the persisted state remains for its next start.
    pub(super) has_ended: bool,
    /// Another SM was master between two scans, or is ignored, and may have written tables, or Sets
    /// of this SM reached other devices: the next full sweep reads the tables again.
    pub(super) foreign_change: bool,
}

impl Takeover {
    /// A sweep as master is complete: the replica was compared with the fabric.
    pub(super) const fn finish_sweep(&mut self) {
        self.has_replica_view = false;
        self.replica_loaded = false;
    }
}

impl Mastership {
    /// A standby may become master soon: its replica is loaded.
    pub(super) fn request_replica(&mut self, ctx: &mut Ctx<'_>) {
        self.takeover = Takeover::default();
        self.replica.request_load(ctx.outbox, ctx.now);
    }

    /// The link is down, or the process stalled, before mastership was decided. The last master may
    /// be alive and have acknowledged registrations that are not in the replica.
    pub(crate) fn distrust_replica(&mut self, ctx: &mut Ctx<'_>) {
        if self.role() != SmState::Discovering {
            return;
        }
        if !self.takeover.replica_loaded && !self.is_awaiting_replica() {
            // A replica that was restored at the start cannot be requested again: this SM has not
            // been standby since.
            return ctx.effects.push(Effect::DiscardStateOfOtherSm);
        }
        self.replica.abandon_load(ctx.outbox);
        self.takeover = Takeover {
            replica_outdated: true,
            ..Takeover::default()
        };
        ctx.effects.push(Effect::DiscardReplica);
    }

    /// Requests an outdated replica again; returns whether it does. A sweep starts when it is
    /// loaded.
    pub(crate) fn reload_replica(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let outdated = core::mem::take(&mut self.takeover.replica_outdated);
        let reloads = outdated && self.role() == SmState::Discovering;
        if reloads {
            self.request_replica(ctx);
            ctx.effects.push(Effect::AwaitReplica);
        }
        reloads
    }

    /// The link of the SM's own port is lost. State that it acknowledged as master stays valid
    /// until another master is seen (ADR 0009).
    pub(super) fn on_link_lost_as_master(&mut self, ctx: &mut Ctx<'_>) {
        self.takeover.has_replica_view = false;
        ctx.effects.push(Effect::PreserveState {
            replica_unverified: core::mem::take(&mut self.takeover.replica_loaded),
        });
    }

    /// Whether a requested replica is awaited.
    pub(crate) const fn is_awaiting_replica(&self) -> bool {
        self.replica.is_loading()
    }

    /// The replica arrived, or there is none. Returns what the takeover starts from; the outer
    /// `None` if the replica is not awaited: a sweep began without it, and clients may have
    /// registered since.
    pub(crate) fn end_replica_load(
        &mut self,
        ctx: &mut Ctx<'_>,
        loaded: LoadedReplica,
    ) -> Option<Option<RestoredState>> {
        self.replica.end_load(ctx.outbox, loaded)
    }

    /// A replica was loaded.
    pub(crate) const fn on_replica_loaded(&mut self, has_view: bool) {
        self.takeover.has_replica_view = has_view;
        self.takeover.replica_loaded = true;
    }

    /// Whether a replica with a snapshot was loaded, and no sweep as master has completed since.
    pub(crate) const fn has_replica_view(&self) -> bool {
        self.takeover.has_replica_view
    }

    /// Ends what has timed out. Returns whether that is the wait for the replica.
    pub(crate) fn on_timeout(&mut self, out: &mut Outbox, now: Instant) -> bool {
        self.replica.on_timeout(out, now)
    }

    /// Replication reports that this standby's replica has all that this master acknowledged.
    pub(crate) fn on_in_sync(&mut self, cfg: &SmConfig, master: PortGuid) {
        self.replica.on_in_sync();
        self.add_ferrosm_peer(cfg, master);
    }

    /// Replication reports that this standby's replica may lack records.
    pub(crate) fn on_out_of_sync(&mut self, now: Instant) {
        self.replica.on_out_of_sync(now);
    }

    /// The master of this standby is silent or steps down. `in_sync`: the replica has all that it
    /// acknowledged.
    pub(crate) fn on_master_end(&mut self, in_sync: bool) {
        self.replica.on_master_end(in_sync);
    }

    /// Whether the replica lacks records, if that changed since the last call.
    pub(crate) fn take_replica_change(&mut self) -> Option<bool> {
        self.replica.take_change()
    }

    /// Whether the LID records must be replaced by the LID map of this SM; once a term.
    pub(crate) const fn take_lid_records_differ(&mut self) -> bool {
        self.replica.take_lid_records_differ()
    }

    /// Starts the SMInfo scan of a takeover; it also reads whether this SM's port has a link.
    pub(crate) fn start_takeover_scan(&mut self, ctx: &mut Ctx<'_>) {
        self.sm_scan_running = true;
        self.other_sms.clear();
        let mut limits = Limits::new(ctx.cfg);
        if !self.election.is_silence_uncertain() {
            // The last master is probably dead: its response is awaited for a shorter time than
            // that of a device.
            limits.timeout = ctx.cfg.smp_timeout / 4;
            limits.retries = 1;
        }
        ctx.smps.set_limits(limits);
        // Over more than one path, because this SM takes over without a second scan.
        for p in sm_ports(ctx.fabric) {
            ctx.smps
                .enqueue_over(SmpOp::SmInfo(p), PathPolicy::EachPathOnce);
        }
        if let Some(local) = ctx.fabric.local() {
            ctx.smps.enqueue(SmpOp::PortInfo(local));
        }
    }

    /// The SMInfo scan of a takeover is complete: this SM becomes master, or standby of another, if
    /// its port is still active.
    pub(super) fn finish_takeover_scan(ctx: &mut Ctx<'_>) -> Effect {
        ctx.smps.set_limits(Limits::new(ctx.cfg));
        let local_port = ctx.fabric.local().and_then(|p| ctx.fabric.port(p));
        if local_port.is_some_and(|port| port.known && port.state() == PortState::Active) {
            Effect::CompareSmsAndSweep
        } else {
            Effect::StartFullSweep
        }
    }

    /// Writes MasterSMLID of an end port that discovery has just read, if nothing else about the
    /// port changed: its host queries this SM long before the sweep writes. `own_lid` is this SM's
    /// LID.
    pub(crate) fn write_sm_lid(
        &self,
        ctx: &mut Ctx<'_>,
        at: PortRef,
        lids: &LidMap,
        own_lid: Option<Lid>,
        last_master: Option<Lid>,
    ) {
        let (Some(node), Some(port), Some(own)) =
            (ctx.fabric.get(at.node), ctx.fabric.port(at), own_lid)
        else {
            return;
        };
        let is_end_port = node.end_ports().any(|num| num == at.port);
        let info = port.info();
        let carries_data = node.is_switch() || info.port_state == PortState::Active;
        let same_lid = lids.get(&port.guid) == Some(&(info.lid, info.lmc));
        // A port with another master has been configured since the replica was made: the sweep
        // compares it first.
        let same_master = Some(info.master_sm_lid) == last_master;
        if is_end_port && carries_data && same_lid && same_master && info.master_sm_lid != own {
            ctx.smps.enqueue(SmpOp::SetPortInfo(at, PortSetting::SmLid));
        }
    }

    /// Detects that another SM was master between two scans, and may be gone: a port that named
    /// this SM as its master names another one. Returns whether the whole fabric has to be read
    /// again, because no other SM corrects such ports. `own_lid` is this SM's LID.
    pub(crate) fn detect_foreign_change(
        &mut self,
        ctx: &mut Ctx<'_>,
        at: PortRef,
        new: &PortInfo,
        is_master: bool,
        own_lid: Option<Lid>,
    ) -> bool {
        // In the first sweep ports name the last master.
        if !is_master || self.first_as_master || self.takeover.foreign_change {
            return false;
        }
        let (Some(node), Some(port), Some(own)) = (
            ctx.fabric.get(at.node),
            ctx.fabric.port(at).filter(|port| port.known),
            own_lid,
        ) else {
            return false;
        };
        let is_end_port = node.end_ports().any(|num| num == at.port);
        let reported_master = new.master_sm_lid;
        // A port that was reset names no master.
        let names_other =
            reported_master.is_unicast() && reported_master != own && new.lid.is_unicast();
        if !is_end_port || PortInfo::master_sm_lid.read(&port.raw) != own || !names_other {
            return false;
        }
        // An ignored SM raises an alarm and keeps writing: this SM does not overwrite its tables in
        // turn.
        let owner = ctx.fabric.port_by_lid(reported_master);
        let guid = owner.and_then(|p| ctx.fabric.port(p)).map(|port| port.guid);
        if guid.is_some_and(|guid| self.election.ignores(guid)) {
            return false;
        }
        self.takeover.foreign_change = true;
        ctx.outbox.emit(Event::ForeignMaster {
            port: ctx.fabric.port_name(at),
            master: reported_master,
        });
        true
    }

    /// Devices may have other values than this SM wrote. Returns whether that is new.
    pub(crate) const fn record_foreign_change(&mut self) -> bool {
        !core::mem::replace(&mut self.takeover.foreign_change, true)
    }

    /// A full sweep has read all ports. Returns whether another SM may have written tables, which
    /// are read next.
    pub(crate) const fn take_foreign_change(&mut self) -> bool {
        core::mem::replace(&mut self.takeover.foreign_change, false)
    }
}

/// Whether all SMs of a restored snapshot are known: then an SMInfo scan finds the next master
/// without discovery.
pub(crate) fn knows_all_sms(
    fabric: &ObservedFabric,
    own_guid: PortGuid,
    snapshot: Option<&Snapshot>,
) -> bool {
    let ports = sm_ports(fabric).into_iter();
    let known_guids: BTreeSet<PortGuid> = ports
        .filter_map(|p| fabric.port(p))
        .map(|port| port.guid)
        .collect();
    snapshot.is_some_and(|snapshot| {
        let mut other_sms = snapshot.sms.iter().filter(|sm| sm.guid != own_guid);
        fabric.local().is_some() && other_sms.all(|sm| known_guids.contains(&sm.guid))
    })
}

/// The PortInfo of a port, with this SM as its master. `own_lid` is this SM's LID.
pub(crate) fn with_sm_lid(
    fabric: &ObservedFabric,
    at: PortRef,
    own_lid: Lid,
    snapshot: Option<&Snapshot>,
) -> Option<[u8; 64]> {
    let mut raw = port_settings::current_port_info(fabric.port(at)?);
    let mut info = PortInfo::decode(&raw);
    info.master_sm_lid = own_lid;
    if let Some(snapshot) = snapshot
        && let Some(end_port) = snapshot.by_lid(info.lid)
    {
        info.master_sm_sl = snapshot.path_sl(end_port, own_lid).0;
    }
    info.encode_onto(&mut raw);
    Some(raw)
}
