//! Records of switches: SwitchInfoRecord, LinearForwardingTableRecord,
//! MulticastForwardingTableRecord (docs/sm-behaviour.md 7.14).

use ferrosm_fabric::snapshot::SnapshotSwitch;
use ferrosm_fabric::tables::mft::EMPTY_BLOCK;
use ferrosm_mad::attr::MftBlock;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::sa::tables::{LftRecord, MftRecord, SwitchInfoRecord};

use super::Search;
use crate::message::SaReply;

/// The component of BlockNum.
const BLOCK_NUM: u64 = 1 << 1;

/// Calls `visit` with the LID of each visible switch that can match, until it returns `true`.
fn for_each_switch<'a>(
    search: &'a Search<'_>,
    mut visit: impl FnMut(Lid, &'a SnapshotSwitch) -> bool,
) {
    for at in search.end_ports() {
        let end_port = search.view.end_port(at);
        if let Some(switch) = &search.view.node(end_port.node).switch
            && search.is_visible(at)
            && visit(end_port.lid, switch)
        {
            return;
        }
    }
}

pub(super) fn infos(search: &Search<'_>) -> SaReply {
    let mut matches = search.matches::<SwitchInfoRecord>();
    for_each_switch(search, |lid, switch| {
        let record = SwitchInfoRecord {
            lid,
            switch_info: switch.info,
        }
        .encode();
        matches.push_if_match(&record)
    });
    search.reply(matches)
}

pub(super) fn lfts(search: &Search<'_>) -> SaReply {
    let mut matches = search.matches::<LftRecord>();
    let requested = LftRecord::decode(search.request.data);
    for_each_switch(search, |lid, switch| {
        let Some(lft) = &switch.lft else {
            return false;
        };
        let blocks = if search.request.has(BLOCK_NUM) {
            requested.block_num..requested.block_num.saturating_add(1).min(lft.num_blocks())
        } else {
            0..lft.num_blocks()
        };
        for block_num in blocks {
            let record = LftRecord {
                lid,
                block_num,
                table: lft.block(block_num),
            }
            .encode();
            if matches.push_if_match(&record) {
                return true;
            }
        }
        false
    });
    search.reply(matches)
}

/// Blocks up to the last one with an entry.
pub(super) fn mfts(search: &Search<'_>) -> SaReply {
    let mut matches = search.matches::<MftRecord>();
    for_each_switch(search, |lid, switch| {
        let last_used = switch
            .mft
            .iter()
            .rev()
            .find(|(_, masks)| **masks != EMPTY_BLOCK);
        let Some((last, _)) = last_used else {
            return false;
        };
        for (at, masks) in switch
            .mft
            .iter()
            .take_while(|(at, _)| at.block <= last.block)
        {
            let record = MftRecord {
                lid,
                position: at.position,
                block_num: at.block,
                table: MftBlock { masks: *masks }.encode(),
            }
            .encode();
            if matches.push_if_match(&record) {
                return true;
            }
        }
        false
    });
    search.reply(matches)
}
