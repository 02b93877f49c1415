//! P_KeyTableRecord: blocks of P_Key tables of end ports and of switch ports that check packets, for trusted clients alone (rule
//! 7.8).

use ferrosm_mad::attr::PKeyBlock;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::tables::PKeyTableRecord;

use super::Search;
use crate::message::SaReply;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    if !search.request.is_trusted() {
        return SaReply::error(Status::REQ_INVALID);
    }
    let mut found = search.matches::<PKeyTableRecord>();
    'all: for (end, port) in search.ports() {
        // Of a switch port that checks nothing nobody needs the table.
        let is_switch = search.view.node(end.node).switch.is_some();
        if is_switch && port.num != PortNum::ZERO && !port.enforces_partitions {
            continue;
        }
        for (block_num, keys) in port.pkeys.iter() {
            let record = PKeyTableRecord {
                lid: end.lid,
                block_num,
                port_num: port.num,
                table: PKeyBlock { keys: *keys }.encode(),
            };
            if found.offer(&record.encode()) {
                break 'all;
            }
        }
    }
    search.reply(found)
}
