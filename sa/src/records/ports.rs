//! PortInfoRecord: one for each port, switch ports included (IBA 15.2.5.3; docs/sm-behaviour.md
//! 7.8, 7.13).

use ferrosm_fabric::snapshot::{EndPort, SnapshotPort};
use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::ids::{Lid, MKey, PortNum};
use ferrosm_mad::sa::tables::PortInfoRecord;
use ferrosm_mad::wire::get_bits;

use super::{LID, Search};
use crate::message::SaReply;

/// Attribute modifier bit 31: CapabilityMask matches if all requested bits are set.
const MATCH_BITS: u32 = 1 << 31;
/// The component of PortNum.
const PORT_NUM: u64 = 1 << 1;
/// The component of PortInfo.LID, and its bit offset.
const PORT_LID: (u64, usize) = (1 << 5, 160);

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    let query = PortQuery::new(search);
    let mut matches = search.matches_in::<PortInfoRecord>(query.component_mask);
    for (owner, port) in search
        .ports_by(port_lid(search))
        .filter(|(_, port)| port.has_port_info)
    {
        if let Some(record) = query.record(owner, port)
            && matches.push_if_match(&record)
        {
            break;
        }
    }
    search.reply(matches)
}

/// The LID to match in PortInfo. Only end ports have one, so the index by LID applies; switch ports
/// have 0.
fn port_lid(search: &Search<'_>) -> Option<Lid> {
    let bits = get_bits(search.request.data, PORT_LID.1, 16);
    let lid = Lid(u16::try_from(bits).unwrap_or(0));
    (search.request.has(PORT_LID.0) && lid.is_unicast()).then_some(lid)
}

/// A decoded query.
struct PortQuery {
    /// Components that are compared as bits.
    component_mask: u64,
    port_num: Option<PortNum>,
    /// Bits that must be set if the modifier has [`MATCH_BITS`]; otherwise 0.
    capability_mask: u32,
    capability_mask2: u16,
    raw_speeds: bool,
    show_m_key: bool,
}

impl PortQuery {
    fn new(search: &Search<'_>) -> Self {
        let request = search.request;
        let requested = PortInfoRecord::decode(request.data);
        let info = PortInfo::decode(&requested.port_info);
        let by_bits = request.attr_mod.0 & MATCH_BITS != 0;
        let mut mask = request.component_mask & !(LID | PortInfoRecord::OPTIONS);
        let mut capability_mask = 0;
        let mut capability_mask2 = 0;
        if by_bits {
            if request.has(PortInfoRecord::CAPABILITY_MASK) {
                capability_mask = info.capability_mask.0;
            }
            if request.has(PortInfoRecord::CAPABILITY_MASK2) {
                capability_mask2 = info.capability_mask2.0;
            }
            mask &= !(PortInfoRecord::CAPABILITY_MASK | PortInfoRecord::CAPABILITY_MASK2);
        }
        let raw_speeds = request.has(PortInfoRecord::OPTIONS)
            && requested.options & PortInfoRecord::EXTENDED_SPEEDS != 0;
        Self {
            component_mask: mask,
            port_num: request.has(PORT_NUM).then_some(requested.port_num),
            capability_mask,
            capability_mask2,
            raw_speeds,
            show_m_key: request.is_trusted(),
        }
    }

    /// The record of a port for the client; `None` if it does not match.
    fn record(&self, owner: &EndPort, port: &SnapshotPort) -> Option<[u8; PortInfoRecord::LEN]> {
        if self.port_num.is_some_and(|n| n != port.num) {
            return None;
        }
        let mut info = PortInfo::decode(&port.raw);
        if !info.capability_mask.has(self.capability_mask)
            || !info.capability_mask2.has(self.capability_mask2)
        {
            return None;
        }
        if !self.show_m_key {
            info.m_key = MKey::NONE;
        }
        // PortInfo is stored as in the response to the Set; a Get returns ClientReregister 0.
        info.client_reregister = false;
        if !self.raw_speeds {
            report_as_qdr(&mut info);
        }
        let mut port_info = *port.raw;
        info.encode_onto(&mut port_info);
        let record = PortInfoRecord {
            lid: owner.lid,
            port_num: port.num,
            options: 0,
            port_info,
        };
        Some(record.encode())
    }
}

/// Reports QDR for links at extended speeds, for clients that do not support these.
fn report_as_qdr(info: &mut PortInfo) {
    const QDR: u8 = 4;
    if info.link_speed_ext_active != 0 {
        info.link_speed_active |= QDR;
        info.link_speed_supported |= QDR;
        info.link_speed_enabled |= QDR;
    }
}
