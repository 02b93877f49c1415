//! SLtoVLMappingTableRecord and VLArbitrationTableRecord (docs/sm-behaviour.md 7.14).
//!
//! No device is read for a query: a table that the SM has neither written nor read is all zero, as
//! OpenSM replies. Port numbers in queries about CAs and routers are ignored: the LID identifies
//! the port (IBA 15.2.5.6, 15.2.5.7).

use ferrosm_fabric::snapshot::{EndPort, SnapshotPort};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::tables::{SlToVlRecord, VlArbRecord};

use super::{LID, Search};
use crate::message::{SaReply, SaRequest};
use crate::view::View;

/// Port components of both records, and the block component.
const INPUT_PORT: u64 = 1 << 1;
const OUTPUT_PORT: u64 = 1 << 2;
const ARBITRATED_PORT: u64 = 1 << 1;
const BLOCK_NUM: u64 = 1 << 2;

/// Blocks of VLArbitrationTable.
const BLOCKS: core::ops::RangeInclusive<u8> = 1..=4;

/// Answers Get and GetTable of both records.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> SaReply {
    match Search::new(view, request) {
        Ok(search) if request.attr == id::SL_TO_VL => sl_to_vl_records(&search),
        Ok(search) => vl_arbitration_records(&search),
        Err(reply) => reply,
    }
}

fn sl_to_vl_records(search: &Search<'_>) -> SaReply {
    // Components that were resolved are not compared again.
    let resolved = LID | INPUT_PORT | OUTPUT_PORT;
    let mut matches = search.matches_in::<SlToVlRecord>(search.request.component_mask & !resolved);
    let requested = SlToVlRecord::decode(search.request.data);
    for at in search.end_ports().filter(|at| search.is_visible(*at)) {
        let end_port = search.view.end_port(at);
        let node = search.view.node(end_port.node);
        let table = |selector| node.sl_to_vl.get(&selector).copied();
        let mut offer = |input_port, output_port, table: Option<[u8; 8]>| {
            let record = SlToVlRecord {
                lid: end_port.lid,
                input_port,
                output_port,
                table: table.unwrap_or_default(),
            };
            matches.push_if_match(&record.encode())
        };
        let is_complete = if node.switch.is_some() {
            let ports = |component: u64, requested: PortNum| {
                let all_ports = search
                    .view
                    .ports_of_node(end_port.node)
                    .map(|(_, port)| port.num);
                all_ports.filter(move |num| !search.request.has(component) || *num == requested)
            };
            ports(OUTPUT_PORT, requested.output_port).any(|output| {
                ports(INPUT_PORT, requested.input_port).any(|input| {
                    let of_pair = table(SlToVlSelector::Pair(input, output));
                    let known = of_pair.or_else(|| table(SlToVlSelector::Output(output)));
                    offer(input, output, known)
                })
            })
        } else {
            let num = search.view.port(end_port.port).num;
            let known = table(SlToVlSelector::EndPort(num));
            offer(PortNum::ZERO, PortNum::ZERO, known)
        };
        if is_complete {
            break;
        }
    }
    search.reply(matches)
}

fn vl_arbitration_records(search: &Search<'_>) -> SaReply {
    let resolved = LID | ARBITRATED_PORT | BLOCK_NUM;
    let mut matches = search.matches_in::<VlArbRecord>(search.request.component_mask & !resolved);
    let requested = VlArbRecord::decode(search.request.data);
    let is_selected = |end_port: &EndPort, port: &SnapshotPort| {
        let by_lid = search.view.node(end_port.node).switch.is_none();
        by_lid || !search.request.has(ARBITRATED_PORT) || port.num == requested.output_port
    };
    for (end_port, port) in search.ports().filter(|(end, port)| is_selected(end, port)) {
        for block_num in BLOCKS {
            if search.request.has(BLOCK_NUM) && block_num != requested.block_num {
                continue;
            }
            let mut known = port.vl_arbitration.iter();
            let table = known.find_map(|(block, table)| (*block == block_num).then_some(*table));
            let record = VlArbRecord {
                lid: end_port.lid,
                output_port: port.num,
                block_num,
                table: table.unwrap_or([0; 64]),
            };
            if matches.push_if_match(&record.encode()) {
                return search.reply(matches);
            }
        }
    }
    search.reply(matches)
}
