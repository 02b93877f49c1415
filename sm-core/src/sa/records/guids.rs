//! GuidInfoRecord: the GUIDs of end ports, in blocks of eight (rule 7.13). What hosts have set is in the view too.

use ferrosm_mad::attr::PortInfo;
use ferrosm_mad::sa::tables::GuidInfoRecord;

use super::{LID, Search};
use crate::sa::aliases::BLOCK;
use crate::sa::message::Reply;
use crate::sa::view::{EndPortIdx, View};

/// The component of BlockNum.
const BLOCK_NUM: u64 = 1 << 1;

pub(super) fn answer(search: &Search<'_>) -> Reply {
    // A LID was looked up: any LID of a port names it.
    let mut found = search.matches_in::<GuidInfoRecord>(search.request.component_mask & !LID);
    let asked = GuidInfoRecord::decode(search.request.data);
    let one = search.request.has(BLOCK_NUM).then_some(asked.block_num);
    'all: for at in search.end_ports().filter(|at| search.sees(*at)) {
        let all = 0..blocks(search.view, at);
        let wanted = match one {
            Some(block) if all.contains(&block) => block..block + 1,
            Some(_) => 0..0,
            None => all,
        };
        for block_num in wanted {
            let end = search.view.end_port(at);
            let record = GuidInfoRecord {
                lid: end.lid,
                block_num,
                guids: search.view.aliases().block(end.guid, block_num),
            };
            if found.offer(&record.encode()) {
                break 'all;
            }
        }
    }
    search.reply(found)
}

/// Number of entries in an end port's table. There is always one, the port's own.
pub(in crate::sa) fn entries(view: &View, at: EndPortIdx) -> usize {
    let port = view.port(view.end_port(at).port);
    usize::from(PortInfo::decode(&port.raw).guid_cap).max(1)
}

/// Number of blocks in it.
pub(in crate::sa) fn blocks(view: &View, at: EndPortIdx) -> u8 {
    u8::try_from(entries(view, at).div_ceil(BLOCK)).unwrap_or(u8::MAX)
}
