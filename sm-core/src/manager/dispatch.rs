//! Dispatches responses, timeouts, traps and requests to the components that process them.

use ferrosm_fabric::observed::{Port, PortRef};
use ferrosm_mad::attr::{PortInfo, id};
use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{Mad, MadIn, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, DATA_LEN, DrPath};

use super::SubnetManager;
use crate::discovery;
use crate::event::Event;
use crate::mastership::sm_info;
use crate::pkeys;
use crate::report::{ProblemKind, SweepKind};
use crate::smp::SmpTransaction;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::smp::queue::TimedOut;
use crate::sweep::activity::Activity;
use crate::sweep::{TableReadback, TableUpdate};

impl SubnetManager {
    pub(super) fn on_mad(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let class = mad.mgmt_class();
        if class != MgmtClass::SubnDirected && class != MgmtClass::SubnLid {
            return;
        }
        match mad.method() {
            Method::GetResp => self.on_response(received),
            // A trap to an SM that is not master is dropped; the sender repeats it (IBA vol. 1,
            // 13.4.9).
            Method::Trap if mad.attr_id() == id::NOTICE && self.is_master() => {
                let own_lid = self.lids.sm_lid(&self.fabric);
                with_ctx!(self, |ctx| self.traps.on_trap(ctx, received, own_lid));
            }
            Method::Get | Method::Set => self.on_request(received),
            _ => {}
        }
    }

    /// Processes a response. A response that matches no outstanding request is dropped.
    pub(super) fn on_response(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let tid = Tid(mad.tid().0 & u64::from(u32::MAX));
        if self.mastership.awaits_sender()
            && with_ctx!(self, |ctx| self
                .mastership
                .on_sender_response(ctx, tid, received))
        {
            return;
        }
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
        let outcome = SmpOutcome::Response {
            status: mad.status(),
            data: *smp::data(mad),
        };
        if let SmpOp::SetPortInfo(p, _) = op
            && mad.status().is_ok()
        {
            self.verify_entry_port(p, mad);
        }
        self.on_outcome(op, &outcome);
    }

    /// A Set(PortInfo) was accepted. If it arrived at another port (LocalPortNum) than earlier
    /// requests, a cable on the DR path was exchanged, so that Sets may have reached other devices:
    /// all devices are read again.
    fn verify_entry_port(&mut self, p: PortRef, mad: &Mad) {
        let Some(last) = self.fabric.port(p).map(Port::local_port_num) else {
            return;
        };
        if PortInfo::local_port_num.read(smp::data(mad)) == last {
            return;
        }
        let path = DrPath::from_smp(mad);
        let end = path.and_then(|path| self.fabric.end_of_path(&path));
        let was_expected = end == Some(PortRef::new(p.node, last));
        if !was_expected {
            return;
        }
        self.lids.on_misdirected_set(self.last_sweep.number);
        if self.mastership.record_foreign_change() {
            self.emit(Event::InconsistencyFound);
            self.request_full_sweep();
        }
    }

    pub(super) fn on_timeout(&mut self, tid: Tid) {
        let tid = Tid(tid.0 & u64::from(u32::MAX));
        let min_retries = self.smps.peek(tid).map_or(0, |t| self.min_retries(t.op));
        let outcome = self.smps.time_out(tid, self.now, min_retries);
        let (TimedOut::Retrying(SmpTransaction { op, .. })
        | TimedOut::Failed(SmpTransaction { op, .. })) = outcome
        else {
            return;
        };
        if matches!(self.activity, Activity::Survey) {
            self.surveys.on_timeout();
        }
        if let Some(report) = self.activity.report() {
            report.smps.entry(op.attr()).or_default().timeouts += 1;
        }
        self.on_timeout_in_light_sweep(op);
        if matches!(outcome, TimedOut::Failed(_)) {
            self.on_unanswered(op);
            // Queued requests to a dead device fail together instead of timing out one by one.
            // Handling a failure may clear or add requests.
            while let Some(SmpTransaction { op, .. }) = self.smps.take_request_to_dead_device(op) {
                self.on_unanswered(op);
            }
        }
    }

    /// Minimum retries of a request, whatever is configured: each M_Key that its target may have is
    /// tried, except in polls of a master, whose port was read and whose failure must be detected
    /// soon.
    fn min_retries(&self, op: SmpOp) -> u8 {
        if matches!(op, SmpOp::SmInfoPoll(_)) {
            return 0;
        }
        let (own, target) = (self.cfg.m_key, op.spec().target);
        self.keys.retries_for_all_keys(&self.fabric, own, target)
    }

    fn on_unanswered(&mut self, op: SmpOp) {
        if let SmpOp::PortInfo(p) = op
            && with_ctx!(self, |ctx| discovery::retry_unanswered_port_info(ctx, p))
        {
            return;
        }
        if let SmpOp::SwitchInfo(n) = op
            && self.on_silent_in_light_sweep(n)
        {
            return;
        }
        if !op.spec().is_optional {
            self.schedule.record_inconsistency(self.now);
        }
        self.on_outcome(op, &SmpOutcome::Unanswered);
    }

    /// A transaction has ended.
    pub(super) fn on_outcome(&mut self, op: SmpOp, outcome: &SmpOutcome) {
        match op {
            SmpOp::NodeInfo(from) => match outcome {
                SmpOutcome::Response { status, data } => self.on_node_info(from, *status, data),
                SmpOutcome::Unanswered => self.on_node_info_failed(from),
            },
            SmpOp::NodeDescription(n) => {
                with_ctx!(self, |ctx| discovery::on_description(ctx, n, outcome));
            }
            SmpOp::SwitchInfo(n) => {
                let top = self.lids.top();
                let mode = self.read_mode();
                with_ctx!(self, |ctx| discovery::on_switch_info(
                    ctx, n, outcome, top, mode
                ));
            }
            SmpOp::ClearPortStateChange(n) => {
                if let Some(discovery) = self.activity.discovery() {
                    discovery.on_port_state_change(n);
                }
                let mode = self.read_mode();
                with_ctx!(self, |ctx| discovery::on_port_state_change_cleared(
                    ctx, n, outcome, mode
                ));
                if let Some(TableReadback { lfts, .. }) = self.activity.readback() {
                    with_ctx!(self, |ctx| lfts.read_switch(ctx, n));
                }
            }
            SmpOp::PortInfo(p) => {
                self.note_own_port_in_light_sweep(p, outcome);
                match outcome {
                    SmpOutcome::Response { status, data } => self.on_port_info(p, *status, data),
                    SmpOutcome::Unanswered => {
                        let attr = op.attr();
                        self.on_port_info_failed(p, ProblemKind::NoResponse { attr });
                    }
                }
            }
            SmpOp::UnreachedPortInfo(p) => {
                if let Some(discovery) = self.activity.discovery() {
                    discovery.on_unreached_port(p, outcome);
                }
            }
            SmpOp::MlnxExtPortInfo(p) => {
                with_ctx!(self, |ctx| discovery::on_ext_port_info(ctx, p, outcome));
            }
            SmpOp::SmInfo(p) => match outcome {
                SmpOutcome::Response { status, data } => {
                    self.mastership.on_sm_info(&self.fabric, p, *status, data);
                }
                SmpOutcome::Unanswered => self.mastership.on_sm_unanswered(p),
            },
            SmpOp::SmInfoPoll(p) => match outcome {
                SmpOutcome::Response { status, data } => {
                    with_ctx!(self, |ctx| self
                        .mastership
                        .on_poll_response(ctx, p, *status, data));
                    self.retire_sm_key();
                }
                SmpOutcome::Unanswered => {
                    with_ctx!(self, |ctx| sm_info::on_poll_unanswered(ctx, p));
                }
            },
            SmpOp::SetSmInfo(p, control) => match outcome {
                SmpOutcome::Response { status, .. } => {
                    with_ctx!(self, |ctx| sm_info::on_control_response(
                        ctx, p, control, *status
                    ));
                }
                SmpOutcome::Unanswered => {
                    with_ctx!(self, |ctx| sm_info::on_control_unanswered(ctx, p, control));
                }
            },
            SmpOp::SetSwitchInfo(n) => self.on_switch_set(n, outcome),
            SmpOp::SetPortInfo(p, setting) => self.on_port_set(p, setting, outcome),
            SmpOp::Lft(n, block) => {
                if let Some(readback) = self.activity.readback() {
                    readback.lfts.on_block(n, block, outcome);
                }
            }
            SmpOp::SetLft(n, block) => {
                if let (Some(report), Some(_)) = (self.activity.report(), outcome.data()) {
                    report.lft_blocks_written += 1;
                }
                let top = self.lids.top();
                if let Some(TableUpdate { lfts, .. }) = self.activity.table_update() {
                    with_ctx!(self, |ctx| lfts.on_block_written(
                        ctx,
                        (n, block),
                        outcome,
                        (self.routing.desired(), top)
                    ));
                }
            }
            SmpOp::Mft(n, at) => {
                if let Some(TableReadback { mfts, .. }) = self.activity.readback() {
                    with_ctx!(self, |ctx| mfts.on_block(ctx, (n, at), outcome));
                }
            }
            SmpOp::SetMft(n, at) => {
                let update = self.activity.mft_update();
                with_ctx!(self, |ctx| self.mfts.on_block_written(
                    ctx,
                    update,
                    (n, at),
                    outcome
                ));
            }
            SmpOp::SetSlToVl(p, at) => {
                if let Some(TableUpdate { vls, .. }) = self.activity.table_update() {
                    with_ctx!(self, |ctx| self.vls.on_sl_to_vl_written(
                        ctx,
                        vls,
                        (p, at),
                        outcome
                    ));
                }
            }
            SmpOp::SetVlArbitration(p, block) => {
                if let Some(TableUpdate { vls, .. }) = self.activity.table_update() {
                    with_ctx!(self, |ctx| vls
                        .on_arbitration_written(ctx, p, block, outcome));
                }
            }
            SmpOp::PKeyTable(p, block) => {
                with_ctx!(self, |ctx| pkeys::on_block_read(ctx, p, block, outcome));
            }
            SmpOp::SetPKeyTable(p, block) => {
                if let Some(TableUpdate { pkeys, .. }) = self.activity.table_update() {
                    with_ctx!(self, |ctx| pkeys.on_block_written(ctx, p, block, outcome));
                }
            }
            SmpOp::SurveyPortInfo(at) => {
                with_ctx!(self, |ctx| self.surveys.on_port_info(ctx, at, outcome));
            }
            SmpOp::SurveyNodeInfo(at) => self.surveys.on_node_info(&self.fabric, at, outcome),
            SmpOp::SlToVl(..) | SmpOp::VlArbitration(..) => {
                if let Some(TableReadback { kept, .. }) = self.activity.readback() {
                    with_ctx!(self, |ctx| kept.on_table(ctx, op, outcome));
                } else {
                    with_ctx!(self, |ctx| self.consent.on_vl_table(ctx, op, outcome));
                }
            }
            SmpOp::GuidInfo(p, block) => {
                let aliases = self.sa.registry().aliases().tables();
                self.alias_guids
                    .on_read(&self.fabric, aliases, (p, block), outcome);
            }
            SmpOp::SetGuidInfo(p, block) => {
                let aliases = self.sa.registry().aliases().tables();
                with_ctx!(self, |ctx| self.alias_guids.on_written(
                    ctx,
                    aliases,
                    (p, block),
                    outcome
                ));
            }
        }
    }

    /// Whether a local sweep reads scheduled devices at once. A sweep that is outpaced by changes
    /// ends first, because further nodes would delay it.
    pub(super) fn rereads_at_once(&self) -> bool {
        (self.activity.is_local_sweep() && self.activity().follows_responses())
            && !self.routing.is_outpaced()
    }

    /// Reads the scheduled ports: at once if a local sweep is discovering or routing, otherwise in
    /// a local sweep when the SM is idle.
    pub(super) fn request_local_sweep(&mut self) {
        if self.rereads_at_once() {
            self.enqueue_rereads();
        } else {
            self.schedule.request(SweepKind::Local);
        }
    }

    fn on_request(&mut self, received: &MadIn) {
        let mad = &received.mad;
        if mad.attr_id() == id::SM_INFO {
            if !self.read_only {
                let has_earlier_key = self.keys.may_have_ports(smp::m_key(mad));
                with_ctx!(self, |ctx| self.mastership.on_request(
                    ctx,
                    received,
                    has_earlier_key
                ));
            }
        } else {
            // The SMA answers all attributes that the node supports.
            let answer = smp::response(mad, Status::BAD_METHOD_ATTR, &[0; DATA_LEN]);
            self.outbox.send(received.from, answer);
        }
    }
}
