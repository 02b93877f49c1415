//! GuidInfoRecord: blocks of eight GUIDs of an end port, aliases included (docs/sm-behaviour.md
//! 7.13).

use ferrosm_fabric::aliases::{BLOCK_LEN, EMPTY};
use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::sa::tables::GuidInfoRecord;

use super::{LID, Search};
use crate::message::SaReply;

/// The component of BlockNum.
const BLOCK_NUM: u64 = 1 << 1;

pub(super) fn answer(search: &Search<'_>) -> SaReply {
    // The LID was resolved by the index; any LID of a port selects it.
    let mut matches = search.matches_in::<GuidInfoRecord>(search.request.component_mask & !LID);
    let requested = GuidInfoRecord::decode(search.request.data);
    let requested_block = search.request.has(BLOCK_NUM).then_some(requested.block_num);
    'ports: for at in select_end_ports(search, &requested).filter(|at| search.is_visible(*at)) {
        let all_blocks = 0..search.view.guid_blocks(at);
        let blocks = match requested_block {
            Some(block) if all_blocks.contains(&block) => block..block + 1,
            Some(_) => 0..0,
            None => all_blocks,
        };
        for block_num in blocks {
            let end_port = search.view.end_port(at);
            let record = GuidInfoRecord {
                lid: end_port.lid,
                block_num,
                guids: search.view.aliases().block(end_port.guid, block_num),
            };
            if matches.push_if_match(&record.encode()) {
                break 'ports;
            }
        }
    }
    search.reply(matches)
}

/// End ports that can match: by LID, by a requested GUID, or all.
fn select_end_ports<'a>(
    search: &'a Search<'_>,
    requested: &GuidInfoRecord,
) -> impl Iterator<Item = EndPortIdx> + use<'a> {
    let view = search.view;
    let component = |i: usize| 1 << (usize::from(GuidInfoRecord::FIRST_GUID) + i);
    let guid = (0..BLOCK_LEN)
        .filter(|i| search.lid().is_none() && search.request.has(component(*i)))
        .map(|i| requested.guids[i])
        .find(|guid| *guid != EMPTY);
    let by_guid = guid.map(|guid| {
        // The view may lag behind the alias tables: a GUID may briefly be both a port GUID and an
        // alias.
        let guid_owner = view.by_guid(guid);
        let alias = view
            .aliases()
            .owner(guid)
            .and_then(|owner| view.by_guid(owner));
        guid_owner
            .into_iter()
            .chain(alias.filter(|a| Some(*a) != guid_owner))
    });
    let end_ports = by_guid.is_none().then(|| search.end_ports());
    let by_guid = by_guid.into_iter().flatten();
    by_guid.chain(end_ports.into_iter().flatten())
}
