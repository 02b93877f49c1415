//! SMInfo scans: query all SMs that discovery found, in a sweep or outside one (IBA vol. 1,
//! 14.4.1).

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::{PortInfo, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};

use super::Mastership;
use super::sm_info::sm_guid;
use crate::config::SmConfig;
use crate::config::sections::ConfigSections;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::election::{ElectionInput, ElectionNotice, SmMKey};
use crate::records::lid_map::LidMap;
use crate::smp::op::SmpOp;

/// Ports whose PortInfo reports an SM, except the SM's own port.
pub(crate) fn sm_ports(fabric: &ObservedFabric) -> Vec<PortRef> {
    let local = fabric.local();
    let ports = fabric.end_ports().filter(|p| Some(*p) != local);
    ports
        .filter(|p| fabric.port(*p).is_some_and(Port::has_sm))
        .collect()
}

/// Whether end ports are in use by a master that is not this SM and did not respond. `own_lid` is
/// the LID assigned to this SM, `last_master` that of the master whose state was restored.
fn is_managed(
    fabric: &ObservedFabric,
    lids: &LidMap,
    own_lid: Option<Lid>,
    last_master: Option<Lid>,
) -> bool {
    let Some(reported) = fabric.local().map(|p| fabric.lid(p)) else {
        return false;
    };
    // After a reboot this SM's port has no LID, and other ports still name its last one, or that of
    // the SM it succeeds. In another subnet that LID belongs to another SM, but the ports there do
    // not have the LIDs of the map.
    let known_masters = [own_lid, last_master];
    let is_own_subnet = |port: &Port, info: &PortInfo| {
        known_masters.contains(&Some(info.master_sm_lid))
            && lids.get(&port.guid) == Some(&(info.lid, info.lmc))
    };
    let ports = fabric.end_ports().filter_map(|p| fabric.port(p));
    ports.filter(|port| port.known).any(|port| {
        let info = port.info();
        let master = info.master_sm_lid;
        let has_master = info.lid.is_unicast() && master.is_unicast();
        has_master && master != reported && !is_own_subnet(port, &info)
    })
}

impl Mastership {
    /// Queries all SMs; returns whether there are any. SMs at ports that no longer report one are
    /// removed.
    pub(crate) fn query_sms(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let ports = sm_ports(ctx.fabric);
        self.other_sms.retain(|_, (p, _)| ports.contains(p));
        for p in &ports {
            ctx.smps.enqueue(SmpOp::SmInfo(*p));
        }
        !ports.is_empty()
    }

    /// As [`Self::query_sms`], in a sweep. A full sweep first removes the known SMs.
    pub(crate) fn query_sms_in_sweep(&mut self, ctx: &mut Ctx<'_>, is_local: bool) {
        if !is_local {
            self.other_sms.clear();
        }
        self.query_sms(ctx);
    }

    /// Takes the request for a scan; returns whether to start one.
    pub(crate) fn take_pending_scan(&mut self) -> bool {
        core::mem::take(&mut self.sm_scan_pending) && self.role() == SmState::Master
    }

    /// Starts a scan outside a sweep; returns whether there are SMs to wait for.
    pub(crate) fn start_scan(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.sm_scan_running = true;
        self.query_sms(ctx)
    }

    pub(crate) const fn is_scan_running(&self) -> bool {
        self.sm_scan_running
    }

    /// Starts a scan next, and abandons one in progress.
    pub(super) fn restart_scan(&mut self, ctx: &mut Ctx<'_>) {
        self.sm_scan_pending = true;
        if core::mem::replace(&mut self.sm_scan_running, false) {
            ctx.effects.push(Effect::EndSmScan);
        }
    }

    /// All SMs have responded or timed out.
    pub(crate) fn finish_scan(&mut self, ctx: &mut Ctx<'_>) {
        self.sm_scan_running = false;
        let next = if self.role() == SmState::Discovering {
            Self::finish_takeover_scan(ctx)
        } else {
            Effect::CompareSms
        };
        ctx.effects.push(next);
    }

    /// SMs whose configuration differs, or differs in other sections than reported before. `found`
    /// are the SMs, and whether they respond.
    fn add_other_configs(
        &mut self,
        found: &BTreeMap<PortGuid, Option<SmState>>,
        notices: &mut Vec<ElectionNotice>,
    ) {
        let differing: BTreeMap<PortGuid, ConfigSections> = self
            .other_configs
            .iter()
            .filter(|(guid, sections)| {
                found.get(guid).is_some_and(Option::is_some) && !sections.is_empty()
            })
            .map(|(guid, sections)| (*guid, *sections))
            .collect();
        for (guid, sections) in &differing {
            if self.reported_configs.get(guid) != Some(sections) {
                notices.push(ElectionNotice::OtherConfig(*guid, *sections));
            }
        }
        self.reported_configs = differing;
    }

    /// A scan is complete: a master reports the SMs that appeared, no longer respond, or left since
    /// the last one. SMs that the election ignores raise alarms of their own.
    pub(crate) fn report_sms(&mut self, ctx: &mut Ctx<'_>) {
        if self.role() != SmState::Master {
            self.reported_sms.clear();
            self.reported_m_keys.clear();
            self.reported_configs.clear();
            return;
        }
        let ports = sm_ports(ctx.fabric);
        let guids = ports.into_iter().filter_map(|p| sm_guid(ctx.fabric, p));
        let state_of = |guid: &PortGuid| self.other_sms.get(guid).map(|(_, info)| info.sm_state);
        let mut found: BTreeMap<PortGuid, Option<SmState>> = guids
            .filter(|guid| !self.election.ignores(*guid))
            .map(|guid| (guid, state_of(&guid)))
            .collect();
        let mut notices = Vec::new();
        // An SM that was about to become master, or was it, may have written to devices after they
        // were read.
        let may_have_written = |state| matches!(state, SmState::Discovering | SmState::Master);
        let mut is_read_again = false;
        for guid in found.keys() {
            let before = self.reported_sms.get(guid).copied().flatten();
            match (self.other_sms.get(guid), before) {
                (Some((_, info)), None) => {
                    let (state, priority) = (info.sm_state, info.priority);
                    notices.push(ElectionNotice::SmAppeared(*guid, state, priority));
                }
                (None, Some(before)) => {
                    notices.push(ElectionNotice::SmSilent(*guid));
                    is_read_again |= may_have_written(before);
                }
                (Some(_), Some(_)) | (None, None) => {}
            }
        }
        for (guid, state) in &found {
            let lacks_key = state.is_some() && self.m_key_of(*guid) == SmMKey::Other;
            if lacks_key && self.reported_m_keys.insert(*guid) {
                notices.push(ElectionNotice::OtherMKey(*guid));
            } else if !lacks_key {
                self.reported_m_keys.remove(guid);
            }
        }
        self.add_other_configs(&found, &mut notices);
        core::mem::swap(&mut self.reported_sms, &mut found);
        for (guid, state) in found {
            let is_gone = !self.reported_sms.contains_key(&guid) && !self.election.ignores(guid);
            if let Some(state) = state.filter(|_| is_gone) {
                notices.push(ElectionNotice::SmGone(guid));
                is_read_again |= may_have_written(state);
            }
        }
        if is_read_again {
            ctx.effects.push(Effect::RequestFullSweep);
        }
        for notice in notices {
            self.emit_notice(ctx, notice);
        }
    }

    /// The result of a scan, for the election.
    pub(crate) fn scan_result(
        &self,
        fabric: &ObservedFabric,
        cfg: &SmConfig,
        lids: &LidMap,
        own_lid: Option<Lid>,
        last_master: Option<Lid>,
    ) -> ElectionInput {
        let mut seen = self.peers(cfg);
        if self.role() == SmState::Discovering {
            // It waits for no SM that could not configure the subnet, as if that did not respond.
            seen.retain(|peer| cfg.m_key_protect_bits < 2 || !peer.lacks_m_key());
        }
        ElectionInput::ScanCompleted {
            seen,
            managed: is_managed(fabric, lids, own_lid, last_master),
        }
    }
}
