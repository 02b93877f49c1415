//! Records of lanes: SLtoVLMappingTableRecord, VLArbitrationTableRecord (rule 7.14).
//!
//! Only tables that the subnet manager has written are known: what a device was born with is not asked for, because a switch of 64
//! ports has 4,096 of them.

use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::tables::{SlToVlRecord, VlArbRecord};

use super::Search;
use crate::plan::lanes::MapAt;
use crate::sa::message::Reply;

/// The component of the second port or block in both records.
const OUTPUT_PORT: u64 = 1 << 2;
const INPUT_PORT: u64 = 1 << 1;

pub(super) fn maps(search: &Search<'_>) -> Reply {
    let mut found = search.matches::<SlToVlRecord>();
    let asked = SlToVlRecord::decode(search.request.data);
    let wants = |component: u64, asked: PortNum, port: PortNum| {
        !search.request.has(component) || asked == port
    };
    'all: for at in search.end_ports() {
        if !search.sees(at) {
            continue;
        }
        let end = search.view.end_port(at);
        let node = search.view.node(end.node);
        let mut offer = |input: PortNum, output: PortNum, table: [u8; 8]| {
            let record = SlToVlRecord {
                lid: end.lid,
                input_port: input,
                output_port: output,
                table,
            }
            .encode();
            found.offer(&record)
        };
        if node.switch.is_none() {
            let port = search.view.port(end.port).num;
            if let Some(table) = node.sl_to_vl.get(&MapAt::EndPort(port))
                && offer(PortNum::ZERO, port, *table)
            {
                break;
            }
            continue;
        }
        for (_, output) in search.view.ports_of(end.node) {
            if !wants(OUTPUT_PORT, asked.output_port, output.num) {
                continue;
            }
            let all = node.sl_to_vl.get(&MapAt::Output(output.num));
            for (_, input) in search.view.ports_of(end.node) {
                if !wants(INPUT_PORT, asked.input_port, input.num) {
                    continue;
                }
                let one = node.sl_to_vl.get(&MapAt::Pair(input.num, output.num));
                if let Some(table) = one.or(all)
                    && offer(input.num, output.num, *table)
                {
                    break 'all;
                }
            }
        }
    }
    search.reply(found)
}

pub(super) fn arbitrations(search: &Search<'_>) -> Reply {
    let mut found = search.matches::<VlArbRecord>();
    'all: for (end, port) in search.ports() {
        for (block_num, table) in &port.vl_arbitration {
            let record = VlArbRecord {
                lid: end.lid,
                output_port: port.num,
                block_num: *block_num,
                table: *table,
            };
            if found.offer(&record.encode()) {
                break 'all;
            }
        }
    }
    search.reply(found)
}
