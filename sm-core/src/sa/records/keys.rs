//! P_KeyTableRecord: blocks of P_Key tables of end ports and of switch ports that check packets, for trusted clients alone (rule
//! 7.8).

use ferrosm_mad::attr::PKeyBlock;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::tables::PKeyTableRecord;

use super::Search;
use crate::sa::message::Reply;

pub(super) fn answer(search: &Search<'_>) -> Reply {
    if !search.request.is_trusted() {
        return Reply::error(Status::REQ_INVALID);
    }
    let template = search.template::<PKeyTableRecord>();
    let mut found = search.found::<PKeyTableRecord>();
    for at in search.end_ports() {
        if !search.sees(at) {
            continue;
        }
        let end = search.view.end_port(at);
        let is_switch = search.view.node(end.node).switch.is_some();
        let ports = search
            .view
            .ports_of(end.node)
            .filter(|(port, _)| is_switch || *port == end.port);
        for (_, port) in ports {
            // Of a switch port that checks nothing nobody needs the table.
            if is_switch && port.num != PortNum::ZERO && !port.checks_keys {
                continue;
            }
            for (block_num, keys) in port.keys.iter() {
                let record = PKeyTableRecord {
                    lid: end.lid,
                    block_num,
                    port_num: port.num,
                    table: PKeyBlock { keys: *keys }.encode(),
                }
                .encode();
                if template.matches(&record) {
                    found.push(&record);
                }
            }
        }
        if found.is_enough() {
            break;
        }
    }
    search.reply(found)
}
