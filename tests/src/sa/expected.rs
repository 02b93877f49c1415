//! Expected contents of the SA tables, read from the simulated devices and links, and encoded by
//! the offsets of the specification.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_core::SmConfig;
use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_sim::spec::PortAt;

use crate::lab::Lab;
use crate::sa::wire::{put_field, read_device};

/// An expected record.
#[derive(Debug, Clone)]
pub struct ExpectedRecord {
    /// The end ports of the record. A client sees the record if it shares a partition with each of
    /// them.
    pub about: Vec<PortAt>,
    pub record: Vec<u8>,
}

/// Bits of a record that depend on the port through which the device was read: first bit and width.
pub type IgnoredBits = (usize, usize);

/// The end ports that have a LID.
#[must_use]
pub fn end_ports(lab: &Lab) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    fabric
        .end_ports()
        .filter(|at| fabric.lid(*at).0.0 != 0)
        .collect()
}

/// The base LID of the end port that a port belongs to.
#[must_use]
pub fn lid(lab: &Lab, at: PortAt) -> u16 {
    lab.world.fabric().lid(at).0.0
}

/// Whether two end ports are the same, or share a partition in which at least one of them is a full
/// member.
#[must_use]
pub fn share_partition(lab: &Lab, a: PortAt, b: PortAt) -> bool {
    let fabric = lab.world.fabric();
    let x = fabric.pkeys(a);
    let y = fabric.pkeys(b);
    a == b
        || x.iter().any(|k| {
            let same = |l: &&ferrosm_mad::ids::PKey| k.0 & 0x7FFF == l.0 & 0x7FFF;
            k.0 & 0x7FFF != 0 && y.iter().filter(same).any(|l| (k.0 | l.0) & 0x8000 != 0)
        })
}

/// Whether a port has a P_Key of a partition.
#[must_use]
pub fn is_member(lab: &Lab, at: PortAt, pkey: u16) -> bool {
    let keys = lab.world.fabric().pkeys(at);
    pkey & 0x7FFF != 0 && keys.iter().any(|k| k.0 & 0x7FFF == pkey & 0x7FFF)
}

/// The records of a table that a client should see, sorted.
#[must_use]
pub fn seen_by(lab: &Lab, client: PortAt, all: &[ExpectedRecord]) -> Vec<Vec<u8>> {
    let sees = |s: &&ExpectedRecord| {
        let end_ports: Vec<PortAt> = s.about.iter().copied().chain([client]).collect();
        end_ports
            .iter()
            .all(|a| end_ports.iter().all(|b| share_partition(lab, *a, *b)))
    };
    let mut seen: Vec<Vec<u8>> = all.iter().filter(sees).map(|s| s.record.clone()).collect();
    seen.sort();
    seen
}

fn record(len: usize, fields: &[(usize, usize, u64)], at: usize, inner: &[u8]) -> Vec<u8> {
    let mut record = vec![0; len];
    record[at..at + inner.len()].copy_from_slice(inner);
    for (bit, width, value) in fields {
        put_field(&mut record, *bit, *width, *value);
    }
    record
}

fn read(lab: &mut Lab, at: PortAt, attr: u16, modifier: u32) -> [u8; 64] {
    let lid = lid(lab, at);
    read_device(lab, lid, attr, modifier)
        .unwrap_or_else(|| panic!("{} {at:?}: attribute {attr:#x}", lab.describe_run()))
}

/// NodeRecords. LocalPortNum of a switch depends on the port through which it was read.
pub fn nodes(lab: &mut Lab) -> Vec<ExpectedRecord> {
    let mut entries = Vec::new();
    for at in end_ports(lab) {
        let info = read(lab, at, 0x11, 0);
        let description = read(lab, at, 0x10, 0);
        let mut inner = info[..40].to_vec();
        inner.extend(description);
        let base = u64::from(lid(lab, at));
        entries.push(ExpectedRecord {
            about: vec![at],
            record: record(112, &[(0, 16, base)], 4, &inner),
        });
    }
    entries
}

/// The ports that have PortInfoRecords, each with the end port whose LID it uses.
fn ports(lab: &Lab) -> Vec<(PortAt, u8)> {
    let fabric = lab.world.fabric();
    end_ports(lab)
        .into_iter()
        .flat_map(|at| {
            let ports = if at.port == 0 {
                0..=fabric.num_ports(at.node)
            } else {
                at.port..=at.port
            };
            ports.map(move |p| (at, p))
        })
        .collect()
}

/// PortInfoRecords for clients that support extended speeds.
pub fn port_infos(lab: &mut Lab) -> Vec<ExpectedRecord> {
    let mut entries = Vec::new();
    for (at, port) in ports(lab) {
        let mut info = read(lab, at, 0x15, 1 << 31 | u32::from(port));
        let is_switch = lab.world.fabric().is_switch(at.node);
        if info[32] & 0x0F == 1 && (port > 0 || !is_switch) {
            // Only the states of a port that is down are valid. OpenSM likewise reports no other
            // values of a port that was never up.
            let states = [info[32], info[33]];
            info.fill(0);
            info[32..34].copy_from_slice(&states);
        }
        let fields = [(0, 16, u64::from(lid(lab, at))), (16, 8, u64::from(port))];
        entries.push(ExpectedRecord {
            about: vec![at],
            record: record(72, &fields, 4, &info),
        });
    }
    entries
}

fn switches(lab: &Lab) -> Vec<PortAt> {
    let ends = end_ports(lab).into_iter();
    ends.filter(|at| at.port == 0).collect()
}

/// SwitchInfoRecords.
pub fn switch_infos(lab: &mut Lab) -> Vec<ExpectedRecord> {
    let mut entries = Vec::new();
    for at in switches(lab) {
        let info = read(lab, at, 0x12, 0);
        let base = u64::from(lid(lab, at));
        entries.push(ExpectedRecord {
            about: vec![at],
            record: record(24, &[(0, 16, base)], 4, &info[..20]),
        });
    }
    entries
}

/// LinearForwardingTableRecords: blocks up to LinearFDBTop.
pub fn lfts(lab: &mut Lab) -> Vec<ExpectedRecord> {
    let mut entries = Vec::new();
    for at in switches(lab) {
        let info = read(lab, at, 0x12, 0);
        let top = u16::from_be_bytes([info[6], info[7]]);
        for block in 0..=top / 64 {
            let table = read(lab, at, 0x19, u32::from(block));
            let fields = [(0, 16, u64::from(lid(lab, at))), (16, 16, u64::from(block))];
            entries.push(ExpectedRecord {
                about: vec![at],
                record: record(72, &fields, 8, &table),
            });
        }
    }
    entries
}

/// MulticastForwardingTableRecords: blocks up to the last one with an entry.
pub fn mfts(lab: &mut Lab) -> Vec<ExpectedRecord> {
    /// Enough for the MLIDs of the tests.
    const BLOCKS: u32 = 4;
    let mut entries = Vec::new();
    for at in switches(lab) {
        let positions = u32::from(lab.world.fabric().num_ports(at.node)) / 16 + 1;
        let mut tables = Vec::new();
        let mut last = None;
        for block in 0..BLOCKS {
            for position in 0..positions {
                let table = read(lab, at, 0x1B, position << 28 | block);
                if table != [0; 64] {
                    last = Some(block);
                }
                tables.push((block, position, table));
            }
        }
        let base = u64::from(lid(lab, at));
        for (block, position, table) in tables {
            if last.is_some_and(|last| block <= last) {
                let fields = [
                    (0, 16, base),
                    (16, 4, u64::from(position)),
                    (23, 9, u64::from(block)),
                ];
                entries.push(ExpectedRecord {
                    about: vec![at],
                    record: record(72, &fields, 8, &table),
                });
            }
        }
    }
    entries
}

/// LinkRecords: each link in both directions.
#[must_use]
pub fn links(lab: &Lab) -> Vec<ExpectedRecord> {
    let fabric = lab.world.fabric();
    let mut entries = Vec::new();
    for node in 0..fabric.num_nodes() {
        for from in fabric.external_ports(node) {
            let Some(to) = fabric.peer(from) else {
                continue;
            };
            let end = |at: PortAt| {
                let port = if fabric.is_switch(at.node) {
                    0
                } else {
                    at.port
                };
                PortAt { port, ..at }
            };
            let a = end(from);
            let b = end(to);
            let fields = [
                (0, 16, u64::from(lid(lab, a))),
                (16, 8, u64::from(from.port)),
                (24, 8, u64::from(to.port)),
                (32, 16, u64::from(lid(lab, b))),
            ];
            entries.push(ExpectedRecord {
                about: vec![a, b],
                record: record(8, &fields, 0, &[]),
            });
        }
    }
    entries
}

/// GuidInfoRecords: the blocks of each end port, as many as its GUIDCap requires.
pub fn guids(lab: &mut Lab) -> Vec<ExpectedRecord> {
    let mut entries = Vec::new();
    for at in end_ports(lab) {
        let info = read(lab, at, 0x15, u32::from(at.port));
        for block in 0..info[50].div_ceil(8) {
            let guids = read(lab, at, 0x14, u32::from(block));
            let fields = [(0, 16, u64::from(lid(lab, at))), (16, 8, u64::from(block))];
            entries.push(ExpectedRecord {
                about: vec![at],
                record: record(72, &fields, 8, &guids),
            });
        }
    }
    entries
}

/// SMInfoRecord of the only SM, without its ActCount.
#[must_use]
pub fn sm_infos(lab: &Lab, priority: u8) -> Vec<ExpectedRecord> {
    const MASTER: u64 = 3;
    let guid = lab.world.fabric().port_guid(lab.at).0;
    let fields = [
        (0, 16, u64::from(lid(lab, lab.at))),
        (32, 64, guid),
        (192, 4, u64::from(priority)),
        (196, 4, MASTER),
    ];
    vec![ExpectedRecord {
        about: vec![lab.at],
        record: record(32, &fields, 0, &[]),
    }]
}

/// Reads the table of the record `found` from the device. Applies to attributes 0x13, 0x33 and
/// 0x36, whose records exist only for tables that the SM knows.
pub fn read_table(lab: &mut Lab, attr: u16, found: &[u8]) -> Option<Vec<u8>> {
    let number = |at: usize| u32::from(found[at]);
    let base = u16::from_be_bytes([found[0], found[1]]);
    let is_switch = end_ports(lab)
        .iter()
        .any(|at| at.port == 0 && lid(lab, *at) == base);
    let (smp, modifier) = match attr {
        0x13 if is_switch => (0x17, number(2) << 8 | number(3)),
        0x13 => (0x17, 0),
        0x33 if is_switch => (0x16, number(4) << 16 | number(2) << 8 | number(3)),
        0x33 => (0x16, number(2) << 8 | number(3)),
        0x36 if is_switch => (0x18, number(3) << 16 | number(2)),
        0x36 => (0x18, number(3) << 16),
        _ => return None,
    };
    let table = read_device(lab, base, smp, modifier)?;
    Some(if attr == 0x13 {
        table[..8].to_vec()
    } else {
        table.to_vec()
    })
}

/// Each pair of different ports of a switch that are both up: LID, input port, output port.
#[must_use]
pub fn sl_to_vl_port_pairs(lab: &Lab) -> BTreeSet<(u16, u8, u8)> {
    let fabric = lab.world.fabric();
    switches(lab)
        .into_iter()
        .flat_map(|at| {
            let live: Vec<u8> = fabric
                .external_ports(at.node)
                .filter(|p| fabric.link_up(*p))
                .map(|p| p.port)
                .collect();
            let base = lid(lab, at);
            let outputs = live.clone();
            outputs.into_iter().flat_map(move |output| {
                let inputs = live.clone().into_iter().filter(move |i| *i != output);
                inputs.map(move |input| (base, input, output))
            })
        })
        .collect()
}

/// Clears the bits in `free`.
pub fn clear_bits(record: &mut [u8], free: &[IgnoredBits]) {
    for (at, width) in free {
        put_field(record, *at, *width, 0);
    }
}

/// Partitions for a `fat-tree:4`, and its hosts. In the default partition all hosts are limited
/// members. Hosts 1 to 6 are full members of partition 0x11, hosts 5 to 10 of 0x12. Hosts 9 to 13
/// are limited members of 0x13.
///
/// # Panics
/// If the partition configuration is invalid.
#[must_use]
pub fn partitions_that_overlap() -> (SmConfig, Vec<PortAt>) {
    let lab = Lab::new("fat-tree:4", 5);
    let fabric = lab.world.fabric();
    let hosts: Vec<PortAt> = fabric.end_ports().filter(|p| p.port != 0).collect();
    let group = |number: u16, ports: &[PortAt], membership| Partition {
        name: format!("p{number}"),
        number,
        members: ports
            .iter()
            .map(|p| (MemberSelector::Port(fabric.port_guid(*p)), membership))
            .collect(),
        ..Partition::default()
    };
    let list = vec![
        group(0x11, &hosts[1..7], Membership::Full),
        group(0x12, &hosts[5..11], Membership::Full),
        group(0x13, &hosts[9..14], Membership::Limited),
    ];
    let partitions = Partitions::new(list, Enforcement::Both, false);
    let cfg = SmConfig {
        partitions: Arc::new(partitions.unwrap_or_else(|e| panic!("{e:?}"))),
        ..SmConfig::default()
    };
    (cfg, hosts)
}
