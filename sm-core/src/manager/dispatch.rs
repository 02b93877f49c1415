//! Dispatches responses, timeouts, traps and requests to the components that process them.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadIn, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, DATA_LEN};

use super::SubnetManager;
use crate::deferred_reads::store_table;
use crate::event::WriteFailure;
use crate::mastership::election;
use crate::partitions;
use crate::report::ProblemKind;
use crate::schedule::SweepKind;
use crate::smp::SmpTransaction;
use crate::smp::op::SmpOp;
use crate::smp::queue::TimedOut;
use crate::sweep::discovery;
use crate::sweep::link_setup;
use crate::traps::Reread;
use crate::vls;

impl SubnetManager {
    pub(super) fn on_mad(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let class = mad.mgmt_class();
        if class != MgmtClass::SubnDirected && class != MgmtClass::SubnLid {
            return;
        }
        match mad.method() {
            Method::GetResp => self.on_answer(received),
            // A trap to an SM that is not master is dropped; the sender repeats it (IBA vol. 1, 13.4.9).
            Method::Trap if mad.attr_id() == id::NOTICE && self.is_master() => {
                self.on_trap(received);
            }
            Method::Get | Method::Set => self.on_request(received),
            _ => {}
        }
    }

    /// Processes a response. A response that matches no outstanding request is dropped.
    pub(super) fn on_answer(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let tid = Tid(mad.tid().0 & u64::from(u32::MAX));
        let Some(SmpTransaction { op, .. }) = self.smps.peek(tid) else {
            return;
        };
        if !op.spec().matches_response(mad.attr_id(), mad.attr_mod()) {
            return;
        }
        if mad.status().is_busy() {
            self.smps.on_busy(tid);
            return;
        }
        self.smps.complete(tid);
        let (status, data) = (mad.status(), *smp::data(mad));
        match op {
            SmpOp::NodeInfo(from) => self.on_node_info(from, status, &data),
            SmpOp::NodeDescription(n) => {
                with_ctx!(self, |ctx| discovery::on_description(ctx, n, status, &data));
            }
            SmpOp::SwitchInfo(n) => {
                let (top, mode) = (self.lids.top(), self.read_mode());
                let stays_set = with_ctx!(self, |ctx| discovery::on_switch_info(
                    ctx, n, status, &data, top, mode
                ));
                if let Some(sweep) = self.activity.sweep_mut().filter(|_| stays_set) {
                    sweep.uncleared.insert(n);
                }
            }
            SmpOp::ClearPortStateChange(n) => {
                let mode = self.read_mode();
                with_ctx!(self, |ctx| discovery::on_port_state_change_cleared(
                    ctx, n, status, &data, mode
                ));
            }
            SmpOp::PortInfo(p) => self.on_port_info(p, mad.attr_mod(), status, &data),
            SmpOp::Lft(n, block) => {
                if let Some(readback) = self.activity.readback() {
                    readback.lfts.on_block(n, block, status, &data);
                }
            }
            SmpOp::MlnxExtPortInfo(p) => {
                with_ctx!(self, |ctx| discovery::on_ext_port_info(
                    ctx, p, status, &data
                ));
            }
            SmpOp::Mft(n, at) => {
                if let Some(readback) = self.activity.readback() {
                    with_ctx!(self, |ctx| readback.mfts.on_block(
                        ctx,
                        (n, at),
                        status,
                        &data
                    ));
                }
            }
            SmpOp::SetMft(n, at) => {
                let update = self.activity.mft_update();
                with_ctx!(self, |ctx| self.multicast.on_block_written(
                    ctx,
                    update,
                    (n, at),
                    status,
                    &data
                ));
            }
            SmpOp::SmInfo(p) => self.on_sm_info(p, status, &data),
            SmpOp::SetSwitchInfo(n) => self.on_switch_set(n, status, &data),
            SmpOp::SetLft(n, block) => {
                if let Some(report) = self.activity.report() {
                    report.lft_blocks_written += 1;
                }
                let top = self.lids.top();
                if let Some(update) = self.activity.table_update() {
                    with_ctx!(self, |ctx| update.lfts.on_block_written(
                        ctx,
                        (n, block),
                        status,
                        &data,
                        (self.routing.desired(), top)
                    ));
                }
            }
            SmpOp::SetPortInfo(p, step) => self.on_port_set(p, step, status, &data),
            SmpOp::SetSlToVl(p, at) => {
                if let Some(update) = self.activity.table_update() {
                    with_ctx!(self, |ctx| self.vls.on_sl_to_vl_written(
                        ctx,
                        &mut update.vls,
                        (p, at),
                        status,
                        &data
                    ));
                }
            }
            SmpOp::SetVlArbitration(p, block) => {
                with_ctx!(self, |ctx| self
                    .vls
                    .on_arbitration_written(ctx, p, block, status, &data));
            }
            SmpOp::PKeyTable(p, block) => {
                with_ctx!(self, |ctx| partitions::on_block_read(
                    ctx, p, block, status, &data
                ));
            }
            SmpOp::SetPKeyTable(p, block) => {
                if let Some(update) = self.activity.table_update() {
                    with_ctx!(self, |ctx| update
                        .partitions
                        .on_block_written(ctx, p, block, status, &data));
                }
            }
            SmpOp::SlToVl(..) | SmpOp::VlArbitration(..) => {
                store_table(&mut self.subnet, op, status, &data);
            }
            SmpOp::SetGuidInfo(p, block) => {
                let aliases = self.sa.registry().aliases().tables();
                with_ctx!(self, |ctx| self.deferred_reads.on_guid_info_set(
                    ctx,
                    aliases,
                    (p, block),
                    status,
                    &data
                ));
            }
            SmpOp::SmInfoPoll(p) => self.on_poll_response(p, status, &data),
            SmpOp::SetSmInfo(p, control) => self.on_control_response(p, control, status),
        }
    }

    pub(super) fn on_timeout(&mut self, tid: Tid) {
        let tid = Tid(tid.0 & u64::from(u32::MAX));
        let outcome = self.smps.time_out(tid, self.now);
        let (TimedOut::Retrying(SmpTransaction { op, .. })
        | TimedOut::Failed(SmpTransaction { op, .. })) = outcome
        else {
            return;
        };
        if let Some(report) = self.activity.report() {
            report.smps.entry(op.attr()).or_default().timeouts += 1;
        }
        if matches!(outcome, TimedOut::Failed(_)) {
            self.on_failed(op);
            // Queued requests to a dead device fail together instead of timing out one by one. Handling a failure may clear or add
            // requests.
            while let Some(SmpTransaction { op, .. }) = self.smps.take_hopeless(op) {
                self.on_failed(op);
            }
        }
    }

    /// A request failed: all attempts timed out.
    pub(super) fn on_failed(&mut self, op: SmpOp) {
        if !matches!(
            op,
            SmpOp::MlnxExtPortInfo(_)
                | SmpOp::SlToVl(..)
                | SmpOp::VlArbitration(..)
                | SmpOp::SetGuidInfo(..)
        ) {
            self.schedule.record_timeout(self.now);
        }
        match op {
            SmpOp::NodeInfo(from) => self.on_node_info_failed(from),
            // The next light sweep reads it again.
            SmpOp::NodeDescription(_) => {}
            SmpOp::SwitchInfo(n) | SmpOp::ClearPortStateChange(n) => {
                let mode = self.read_mode();
                with_ctx!(self, |ctx| discovery::on_switch_info_failed(ctx, n, mode));
            }
            SmpOp::PortInfo(p) => {
                self.on_port_info_failed(p, ProblemKind::NoResponse { attr: op.attr() })
            }
            SmpOp::Lft(n, _) => {
                if let Some(readback) = self.activity.readback() {
                    readback.lfts.on_failed(n);
                }
            }
            // Unknown MFT blocks are written. An agent without the vendor's attribute may be silent.
            SmpOp::Mft(..) | SmpOp::MlnxExtPortInfo(_) => {}
            SmpOp::SetMft(n, at) => {
                let kind = ProblemKind::NoResponse { attr: op.attr() };
                let update = self.activity.mft_update();
                with_ctx!(self, |ctx| self.multicast.on_write_failed(
                    ctx,
                    update,
                    (n, at),
                    kind
                ));
            }
            SmpOp::SmInfo(p) => self.mastership.on_sm_unanswered(p),
            SmpOp::SmInfoPoll(p) => self.on_poll_unanswered(p),
            SmpOp::SetSmInfo(p, control) => self.on_control_unanswered(p, control),
            SmpOp::SetSwitchInfo(n) => {
                self.schedule.reread_switch_later(n);
                self.problem(op.port(), ProblemKind::NoResponse { attr: op.attr() });
            }
            SmpOp::SetPortInfo(p, setting) => {
                port_intents!(self, intents);
                with_ctx!(self, |ctx| link_setup::on_set_timeout(
                    ctx, p, setting, intents
                ));
            }
            SmpOp::SetSlToVl(p, _) => {
                let kind = ProblemKind::NoResponse { attr: op.attr() };
                with_ctx!(self, |ctx| vls::on_sl_to_vl_failed(ctx, p, kind));
            }
            SmpOp::SlToVl(..) | SmpOp::VlArbitration(..) => {
                self.deferred_reads.on_table_unanswered(&self.subnet, op);
            }
            SmpOp::SetGuidInfo(p, block) => {
                with_ctx!(self, |ctx| self.deferred_reads.on_guid_info_failed(
                    ctx,
                    p,
                    block,
                    WriteFailure::NoResponse
                ));
            }
            SmpOp::PKeyTable(p, _) | SmpOp::SetVlArbitration(p, _) => {
                let attr = op.attr();
                with_ctx!(self, |ctx| ctx
                    .effects
                    .port_problem(p, ProblemKind::NoResponse { attr }));
            }
            SmpOp::SetPKeyTable(p, _) => {
                let kind = ProblemKind::NoResponse { attr: op.attr() };
                with_ctx!(self, |ctx| partitions::on_write_failed(ctx, p, kind));
            }
            SmpOp::SetLft(n, block) => {
                let failure = Err(ProblemKind::NoResponse { attr: id::LFT });
                let top = self.lids.top();
                if let Some(update) = self.activity.table_update() {
                    with_ctx!(self, |ctx| update.lfts.on_block_done(
                        ctx,
                        (n, block),
                        failure,
                        (self.routing.desired(), top)
                    ));
                }
            }
        }
    }

    pub(super) fn on_trap(&mut self, received: &MadIn) {
        let own_lid = self.lids.sm_lid(&self.subnet);
        let outcome = with_ctx!(self, |ctx| self.traps.on_trap(ctx, received, own_lid));
        if outcome.needs_light_sweep {
            self.schedule.request(SweepKind::Light);
        }
        if let Some((notice, at)) = outcome.forward {
            self.forward(&notice, at);
        }
        for reread in outcome.rereads {
            self.reread(reread);
        }
    }

    /// Reads the devices that traps of rate-limited sources refer to, if their next read is due.
    pub(super) fn reread_after_storms(&mut self) {
        if self.is_master() {
            for reread in self.traps.take_due(self.now) {
                self.reread(reread);
            }
        }
    }

    fn reread(&mut self, reread: Reread) {
        match reread {
            Reread::Switch(n) => {
                self.schedule.reread_switch(n);
                self.want_local();
            }
            Reread::Port(p) => {
                self.schedule.reread_port(p);
                self.want_local();
            }
            Reread::Description(n) => {
                if let Some(node) = self.subnet.get_mut(n) {
                    node.is_description_current = false;
                    self.enqueue(SmpOp::NodeDescription(n));
                }
            }
            Reread::Sms => self.elect(election::ElectionInput::PriorityTrapReceived),
        }
    }

    /// Reads the scheduled ports: at once if a local sweep is discovering or routing, otherwise in a local sweep when the SM is idle.
    pub(super) fn want_local(&mut self) {
        if self.activity.is_local_discovery() {
            self.read_again();
        } else {
            self.schedule.request(SweepKind::Local);
        }
    }

    fn on_request(&mut self, received: &MadIn) {
        let mad = &received.mad;
        if mad.attr_id() == id::SM_INFO {
            self.on_sm_info_request(received);
        } else {
            // The SMA answers all attributes that the node supports.
            let answer = smp::response(mad, Status::BAD_METHOD_ATTR, &[0; DATA_LEN]);
            self.out.send(received.from, answer);
        }
    }
}
