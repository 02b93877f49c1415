//! The MADs of transactions: DR path, M_Key, and the data of a Set, which is built when the Set is
//! sent.

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::{MtuCode, PhysState, PortInfo, PortState, SmControl, SwitchInfo, id};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, Tid};
use ferrosm_mad::mad::Mad;
use ferrosm_mad::smp::SmpRequest;

use super::SubnetManager;
use crate::adoption::Adoption;
use crate::lids::LidTable;
use crate::mastership::with_sm_lid;
use crate::mfts;
use crate::ports::link_setup::wanted_port_info;
use crate::ports::port_settings::{self, EndPortAddress};
use crate::sa::SaState;
use crate::sa::alias_guids::alias_guid_block;
use crate::smp::op::{PortSetting, SmpOp, SmpSpec, Target};
use crate::smp::{SmpTransaction, route};
use crate::sweep::{SweepPhase, TableUpdate};
use crate::vls::{ConfiguredTable, VlTables};

impl SubnetManager {
    /// The MAD of a transaction's attempt; `None` if its target is no longer in the fabric.
    pub(super) fn build_mad(
        &self,
        transaction: &SmpTransaction,
        attempt: u8,
        tid: Tid,
    ) -> Option<Mad> {
        let op = transaction.op;
        let spec = op.spec();
        let path = if spec.target == Target::Surveyed {
            self.surveys.path_of(op)?
        } else {
            route::path_of(&self.fabric, transaction, attempt)?
        };
        let configured = self.cfg.m_key;
        // An SM with another M_Key drops HANDOVER: it could not configure the subnet.
        let needs_current_key = matches!(op, SmpOp::SetSmInfo(_, SmControl::Handover));
        let key = if needs_current_key && configured != MKey::NONE {
            configured
        } else {
            self.keys
                .key_for(&self.fabric, configured, spec.target, attempt)
        };
        let modifier = self.modifier_of(&spec);
        let request = if spec.is_set {
            SmpRequest::set(spec.attr, modifier, key, self.payload(op)?)
        } else if let SmpOp::SmInfo(p) | SmpOp::SmInfoPoll(p) = op {
            SmpRequest {
                data: self
                    .mastership
                    .sm_info_request(&self.cfg, &self.fabric, Some(p)),
                ..SmpRequest::get(spec.attr, modifier, key)
            }
        } else {
            SmpRequest::get(spec.attr, modifier, key)
        };
        Some(request.directed(&path, tid))
    }

    /// The attribute modifier as the target's agent understands it.
    fn modifier_of(&self, spec: &SmpSpec) -> AttrMod {
        let modifier = spec.modifier;
        let port = spec.target.port();
        let node = port.and_then(|p| self.fabric.get(p.node));
        match (spec.attr, node) {
            (id::PORT_INFO, Some(node))
                if !port.is_some_and(|p| node.asks_extended_speeds(p.port, spec.is_set)) =>
            {
                AttrMod(modifier.0 & !PortInfo::EXTENDED_SPEEDS_MOD)
            }
            // For a CA or router port the port number is 0.
            (id::PKEY_TABLE, Some(node)) if !node.is_switch() => AttrMod(modifier.0 & 0xFFFF),
            _ => modifier,
        }
    }

    /// The data of a Set, as wanted now. Not inlined: Gets, which are more frequent, do without its
    /// code in the cache.
    #[inline(never)]
    fn payload(&self, op: SmpOp) -> Option<[u8; 64]> {
        match op {
            SmpOp::ClearPortStateChange(n) => self.switch_set(n, None),
            SmpOp::SetSwitchInfo(n) => self.switch_set(n, Some(self.lids.top())),
            SmpOp::SetLft(n, block) => Some(self.routing.desired().get(n)?.block(block)),
            SmpOp::SetMft(n, at) => mfts::payload(&self.fabric, n, at),
            SmpOp::SetPortInfo(p, step) => self.port_set(p, step),
            SmpOp::SetSlToVl(p, at) => {
                let vls = &self.table_update()?.vls;
                self.vls.sl_to_vl_payload(vls, p, at)
            }
            SmpOp::SetVlArbitration(p, block) => {
                let at = ConfiguredTable::Arbitration(p, block);
                self.table_update()?.vls.sent(at)
            }
            SmpOp::SetPKeyTable(p, block) => self.table_update()?.pkeys.payload(p, block),
            SmpOp::SetGuidInfo(p, block) => {
                let aliases = self.sa.registry().aliases().tables();
                alias_guid_block(&self.fabric, aliases, p, block)
            }
            SmpOp::SetSmInfo(_, control) => Some(self.own_sm_info(Some(control)).encode()),
            SmpOp::SmInfo(_)
            | SmpOp::SmInfoPoll(_)
            | SmpOp::NodeInfo(_)
            | SmpOp::NodeDescription(_)
            | SmpOp::SwitchInfo(_)
            | SmpOp::PortInfo(_)
            | SmpOp::UnreachedPortInfo(_)
            | SmpOp::MlnxExtPortInfo(_)
            | SmpOp::Lft(..)
            | SmpOp::Mft(..)
            | SmpOp::SlToVl(..)
            | SmpOp::VlArbitration(..)
            | SmpOp::PKeyTable(..)
            | SmpOp::GuidInfo(..)
            | SmpOp::SurveyPortInfo(_)
            | SmpOp::SurveyNodeInfo(_) => None,
        }
    }

    fn table_update(&self) -> Option<&TableUpdate> {
        if let SweepPhase::WriteTables(update) = &self.activity.sweep()?.phase {
            Some(update)
        } else {
            None
        }
    }

    /// SwitchInfo with PortStateChange cleared, or with the LinearFDBTop for the highest LID `top`.
    /// The latter preserves PortStateChange: a change during the LFT update may have been a reboot.
    fn switch_set(&self, n: NodeIdx, top: Option<Lid>) -> Option<[u8; 64]> {
        let node = self.fabric.get(n)?;
        let mut raw = node.switch_raw?;
        let mut info = SwitchInfo::decode(&raw);
        info.port_state_change = top.is_none();
        if let Some(top) = top {
            info.linear_fdb_top = node.lft_top(top).0;
            info.life_time_value = self.cfg.packet_life_time;
            info.multicast_fdb_top = self.mfts.fdb_top(&self.fabric, n, &info);
        }
        info.encode_onto(&mut raw);
        Some(raw)
    }

    fn port_set(&self, p: PortRef, step: PortSetting) -> Option<[u8; 64]> {
        match step {
            PortSetting::Params | PortSetting::ParamsFirst => self.wanted_port(p),
            PortSetting::Arm => Some(port_settings::with_port_state(
                self.wanted_port(p)?,
                PortState::Armed,
            )),
            PortSetting::ArmOnly => Some(port_settings::with_port_state(
                port_settings::current_port_info(self.fabric.port(p)?),
                PortState::Armed,
            )),
            PortSetting::Activate => Some(port_settings::with_port_state(
                port_settings::current_port_info(self.fabric.port(p)?),
                PortState::Active,
            )),
            PortSetting::SmLid => with_sm_lid(
                &self.fabric,
                p,
                self.lids.sm_lid(&self.fabric)?,
                self.sa.snapshot().map(AsRef::as_ref),
            ),
            PortSetting::Bounce => Some(port_settings::with_port_state(
                port_settings::current_port_info(self.fabric.port(p)?),
                PortState::Down,
            )),
            PortSetting::Train => Some(port_settings::with_port_state(
                self.wanted_port(p)?,
                PortState::Down,
            )),
            PortSetting::Disable => self.with_phys_state(p, PhysState::Disabled),
            PortSetting::Enable => self.with_phys_state(p, PhysState::Polling),
        }
    }

    /// The PortInfo that a port has, with a physical state to set. Of a port that was never up only
    /// the states are known: 0 is NoChange in all fields that devices check, except NeighborMTU.
    fn with_phys_state(&self, p: PortRef, state: PhysState) -> Option<[u8; 64]> {
        let mut raw = port_settings::current_port_info(self.fabric.port(p)?);
        let mtu = PortInfo::neighbor_mtu.read(&raw).max(MtuCode::Mtu256);
        PortInfo::neighbor_mtu.write(&mut raw, mtu);
        PortInfo::port_physical_state.write(&mut raw, state);
        Some(raw)
    }

    /// The PortInfo that a port should have, without a change of state.
    fn wanted_port(&self, p: PortRef) -> Option<[u8; 64]> {
        port_intents!(self, intents);
        wanted_port_info(&self.fabric, &self.cfg, p, intents.intent(&self.fabric, p))
    }
}

/// LID, LMC, SM LID and SM SL of an end port.
pub(super) fn address_of(
    fabric: &ObservedFabric,
    lids: &LidTable,
    vls: &VlTables,
    p: PortRef,
) -> Option<EndPortAddress> {
    let sm_lid = lids.sm_lid(fabric)?;
    let (lid, lmc) = lids.lids_of(fabric.port(p)?.guid)?;
    let sm_sl = vls.sl(fabric, p, sm_lid);
    Some(EndPortAddress {
        lid,
        lmc,
        sm_lid,
        sm_sl,
    })
}

/// Whether the host of an end port must repeat its registrations because this SM or the port's LID
/// is new to it (IBA vol. 1, 14.4.11).
pub(super) fn must_reregister(
    port: &Port,
    address: EndPortAddress,
    is_first_sweep: bool,
    adoption: &Adoption,
    sa: &SaState,
) -> bool {
    let info = port.info();
    let is_new_to_host = is_first_sweep || info.master_sm_lid != address.sm_lid;
    let is_known = is_first_sweep && adoption.has_registrations_of(port, Some(address.sm_lid));
    // A host that was absent is registered nowhere, whatever its port reports: it was disconnected,
    // or in another subnet. Ports that were removed from the restored view because of their LIDs
    // were in the subnet.
    let restored = adoption
        .restored_view()
        .filter(|_| adoption.is_view_in_use());
    let view = restored.or_else(|| sa.snapshot());
    (is_new_to_host && !is_known)
        || view.is_some_and(|view| view.by_guid(port.guid).is_none())
        || sa.has_lost_registrations(port.guid)
        || info.lid != address.lid
        || port.state() < PortState::Active
}
