//! SMInfo on the wire: the SMInfo of this SM, responses of other SMs, and trap 144 (IBA vol. 1,
//! 14.2.5.13, 14.4; docs/sm-behaviour.md, 8).

use ferrosm_fabric::observed::{ObservedFabric, PortRef};
use ferrosm_mad::attr::{
    LocalChangeDetails, NodeType, Notice, NoticeType, SmControl, SmInfo, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PortGuid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, SmpRequest};

use super::{Mastership, config_proof, m_key_proof};
use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::election::ElectionInput;
use crate::smp::{UNTRACKED, route};

/// The GUID of an SM's port.
pub(super) fn sm_guid(fabric: &ObservedFabric, at: PortRef) -> Option<PortGuid> {
    fabric.port(at).map(|port| port.guid)
}

/// The GUID of this SM's port; 0 before it is read.
pub(super) fn own_guid(fabric: &ObservedFabric) -> PortGuid {
    let own_guid = fabric.local().and_then(|port| sm_guid(fabric, port));
    own_guid.unwrap_or(PortGuid(0))
}

impl Mastership {
    /// The SMInfo of this SM, in a response or in a control that it sends. `sent` is the number of
    /// MADs sent on QP0.
    pub(crate) fn sm_info(
        &self,
        cfg: &SmConfig,
        fabric: &ObservedFabric,
        sent: u64,
        control: Option<SmControl>,
    ) -> SmInfo {
        SmInfo {
            guid: own_guid(fabric),
            sm_key: cfg.sm_key,
            act_count: u32::try_from(sent & u64::from(u32::MAX)).unwrap_or(u32::MAX),
            priority: self.election.priority(),
            sm_state: self.election.reported_state(control),
        }
    }

    /// An SM responded. Returns its SMInfo unless the response is an error or has the GUID of
    /// another port.
    pub(crate) fn on_sm_info(
        &mut self,
        fabric: &ObservedFabric,
        at: PortRef,
        status: Status,
        data: &[u8; 64],
    ) -> Option<SmInfo> {
        let info = SmInfo::decode(data);
        if !status.is_ok() || sm_guid(fabric, at).is_some_and(|guid| guid != info.guid) {
            self.on_sm_unanswered(at);
            return None;
        }
        self.other_sms.insert(info.guid, (at, info));
        self.other_m_keys
            .insert(info.guid, m_key_proof::of_response(data));
        if let Some(differing) = config_proof::of_response(data) {
            self.other_configs.insert(info.guid, differing);
        } else {
            self.other_configs.remove(&info.guid);
        }
        Some(info)
    }

    /// An SM did not respond.
    pub(crate) fn on_sm_unanswered(&mut self, at: PortRef) {
        self.other_sms.retain(|_, (p, _)| *p != at);
        self.other_m_keys
            .retain(|guid, _| self.other_sms.contains_key(guid));
        self.other_configs
            .retain(|guid, _| self.other_sms.contains_key(guid));
    }

    /// An SM responded to a poll.
    pub(crate) fn on_poll_response(
        &mut self,
        ctx: &mut Ctx<'_>,
        at: PortRef,
        status: Status,
        data: &[u8; 64],
    ) {
        match self.on_sm_info(ctx.fabric, at, status, data) {
            Some(info) => {
                let input = ElectionInput::SmInfoReceived(self.peer(ctx.cfg, &info));
                ctx.effects.push(Effect::Elect(input));
            }
            None => on_poll_unanswered(ctx, at),
        }
    }

    /// Sends trap 144 with the priority flag to a master, which then compares the SMs
    /// (docs/sm-behaviour.md, 8.4). It is repeated with the polls while this SM outranks the
    /// master.
    pub(super) fn send_trap_144(&self, ctx: &mut Ctx<'_>, to: PortGuid) {
        let fabric = &*ctx.fabric;
        let lid_of = |p: PortRef| fabric.lid(p);
        let local_port = fabric.local();
        let from = local_port.map_or(Lid::NONE, lid_of);
        let master = self.sm_port(fabric, to).map_or(Lid::NONE, lid_of);
        // A port without a LID sends no traps; the master scans all SMs in each sweep.
        let (Some(own), true) = (local_port, from.is_unicast() && master.is_unicast()) else {
            return;
        };
        let (Some(port), Some(node)) = (fabric.port(own), fabric.get(own.node)) else {
            return;
        };
        let mut data_details = [0; 54];
        LocalChangeDetails {
            lid: from,
            other_local_changes: true,
            capability_mask: port.capability_mask(),
            change_flags: LocalChangeDetails::SM_PRIORITY,
            ..LocalChangeDetails::default()
        }
        .encode_onto(&mut data_details);
        let producer = if node.info.node_type == NodeType::Switch {
            NodeType::Switch
        } else {
            NodeType::Ca
        };
        let notice = Notice {
            is_generic: true,
            notice_type: NoticeType::Informational,
            producer_type: u32::from(producer.0),
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
        ctx.outbox.send(Address::smp(master), mad);
    }
}

/// A poll failed.
pub(crate) fn on_poll_unanswered(ctx: &mut Ctx<'_>, at: PortRef) {
    let paths = u8::try_from(route::paths(ctx.fabric, at).len()).unwrap_or(u8::MAX);
    elect_about(ctx, at, |guid| ElectionInput::PollUnanswered {
        guid,
        paths,
    });
}

/// Steps the election with an input about the SM at a port.
fn elect_about(ctx: &mut Ctx<'_>, at: PortRef, input: impl FnOnce(PortGuid) -> ElectionInput) {
    let guid = sm_guid(ctx.fabric, at);
    ctx.effects.extend(guid.map(input).map(Effect::Elect));
}

/// An SM responded to a control.
pub(crate) fn on_control_response(
    ctx: &mut Ctx<'_>,
    at: PortRef,
    control: SmControl,
    status: Status,
) {
    elect_about(ctx, at, |guid| ElectionInput::ControlAnswered {
        guid,
        control,
        accepted: status.is_ok(),
    });
}

/// A control was not responded to.
pub(crate) fn on_control_unanswered(ctx: &mut Ctx<'_>, at: PortRef, control: SmControl) {
    elect_about(ctx, at, |guid| ElectionInput::ControlUnanswered {
        guid,
        control,
    });
}
