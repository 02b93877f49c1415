//! LinkRecord: every cable, once in each direction (rule 7.13).

use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::tables::LinkRecord;

use super::Search;
use crate::sa::message::Reply;
use crate::sa::view::{EndPortIdx, PortIdx};

/// The component of ToLID.
const TO_LID: u64 = 1 << 3;

pub(super) fn answer(search: &Search<'_>) -> Reply {
    let mut found = search.matches::<LinkRecord>();
    let view = search.view;
    let mut offer = |from: PortIdx, to: PortIdx| {
        let Some((a, b)) = view.owner(from).zip(view.owner(to)) else {
            return false;
        };
        // All three must share partitions (rule 7.9).
        if search.sees(a) && search.sees(b) && view.share(a, b) {
            let record = LinkRecord {
                from_lid: view.end_port(a).lid,
                from_port: view.port(from).num,
                to_port: view.port(to).num,
                to_lid: view.end_port(b).lid,
            }
            .encode();
            return found.offer(&record);
        }
        false
    };
    let to_lid = search
        .request
        .has(TO_LID)
        .then(|| LinkRecord::decode(search.request.data).to_lid);
    if let (None, Some(lid)) = (search.lid(), to_lid) {
        // The cables of the node there are those that lead to it.
        if let Some(there) = view.by_lid(lid) {
            let _ = cables(search, there).any(|(to, from)| offer(from, to));
        }
        return search.reply(found);
    }
    for at in search.end_ports() {
        if cables(search, at).any(|(from, to)| offer(from, to)) {
            break;
        }
    }
    search.reply(found)
}

/// The cables of an end port: its own, or those of all ports of its switch. This end first.
fn cables<'a>(
    search: &'a Search<'_>,
    at: EndPortIdx,
) -> impl Iterator<Item = (PortIdx, PortIdx)> + use<'a> {
    let end = search.view.end_port(at);
    let is_switch = search.view.node(end.node).switch.is_some();
    let (one, own) = (end.port, end.node);
    search
        .view
        .ports_of(own)
        .filter(move |(p, port)| {
            if is_switch {
                port.num != PortNum::ZERO
            } else {
                *p == one
            }
        })
        .filter_map(|(p, _)| Some((p, search.view.peer(p)?)))
}
