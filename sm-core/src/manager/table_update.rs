//! The order in which a sweep writes tables: P_Keys, multicast entries that conflict with the new
//! routes, VL tables, LFTs, MFTs.

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use super::activity::{SweepPhase, TableUpdate};
use crate::multicast::clear_entries;
use crate::plan::port_settings;
use crate::report::Phase;
use crate::routing_state::AbortedUpdate;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::outcome::SmpOutcome;
use crate::sweep::lft_update::{self, DrainState, LftPrecondition, LftUpdate};
use crate::sweep::link_setup;

impl SubnetManager {
    /// Begins to write tables; `conflicting` are the multicast entries to clear before the LFTs.
    pub(super) fn begin_tables(
        &mut self,
        mut update: Box<TableUpdate>,
        conflicting: Vec<(Lid, NodeIdx)>,
    ) -> SweepPhase {
        self.lids.update_top();
        self.begin_phase(Phase::WriteTables);
        with_ctx!(self, |ctx| self.keys.persist_change(ctx, self.lids.map()));
        if let Some(scope) = self.activity.scope() {
            with_ctx!(self, |ctx| update.partitions.write(ctx, scope));
        }
        // The SM's own port gets its LID even if nothing is connected to it.
        if let Some(local_port) = self.fabric.local() {
            self.configure_unlinked(local_port);
        }
        if with_ctx!(self, |ctx| clear_entries(ctx, conflicting)) {
            update.lfts.wait_for(LftPrecondition::MulticastRemoved);
        } else {
            self.write_vls_and_lfts(&mut update);
        }
        SweepPhase::WriteTables(update)
    }

    /// Writes the PortInfo parameters of a port that link setup does not configure: port 0 of a
    /// switch, or the SM's own port without a link.
    fn configure_unlinked(&mut self, p: PortRef) {
        port_intents!(self, intents);
        let differs = link_setup::needs_params(&self.fabric, &self.cfg, p, intents);
        if !port_settings::can_carry_traffic(&self.fabric, p) && differs {
            self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Params));
        }
    }

    fn write_vls_and_lfts(&mut self, update: &mut TableUpdate) {
        let TableUpdate { vls, lfts, .. } = update;
        if with_ctx!(self, |ctx| self.vls.write(ctx, vls)) && lfts.is_ordered() {
            lfts.wait_for(LftPrecondition::VlTablesWritten);
        } else {
            self.write_lfts(lfts);
        }
    }

    fn write_lfts(&mut self, lfts: &mut LftUpdate) {
        lfts.begin_pass();
        let (top, local) = (self.lids.top(), self.fabric.local());
        let switches: Vec<NodeIdx> = self.fabric.switches().map(|(i, _)| i).collect();
        for n in switches {
            with_ctx!(self, |ctx| lfts.write_switch(
                ctx,
                n,
                (self.routing.desired(), top)
            ));
            let port0 = PortRef::new(n, PortNum::ZERO);
            if Some(port0) != local {
                self.configure_unlinked(port0);
            }
        }
    }

    /// All requests are complete: writes the next stage, the tables after a drain, or begins the
    /// next phase.
    pub(super) fn continue_tables(&mut self, mut update: Box<TableUpdate>) -> SweepPhase {
        let lfts = &mut update.lfts;
        let precondition = lfts.take_precondition();
        if let Some(port) = lfts.take_blocking_port(&self.fabric) {
            return self.abort_tables(update, port, precondition);
        }
        match precondition {
            LftPrecondition::None => {}
            LftPrecondition::MulticastRemoved => self.write_vls_and_lfts(&mut update),
            LftPrecondition::VlTablesWritten => self.write_lfts(&mut update.lfts),
        }
        let lfts = &mut update.lfts;
        if !self.smps.is_idle() || with_ctx!(self, |ctx| lfts.write_next_stage(ctx)) {
            return SweepPhase::WriteTables(update);
        }
        match lfts.poll_drain(self.now, self.cfg.packet_life_time) {
            DrainState::None => {
                if let Some(scope) = self.activity.scope() {
                    with_ctx!(self, |ctx| update.partitions.write_late(ctx, scope));
                }
                if !self.smps.is_idle() {
                    return SweepPhase::WriteTables(update);
                }
                self.routing.on_tables_written();
                self.finish_tables(*update);
                self.begin_multicast()
            }
            DrainState::Draining => SweepPhase::WriteTables(update),
            DrainState::Over(after) => {
                let (tables, routing) = lfts.begin_after_drain(*after);
                self.routing.replace_desired(tables);
                self.put_in_force(routing);
                self.begin_tables(update, Vec::new())
            }
        }
    }

    /// The rejected write of `port` blocks the update. If the drain is not over (entries were
    /// removed, no new ones written), the removed entries are written back. Otherwise switches hold
    /// old and new entries. After the first abort the next sweep begins at once if entries were
    /// removed, or to determine multicast trees that suit both.
    fn abort_tables(
        &mut self,
        mut update: Box<TableUpdate>,
        port: PortRef,
        precondition: LftPrecondition,
    ) -> SweepPhase {
        let vls = precondition == LftPrecondition::VlTablesWritten;
        let mut lfts = core::mem::take(&mut update.lfts);
        let left = if vls || lfts.is_dropping_routes() {
            AbortedUpdate::Mixed
        } else {
            AbortedUpdate::BetweenStages
        };
        let desired = self.routing.desired();
        if let Some(before) = with_ctx!(self, |ctx| lfts.abort(ctx, port, vls, desired)) {
            self.routing.on_aborted(AbortedUpdate::Restored, self.now);
            self.routing.replace_desired(before);
            return self.begin_tables(update, Vec::new());
        }
        let is_first = self.routing.on_aborted(left, self.now);
        if is_first && (lfts.drops_routes() || self.routing.freezes_trees()) {
            self.request_local_sweep();
        }
        self.finish_tables(*update);
        self.begin_multicast()
    }

    /// The phase ends: a full sweep reports the fullest P_Key table; a local sweep has not compared
    /// all of them.
    fn finish_tables(&mut self, update: TableUpdate) {
        if let Some(report) = self.activity.report().filter(|report| !report.is_local()) {
            report.fullest_pkey_table = update.partitions.into_fullest();
        }
    }

    /// When the tables after a drain can be written; `None` if no drain is in progress.
    pub(super) fn drained_at(&self) -> Option<Instant> {
        match self.activity.sweep().map(|sweep| &sweep.phase) {
            Some(SweepPhase::WriteTables(update)) => update.lfts.drained_at(),
            _ => None,
        }
    }

    pub(super) fn on_switch_set(&mut self, n: NodeIdx, outcome: &SmpOutcome) {
        let top = self.lids.top();
        let changed = with_ctx!(self, |ctx| lft_update::on_switch_info_set(
            ctx, n, outcome, top
        ));
        if changed {
            self.schedule.reread_switch(n);
            self.request_local_sweep();
        }
    }
}
