//! Records of lanes: SLtoVLMappingTableRecord, VLArbitrationTableRecord (rule 7.14).
//!
//! Tables that the subnet manager has written are known, and those that were read since; where a request reaches others,
//! the owner reads them first ([`crate::vl_tables`]). Of a CA or router the ports in a request mean nothing: the LID names
//! the port (IBA 15.2.5.6, 15.2.5.7).

use std::collections::BTreeSet;

use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::tables::{SlToVlRecord, VlArbRecord};

use super::{LID, Matches, Search};
use crate::message::{SaReply, SaRequest};
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::view::{EndPort, NodeView, PortView, View};
use crate::vl_tables::VlTableId;

/// Components of ports in both records, and of the block.
const INPUT_PORT: u64 = 1 << 1;
const OUTPUT_PORT: u64 = 1 << 2;
const ARBITRATED_PORT: u64 = 1 << 1;
const BLOCK_NUM: u64 = 1 << 2;

/// Blocks of VLArbitrationTable.
const BLOCKS: core::ops::RangeInclusive<u8> = 1..=4;

/// What becomes of a table that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownTables {
    /// There is no reply: the table must be read first.
    ReadFirst,
    /// There is no record of it.
    Omit,
}

/// Answers Get and GetTable of both records; `None` where something must be read first.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>, unknown: UnknownTables) -> Option<SaReply> {
    let search = match Search::new(view, request) {
        Ok(search) => search,
        Err(reply) => return Some(reply),
    };
    let mut complete = true;
    let mut missing = |_, _| {
        complete = unknown == UnknownTables::Omit;
        complete
    };
    let reply = each(&search, &mut missing);
    complete.then_some(reply)
}

/// Tables that a request reaches and that are not known, up to so many.
#[must_use]
pub fn missing(
    view: &View,
    request: &SaRequest<'_>,
    most: usize,
) -> BTreeSet<(NodeGuid, VlTableId)> {
    let mut found = BTreeSet::new();
    if let Ok(search) = Search::new(view, request) {
        let mut missing = |node, table| {
            found.insert((node, table));
            found.len() < most
        };
        let _ = each(&search, &mut missing);
    }
    found
}

/// Is told of a table that is not known; says whether to go on.
type Missing<'a> = &'a mut dyn FnMut(NodeGuid, VlTableId) -> bool;

fn each(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    if search.request.attr == id::SL_TO_VL {
        maps(search, missing)
    } else {
        arbitrations(search, missing)
    }
}

fn maps(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    // What is looked up is not compared again.
    let looked_up = LID | INPUT_PORT | OUTPUT_PORT;
    let mut found = search.matches_in::<SlToVlRecord>(search.request.component_mask & !looked_up);
    let asked = SlToVlRecord::decode(search.request.data);
    for at in search.end_ports().filter(|at| search.is_visible(*at)) {
        let end = search.view.end_port(at);
        let node = search.view.node(end.node);
        let mut offer = |input: PortNum, output: PortNum| {
            offer_map(search, end, node, (input, output), &mut found, missing)
        };
        let goes_on = if node.switch.is_some() {
            let ports = |component: u64, asked: PortNum| {
                let all = search
                    .view
                    .ports_of_node(end.node)
                    .map(|(_, port)| port.num);
                all.filter(move |num| !search.request.has(component) || *num == asked)
            };
            ports(OUTPUT_PORT, asked.output_port)
                .all(|output| ports(INPUT_PORT, asked.input_port).all(|input| offer(input, output)))
        } else {
            let num = search.view.port(end.port).num;
            offer(num, num)
        };
        if !goes_on {
            break;
        }
    }
    search.reply(found)
}

/// Offers one map; whether more are wanted.
fn offer_map(
    search: &Search<'_>,
    end: &EndPort,
    node: &NodeView,
    (input, output): (PortNum, PortNum),
    found: &mut Matches,
    missing: Missing<'_>,
) -> bool {
    let written = |at: SlToVlSelector| node.sl_to_vl.get(&at).copied();
    let is_switch = node.switch.is_some();
    let known = if is_switch {
        written(SlToVlSelector::Pair(input, output))
            .or_else(|| written(SlToVlSelector::Output(output)))
    } else {
        written(SlToVlSelector::EndPort(output))
    };
    let read = || {
        search
            .view
            .read_vl_tables()
            .sl_to_vl(node.guid, input, output)
    };
    let Some(table) = known.or_else(read) else {
        return missing(node.guid, VlTableId::SlToVl(input, output));
    };
    let (input_port, output_port) = if is_switch {
        (input, output)
    } else {
        (PortNum::ZERO, PortNum::ZERO)
    };
    let record = SlToVlRecord {
        lid: end.lid,
        input_port,
        output_port,
        table,
    };
    !found.offer(&record.encode())
}

fn arbitrations(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    let looked_up = LID | ARBITRATED_PORT | BLOCK_NUM;
    let mut found = search.matches_in::<VlArbRecord>(search.request.component_mask & !looked_up);
    let asked = VlArbRecord::decode(search.request.data);
    let wanted = |end: &EndPort, port: &PortView| {
        let by_lid = search.view.node(end.node).switch.is_none();
        by_lid || !search.request.has(ARBITRATED_PORT) || port.num == asked.output_port
    };
    let block = |num: &u8| !search.request.has(BLOCK_NUM) || *num == asked.block_num;
    for (end, port) in search.ports().filter(|(end, port)| wanted(end, port)) {
        for block_num in BLOCKS.filter(block) {
            let node = search.view.node(end.node).guid;
            let mut written = port.vl_arbitration.iter();
            let written = written.find_map(|(b, table)| (*b == block_num).then_some(*table));
            let read = || {
                search
                    .view
                    .read_vl_tables()
                    .vl_arbitration(node, port.num, block_num)
            };
            let enough = match written.or_else(read) {
                Some(table) => {
                    let record = VlArbRecord {
                        lid: end.lid,
                        output_port: port.num,
                        block_num,
                        table,
                    };
                    found.offer(&record.encode())
                }
                None => !missing(node, VlTableId::VlArbitration(port.num, block_num)),
            };
            if enough {
                return search.reply(found);
            }
        }
    }
    search.reply(found)
}
