//! LinkRecord: every cable, once in each direction (rule 7.13).

use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::tables::LinkRecord;

use super::{LID, Search};
use crate::message::SaReply;
use crate::view::{EndPortIdx, PortIdx};

/// Components that are looked up beside the first LID.
const FROM_PORT: u64 = 1 << 1;
const TO_PORT: u64 = 1 << 2;
const TO_LID: u64 = 1 << 3;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    let mut found =
        search.matches_in::<LinkRecord>(search.request.component_mask & !(LID | TO_LID));
    let view = search.view;
    let asked = LinkRecord::decode(search.request.data);
    let port = |component, num| search.request.has(component).then_some(num);
    let (from_port, to_port) = (
        port(FROM_PORT, asked.from_port),
        port(TO_PORT, asked.to_port),
    );
    let asked_to = search
        .request
        .has(TO_LID)
        .then(|| view.by_lid(asked.to_lid));
    let mut offer = |from: PortIdx, to: PortIdx| {
        let Some((a, b)) = view.lid_owner(from).zip(view.lid_owner(to)) else {
            return false;
        };
        let meant = asked_to.is_none_or(|to| to == Some(b));
        // All three must share partitions (rule 7.9).
        if meant && search.is_visible(a) && search.is_visible(b) && view.share_partition(a, b) {
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
    if let (None, Some(there)) = (search.lid(), asked_to) {
        // The cables of the node there are those that lead to it.
        if let Some(there) = there {
            let _ = cables(search, there, to_port).any(|(to, from)| offer(from, to));
        }
        return search.reply(found);
    }
    for at in search.end_ports() {
        if cables(search, at, from_port).any(|(from, to)| offer(from, to)) {
            break;
        }
    }
    search.reply(found)
}

/// The cables of an end port: its own, or those of all ports of its switch; or the one of the port with this number. This end
/// first.
fn cables<'a>(
    search: &'a Search<'_>,
    at: EndPortIdx,
    num: Option<PortNum>,
) -> impl Iterator<Item = (PortIdx, PortIdx)> + use<'a> {
    let end = search.view.end_port(at);
    let is_switch = search.view.node(end.node).switch.is_some();
    let (one, own) = (end.port, end.node);
    let view = search.view;
    let (single, all) = match num {
        Some(num) => (view.port_by_num(own, num), None),
        None if is_switch => (None, Some(view.ports_of_node(own))),
        None => (Some(one), None),
    };
    let all = all.into_iter().flatten().map(|(p, _)| p);
    single
        .into_iter()
        .chain(all)
        .filter(move |p| {
            if is_switch {
                view.port(*p).num != PortNum::ZERO
            } else {
                *p == one
            }
        })
        .filter_map(move |p| Some((p, view.peer(p)?)))
}
