//! P_KeyTableRecord: P_Key blocks of end ports and of switch ports that enforce partitions; for
//! trusted clients only (docs/sm-behaviour.md 7.8).

use ferrosm_mad::attr::PKeyBlock;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::tables::PKeyTableRecord;

use super::Search;
use crate::message::SaReply;
use crate::refusal::SaRefusal;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    if !search.request.is_trusted() {
        return SaReply::refused(SaRefusal::NotTrusted);
    }
    let mut matches = search.matches::<PKeyTableRecord>();
    'ports: for (end_port, port) in search.ports() {
        // The tables of switch ports without enforcement have no effect.
        let is_switch = search.view.node(end_port.node).switch.is_some();
        if is_switch && port.num != PortNum::ZERO && !port.enforces_partitions {
            continue;
        }
        for (block_num, keys) in port.pkeys.iter() {
            let record = PKeyTableRecord {
                lid: end_port.lid,
                block_num,
                port_num: port.num,
                table: PKeyBlock { keys: *keys }.encode(),
            };
            if matches.push_if_match(&record.encode()) {
                break 'ports;
            }
        }
    }
    search.reply(matches)
}
