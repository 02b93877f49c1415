//! The order in which a sweep writes tables: P_Keys, multicast entries that conflict with the new
//! routes, VL tables, LFTs, MFTs.

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::lfts::update::{DrainState, LftPrecondition, LftUpdate, on_switch_info_set};
use crate::mfts::clear_entries;
use crate::ports::link_setup;
use crate::ports::port_settings;
use crate::report::SweepKind;
use crate::routing::AbortedUpdate;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::outcome::SmpOutcome;
use crate::sweep::activity::Activity;
use crate::sweep::{SweepPhase, TableUpdate};

impl SubnetManager {
    /// Begins to write tables; `conflicting` are the multicast entries to clear before the LFTs.
    pub(super) fn begin_tables(&mut self, lfts: LftUpdate, conflicting: Vec<(Lid, NodeIdx)>) {
        let update = TableUpdate {
            lfts,
            ..TableUpdate::default()
        };
        self.begin_phase(SweepPhase::WriteTables(Box::new(update)));
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.discovery = None;
        }
        self.write_tables(conflicting);
    }

    fn write_tables(&mut self, conflicting: Vec<(Lid, NodeIdx)>) {
        self.lids.update_top();
        with_ctx!(self, |ctx| self.keys.persist_change(ctx, self.lids.map()));
        if let Some((scope, TableUpdate { pkeys, .. })) = self.activity.scoped_table_update() {
            with_ctx!(self, |ctx| {
                let cfg = ctx.cfg;
                let consent = &mut self.consent;
                pkeys.write(ctx, scope, &mut |fabric, p| {
                    consent.allows_p_keys(fabric, cfg, p)
                });
            });
        }
        // The SM's own port gets its LID even if nothing is connected to it.
        if let Some(local_port) = self.fabric.local() {
            self.configure_unlinked(local_port);
        }
        if !with_ctx!(self, |ctx| clear_entries(ctx, conflicting)) {
            self.write_vls_and_lfts();
        } else if let Some(TableUpdate { lfts, .. }) = self.activity.table_update() {
            lfts.wait_for(LftPrecondition::MulticastRemoved);
        }
    }

    /// Tables are written again, after a drain or an abort.
    fn rewrite_tables(&mut self) {
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.end_phase(self.now);
        }
        self.announce_phase();
        self.write_tables(Vec::new());
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

    fn write_vls_and_lfts(&mut self) {
        let Some(TableUpdate { vls, lfts, .. }) = self.activity.table_update() else {
            return;
        };
        let lfts_wait = with_ctx!(self, |ctx| {
            let lfts_wait = self.vls.write(ctx, vls) && lfts.is_ordered();
            if lfts_wait {
                lfts.wait_for(LftPrecondition::VlTablesWritten);
            }
            lfts_wait
        });
        if !lfts_wait {
            self.write_lfts();
        }
    }

    fn write_lfts(&mut self) {
        if let Some(TableUpdate { lfts, .. }) = self.activity.table_update() {
            lfts.begin_pass();
        }
        let (top, local) = (self.lids.top(), self.fabric.local());
        let switches: Vec<NodeIdx> = self.fabric.switches().map(|(i, _)| i).collect();
        for n in switches {
            if let Some(TableUpdate { lfts, .. }) = self.activity.table_update() {
                let desired = (self.routing.desired(), top);
                with_ctx!(self, |ctx| lfts.write_switch(ctx, n, desired));
            }
            let port0 = PortRef::new(n, PortNum::ZERO);
            if Some(port0) != local {
                self.configure_unlinked(port0);
            }
        }
    }

    /// All requests are complete: writes the next stage, the tables after a drain, or begins the
    /// next phase.
    pub(super) fn continue_tables(&mut self) {
        let Some(TableUpdate { lfts, .. }) = self.activity.table_update() else {
            return;
        };
        let precondition = lfts.take_precondition();
        if let Some(port) = lfts.take_blocking_port(&self.fabric) {
            return self.abort_tables(port, precondition);
        }
        match precondition {
            LftPrecondition::None => {}
            LftPrecondition::MulticastRemoved => self.write_vls_and_lfts(),
            LftPrecondition::VlTablesWritten => self.write_lfts(),
        }
        if self.smps.is_idle()
            && let Some(TableUpdate { lfts, .. }) = self.activity.table_update()
            && !with_ctx!(self, |ctx| lfts.write_next_stage(ctx))
        {
            self.end_tables_after_drain();
        }
    }

    /// All stages are written: begins the next phase, or writes the tables after a drain when it is
    /// over.
    fn end_tables_after_drain(&mut self) {
        let Some((scope, update)) = self.activity.scoped_table_update() else {
            return;
        };
        let TableUpdate { pkeys, lfts, .. } = update;
        match lfts.poll_drain(self.now, self.cfg.packet_life_time) {
            DrainState::None => {
                with_ctx!(self, |ctx| {
                    let cfg = ctx.cfg;
                    let consent = &mut self.consent;
                    pkeys.write_late(ctx, scope, &mut |fabric, p| {
                        consent.allows_p_keys(fabric, cfg, p)
                    });
                });
                if self.smps.is_idle() {
                    self.routing.on_tables_written();
                    self.end_tables();
                }
            }
            DrainState::Draining => {}
            DrainState::NextPass(pass) => {
                let tables = lfts.begin_next_pass(pass);
                self.routing.replace_desired(tables);
                self.rewrite_tables();
            }
            DrainState::Over(after) => {
                let (tables, routing) = lfts.begin_after_drain(*after);
                self.routing.replace_desired(tables);
                self.put_in_force(routing);
                self.rewrite_tables();
            }
        }
    }

    /// The rejected write of `port` blocks the update. If the drain is not over (entries were
    /// removed, no new ones written), the removed entries are written back. Otherwise switches hold
    /// old and new entries. After the first abort the next sweep begins at once if entries were
    /// removed, or to determine multicast trees that suit both.
    fn abort_tables(&mut self, port: PortRef, precondition: LftPrecondition) {
        let Some(update) = self.activity.table_update() else {
            return;
        };
        let mut lfts = core::mem::take(&mut update.lfts);
        let vls = precondition == LftPrecondition::VlTablesWritten;
        let left = if vls || lfts.is_dropping_routes() {
            AbortedUpdate::Mixed
        } else {
            AbortedUpdate::BetweenStages
        };
        let desired = self.routing.desired();
        if let Some(before) = with_ctx!(self, |ctx| lfts.abort(ctx, port, vls, desired)) {
            self.routing.on_aborted(AbortedUpdate::Restored, self.now);
            self.routing.replace_desired(before);
            return self.rewrite_tables();
        }
        let is_first = self.routing.on_aborted(left, self.now);
        if is_first && (lfts.drops_routes() || self.routing.freezes_trees()) {
            self.request_local_sweep();
        }
        self.end_tables();
    }

    /// LFTs are written: MFTs follow. A full sweep reports the fullest P_Key table; a local sweep
    /// has not compared all of them.
    fn end_tables(&mut self) {
        if let Activity::Sweep(sweep) = &mut self.activity
            && let SweepPhase::WriteTables(update) = &mut sweep.phase
            && sweep.scope.kind() == SweepKind::Full
        {
            sweep.report.fullest_pkey_table = update.pkeys.take_fullest();
        }
        self.begin_multicast();
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
        let changed = with_ctx!(self, |ctx| on_switch_info_set(ctx, n, outcome, top));
        if changed {
            self.schedule.reread_switch(n);
            self.request_local_sweep();
        }
    }
}
