//! SLtoVLMappingTableRecord and VLArbitrationTableRecord (docs/sm-behaviour.md 7.14).
//!
//! The view contains tables that the SM has written, and tables that were read earlier. For other
//! tables, the SM reads the device first ([`crate::vl_tables`]). Port numbers in queries about CAs
//! and routers are ignored: the LID identifies the port (IBA 15.2.5.6, 15.2.5.7).

use std::collections::BTreeSet;

use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::tables::{SlToVlRecord, VlArbRecord};

use super::{LID, Matches, Search};
use crate::message::{SaReply, SaRequest};
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::view::{EndPort, NodeView, PortView, View};
use crate::vl_tables::VlTableId;

/// Port components of both records, and the block component.
const INPUT_PORT: u64 = 1 << 1;
const OUTPUT_PORT: u64 = 1 << 2;
const ARBITRATED_PORT: u64 = 1 << 1;
const BLOCK_NUM: u64 = 1 << 2;

/// Blocks of VLArbitrationTable.
const BLOCKS: core::ops::RangeInclusive<u8> = 1..=4;

/// Treatment of unknown tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownTables {
    /// No reply: the SM must read the table first.
    ReadFirst,
    /// Omit the record.
    Omit,
}

/// Answers Get and GetTable of both records; `None` if tables must be read first.
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
    let reply = for_each_table(&search, &mut missing);
    complete.then_some(reply)
}

/// Unknown tables that a request selects, at most `max`.
#[must_use]
pub fn missing(
    view: &View,
    request: &SaRequest<'_>,
    max: usize,
) -> BTreeSet<(NodeGuid, VlTableId)> {
    let mut tables = BTreeSet::new();
    if let Ok(search) = Search::new(view, request) {
        let mut missing = |node, table| {
            tables.insert((node, table));
            tables.len() < max
        };
        let _ = for_each_table(&search, &mut missing);
    }
    tables
}

/// Called for each unknown table; returns whether to continue.
type Missing<'a> = &'a mut dyn FnMut(NodeGuid, VlTableId) -> bool;

fn for_each_table(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    if search.request.attr == id::SL_TO_VL {
        sl_to_vl_records(search, missing)
    } else {
        vl_arbitration_records(search, missing)
    }
}

fn sl_to_vl_records(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    // Components that were resolved are not compared again.
    let resolved = LID | INPUT_PORT | OUTPUT_PORT;
    let mut matches = search.matches_in::<SlToVlRecord>(search.request.component_mask & !resolved);
    let requested = SlToVlRecord::decode(search.request.data);
    for at in search.end_ports().filter(|at| search.is_visible(*at)) {
        let end_port = search.view.end_port(at);
        let node = search.view.node(end_port.node);
        let mut offer = |input: PortNum, output: PortNum| {
            offer_sl_to_vl(
                search,
                end_port,
                node,
                (input, output),
                &mut matches,
                missing,
            )
        };
        let continues = if node.switch.is_some() {
            let ports = |component: u64, requested: PortNum| {
                let all_ports = search
                    .view
                    .ports_of_node(end_port.node)
                    .map(|(_, port)| port.num);
                all_ports.filter(move |num| !search.request.has(component) || *num == requested)
            };
            ports(OUTPUT_PORT, requested.output_port).all(|output| {
                ports(INPUT_PORT, requested.input_port).all(|input| offer(input, output))
            })
        } else {
            let num = search.view.port(end_port.port).num;
            offer(num, num)
        };
        if !continues {
            break;
        }
    }
    search.reply(matches)
}

/// Adds one table. Returns whether to continue.
fn offer_sl_to_vl(
    search: &Search<'_>,
    end_port: &EndPort,
    node: &NodeView,
    (input, output): (PortNum, PortNum),
    matches: &mut Matches,
    missing: Missing<'_>,
) -> bool {
    let written = |at: SlToVlSelector| node.sl_to_vl.get(&at).copied();
    let is_switch = node.switch.is_some();
    let known_table = if is_switch {
        written(SlToVlSelector::Pair(input, output))
            .or_else(|| written(SlToVlSelector::Output(output)))
    } else {
        written(SlToVlSelector::EndPort(output))
    };
    let read = || {
        search
            .view
            .observed_vl_tables()
            .sl_to_vl(node.guid, input, output)
    };
    let Some(table) = known_table.or_else(read) else {
        return missing(node.guid, VlTableId::SlToVl(input, output));
    };
    let (input_port, output_port) = if is_switch {
        (input, output)
    } else {
        (PortNum::ZERO, PortNum::ZERO)
    };
    let record = SlToVlRecord {
        lid: end_port.lid,
        input_port,
        output_port,
        table,
    };
    !matches.push_if_match(&record.encode())
}

fn vl_arbitration_records(search: &Search<'_>, missing: Missing<'_>) -> SaReply {
    let resolved = LID | ARBITRATED_PORT | BLOCK_NUM;
    let mut matches = search.matches_in::<VlArbRecord>(search.request.component_mask & !resolved);
    let requested = VlArbRecord::decode(search.request.data);
    let is_selected = |end_port: &EndPort, port: &PortView| {
        let by_lid = search.view.node(end_port.node).switch.is_none();
        by_lid || !search.request.has(ARBITRATED_PORT) || port.num == requested.output_port
    };
    let block = |num: &u8| !search.request.has(BLOCK_NUM) || *num == requested.block_num;
    for (end_port, port) in search.ports().filter(|(end, port)| is_selected(end, port)) {
        for block_num in BLOCKS.filter(block) {
            let node = search.view.node(end_port.node).guid;
            let mut written = port.vl_arbitration.iter();
            let written = written.find_map(|(b, table)| (*b == block_num).then_some(*table));
            let read = || {
                search
                    .view
                    .observed_vl_tables()
                    .vl_arbitration(node, port.num, block_num)
            };
            let enough = match written.or_else(read) {
                Some(table) => {
                    let record = VlArbRecord {
                        lid: end_port.lid,
                        output_port: port.num,
                        block_num,
                        table,
                    };
                    matches.push_if_match(&record.encode())
                }
                None => !missing(node, VlTableId::VlArbitration(port.num, block_num)),
            };
            if enough {
                return search.reply(matches);
            }
        }
    }
    search.reply(matches)
}
