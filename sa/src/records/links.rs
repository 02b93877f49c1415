//! LinkRecord: each link, once in each direction (docs/sm-behaviour.md 7.13).

use ferrosm_fabric::snapshot::{EndPortIdx, PortIdx};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::tables::LinkRecord;

use super::{LID, Search};
use crate::message::SaReply;

/// Components that select end ports and ports before records are built, like FromLID ([`LID`]).
const FROM_PORT: u64 = 1 << 1;
const TO_PORT: u64 = 1 << 2;
const TO_LID: u64 = 1 << 3;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    let mut matches =
        search.matches_in::<LinkRecord>(search.request.component_mask & !(LID | TO_LID));
    let view = search.view;
    let requested = LinkRecord::decode(search.request.data);
    let port = |component, num| search.request.has(component).then_some(num);
    let from_port = port(FROM_PORT, requested.from_port);
    let to_port = port(TO_PORT, requested.to_port);
    let requested_to = search
        .request
        .has(TO_LID)
        .then(|| view.by_lid(requested.to_lid));
    let mut add = |from: PortIdx, to: PortIdx| {
        let Some((a, b)) = view.lid_owner(from).zip(view.lid_owner(to)) else {
            return false;
        };
        let is_selected = requested_to.is_none_or(|to| to == Some(b));
        // Client and both ends must share partitions pairwise (docs/sm-behaviour.md 7.9).
        if is_selected && search.is_visible(a) && search.is_visible(b) && view.share_partition(a, b)
        {
            let record = LinkRecord {
                from_lid: view.end_port(a).lid,
                from_port: view.port(from).num,
                to_port: view.port(to).num,
                to_lid: view.end_port(b).lid,
            }
            .encode();
            return matches.push_if_match(&record);
        }
        false
    };
    if let (None, Some(far_end)) = (search.lid(), requested_to) {
        // Only the far end is selected: the records are its own links in the opposite direction.
        if let Some(far_end) = far_end {
            let _ = links(search, far_end, to_port).any(|(to, from)| add(from, to));
        }
        return search.reply(matches);
    }
    for at in search.end_ports() {
        if links(search, at, from_port).any(|(from, to)| add(from, to)) {
            break;
        }
    }
    search.reply(matches)
}

/// Links as (port, peer) pairs: the link of a CA or router port, or all links of a switch. With
/// `num`, only the link of that port.
fn links<'a>(
    search: &'a Search<'_>,
    at: EndPortIdx,
    num: Option<PortNum>,
) -> impl Iterator<Item = (PortIdx, PortIdx)> + use<'a> {
    let view = search.view;
    let end_port = view.end_port(at);
    let own_port = end_port.port;
    let node = end_port.node;
    let is_switch = view.node(node).switch.is_some();
    let (single, all) = match num {
        Some(num) => (view.port_by_num(node, num), None),
        None if is_switch => (None, Some(view.ports_of_node(node))),
        None => (Some(own_port), None),
    };
    let all = all.into_iter().flatten().map(|(p, _)| p);
    single
        .into_iter()
        .chain(all)
        .filter(move |p| {
            if is_switch {
                view.port(*p).num != PortNum::ZERO
            } else {
                *p == own_port
            }
        })
        .filter_map(move |p| Some((p, view.peer(p)?)))
}
