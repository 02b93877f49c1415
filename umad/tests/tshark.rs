//! Comparison of captures with tshark.
//!
//! tshark dissects a file written by [`CaptureWriter`]; every field that it names must have the
//! value that the layouts decode from the same MAD.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failing helper fails its test"
)]

use std::collections::BTreeMap;
use std::process::Command;

use ferrosm_mad::attr::{LftBlock, NodeInfo, Notice, PortInfo, SmInfo, SwitchInfo, id};
use ferrosm_mad::ids::{AttrId, AttrMod, Lid, MKey, Qpn, Sl, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, Method};
use ferrosm_mad::smp::{self, DirectedHeader, DrPath, SmpRequest};
use ferrosm_mad::wire::{Field, get_bits};
use ferrosm_umad::capture::{CaptureDirection, CaptureWriter};

/// A packet and its contents.
struct Packet {
    direction: CaptureDirection,
    remote: Address,
    mad: Mad,
}

const OWN_LID: Lid = Lid(0x1234);

/// Deterministic pseudo-random bytes (SplitMix64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn data(&mut self) -> [u8; 64] {
        let mut data = [0; 64];
        for chunk in data.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_be_bytes());
        }
        data
    }
}

/// Requests and responses of an attribute, directed-route and LID-routed.
fn packets(attr: AttrId) -> Vec<Packet> {
    let mut noise = Noise(u64::from(attr.0));
    let path: DrPath = "0,1,17".parse().unwrap();
    let mut packets = Vec::new();
    for _ in 0..8 {
        let [mut data, response_data] = [noise.data(), noise.data()];
        let (tid, lid) = (
            Tid(noise.next()),
            Lid(u16::try_from(noise.next() % 0xBFFF).unwrap()),
        );
        let mut by_lid =
            SmpRequest::set(attr, AttrMod(9), MKey::new(noise.next()), data).lid_routed(tid);
        if attr == id::NOTICE {
            // A trap whose details tshark dissects; the rest is random.
            data[0] |= 0x80;
            data[4..6].copy_from_slice(&128u16.to_be_bytes());
            by_lid = SmpRequest::set(attr, AttrMod(0), MKey::NONE, data).lid_routed(tid);
            by_lid.as_bytes_mut()[3] = Method::Trap.0;
        }
        let from = Address {
            lid,
            qpn: Qpn(0),
            sl: Sl(5),
            path_bits: 0,
        };
        packets.push(Packet {
            direction: CaptureDirection::Inbound,
            remote: from,
            mad: by_lid,
        });
        if attr != id::NOTICE {
            let get = SmpRequest::get(attr, AttrMod(3), MKey::NONE).directed(&path, tid);
            let response = smp::response(&get, ferrosm_mad::mad::Status::OK, &response_data);
            let remote = Address::DIRECTED;
            packets.push(Packet {
                direction: CaptureDirection::Outbound,
                remote,
                mad: get,
            });
            packets.push(Packet {
                direction: CaptureDirection::Inbound,
                remote,
                mad: response,
            });
        }
    }
    packets
}

/// Writes a capture file with the packets.
fn capture(name: &str, packets: &[Packet]) -> std::path::PathBuf {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    let mut writer = CaptureWriter::new(Vec::new(), "mlx5_0/1").unwrap();
    writer.set_local_lid(OWN_LID);
    for (p, ns) in packets.iter().zip(1_700_000_000_123_456_789u64..) {
        writer.write(ns, p.direction, &p.remote, &p.mad).unwrap();
    }
    std::fs::write(&path, writer.into_inner()).unwrap();
    path
}

/// Values from tshark: for each packet and field name, a list, because some fields repeat.
fn dissect(path: &std::path::Path, names: &[String]) -> Vec<BTreeMap<String, Vec<String>>> {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .args(["-T", "fields", "-E", "separator=|", "-E", "occurrence=a"]);
    for name in names {
        command.args(["-e", name]);
    }
    let output = command
        .output()
        .expect("this test needs tshark: install it or run scripts/test --install");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark failed: {error}");
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| {
            let values = line.split('|').map(|v| {
                v.split(',')
                    .filter(|v| !v.is_empty())
                    .map(ToOwned::to_owned)
                    .collect()
            });
            names.iter().cloned().zip(values).collect()
        })
        .collect()
}

/// Parses a number of tshark: decimal, `0x` hexadecimal, or hexadecimal bytes.
fn number(text: &str) -> u64 {
    let text = text.replace(':', "");
    match (text.as_str(), text.strip_prefix("0x")) {
        ("True", _) => 1,
        ("False", _) => 0,
        (_, Some(hex)) => u64::from_str_radix(hex, 16).unwrap(),
        (text, None) => text
            .parse()
            .unwrap_or_else(|_| u64::from_str_radix(text, 16).unwrap()),
    }
}

/// Compares the fields of a layout at offset `base`; tshark's names are `prefix` and the field name
/// without underscores.
fn compare(attr: AttrId, base: usize, prefix: &str, fields: &[Field], renamed: &[(&str, &str)]) {
    let packets = packets(attr);
    let names: Vec<(String, &Field)> = fields
        .iter()
        .filter_map(|f| {
            let tshark_name = renamed
                .iter()
                .find(|(own_name, _)| *own_name == f.name)
                .map(|(_, tshark_name)| *tshark_name);
            let tshark_name =
                tshark_name.map_or_else(|| f.name.replace('_', ""), ToOwned::to_owned);
            (!tshark_name.is_empty()).then(|| (format!("{prefix}.{tshark_name}"), f))
        })
        .collect();
    let requested: Vec<String> = names.iter().map(|(name, _)| name.clone()).collect();
    let path = capture(&format!("{prefix}-{}", attr.0), &packets);
    let rows = dissect(&path, &requested);
    assert_eq!(rows.len(), packets.len());
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (packet, row) in packets.iter().zip(&rows) {
        for (name, field) in &names {
            // A packet contains the layouts of its kind of SMP only.
            let Some(tshark_text) = row[name].first() else {
                continue;
            };
            let own_value = get_bits(&packet.mad.as_bytes()[base..], field.bit, field.width);
            assert_eq!(
                own_value,
                number(tshark_text),
                "{name}: {tshark_text}, {:?}",
                packet.mad
            );
            *seen.entry(name).or_default() += 1;
        }
    }
    for (name, _) in &names {
        assert!(
            seen.get(name.as_str()) >= Some(&8),
            "{name} is in too few packets: {seen:?}"
        );
    }
}

#[test]
fn packet_headers() {
    let packets = packets(id::NODE_INFO);
    let names = [
        "frame.packet_flags_direction",
        "frame.time_epoch",
        "infiniband.lrh.vl",
        "infiniband.lrh.sl",
        "infiniband.lrh.slid",
        "infiniband.lrh.dlid",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "infiniband.deth.srcqp",
    ];
    let rows = dissect(&capture("headers", &packets), &names.map(ToOwned::to_owned));
    assert_eq!(rows.len(), packets.len());
    for (i, (packet, row)) in packets.iter().zip(&rows).enumerate() {
        let value = |name: &str| number(&row[name][0]);
        let directed = packet.remote.lid == Lid::PERMISSIVE;
        let own_lid = if directed { Lid::PERMISSIVE } else { OWN_LID };
        let (flag, slid, dlid) = match packet.direction {
            CaptureDirection::Inbound => (1, packet.remote.lid, own_lid),
            CaptureDirection::Outbound => (2, own_lid, packet.remote.lid),
        };
        assert_eq!(value("frame.packet_flags_direction"), flag);
        assert_eq!(
            row["frame.time_epoch"][0],
            format!("1700000000.{:09}", 123_456_789 + i)
        );
        assert_eq!(value("infiniband.lrh.vl"), 15);
        assert_eq!(value("infiniband.lrh.sl"), u64::from(packet.remote.sl.0));
        assert_eq!(value("infiniband.lrh.slid"), u64::from(slid.0));
        assert_eq!(value("infiniband.lrh.dlid"), u64::from(dlid.0));
        assert_eq!(value("infiniband.bth.opcode"), 100);
        assert_eq!(value("infiniband.bth.destqp"), 0);
        assert_eq!(value("infiniband.bth.psn"), u64::try_from(i).unwrap());
        assert_eq!(value("infiniband.deth.srcqp"), 0);
    }
}

#[test]
fn mad_header() {
    let renamed = [
        ("attr_id", "attributeid"),
        ("attr_mod", "attributemodifier"),
        ("class_specific", "classspecific"),
        ("tid", "transactionid"),
    ];
    compare(
        id::PORT_INFO,
        0,
        "infiniband.mad",
        MadHeader::FIELDS,
        &renamed,
    );
}

/// tshark 4 shows D as 0 in all responses, and the M_Key in the header of LID-routed SMPs.
#[test]
fn directed_header() {
    let renamed = [("d", ""), ("m_key", "")];
    compare(
        id::NODE_INFO,
        0,
        "infiniband.smpdirected",
        DirectedHeader::FIELDS,
        &renamed,
    );
}

#[test]
fn node_info() {
    compare(
        id::NODE_INFO,
        smp::DATA_OFFSET,
        "infiniband.nodeinfo",
        NodeInfo::FIELDS,
        &[],
    );
}

#[test]
fn switch_info() {
    let renamed = [
        ("optimized_sl_to_vl", "optimizedsltovlmappingprogramming"),
        ("enhanced_port0", "enhancedportzero"),
        ("multicast_fdb_top", ""),
    ];
    compare(
        id::SWITCH_INFO,
        smp::DATA_OFFSET,
        "infiniband.switchinfo",
        SwitchInfo::FIELDS,
        &renamed,
    );
}

#[test]
fn port_info() {
    let renamed = [
        ("m_key", "m_key"),
        ("gid_prefix", "guid"),
        ("m_key_lease_period", "m_keyleaseperiod"),
        ("m_key_protect_bits", "m_keyprotectbits"),
        ("m_key_violations", "m_keyviolations"),
        ("p_key_violations", "p_keyviolations"),
        ("q_key_violations", "q_keyviolations"),
        // Unknown to tshark 4.
        ("multicast_pkey_trap_suppression", ""),
        ("link_speed_ext_active2", ""),
        ("link_speed_ext_supported2", ""),
        ("link_speed_ext_enabled2", ""),
        ("capability_mask2", ""),
        ("link_speed_ext_active", ""),
        ("link_speed_ext_supported", ""),
        ("link_speed_ext_enabled", ""),
    ];
    compare(
        id::PORT_INFO,
        smp::DATA_OFFSET,
        "infiniband.portinfo",
        PortInfo::FIELDS,
        &renamed,
    );
}

#[test]
fn sm_info() {
    let renamed = [("sm_key", "sm_key")];
    compare(
        id::SM_INFO,
        smp::DATA_OFFSET,
        "infiniband.sminfo",
        SmInfo::FIELDS,
        &renamed,
    );
}

#[test]
fn notice() {
    let renamed = [
        ("notice_type", "type"),
        ("producer_type", "producertypevendorid"),
        ("trap_number", "trapnumberdeviceid"),
        ("data_details", ""),
    ];
    compare(
        id::NOTICE,
        smp::DATA_OFFSET,
        "infiniband.notice",
        Notice::FIELDS,
        &renamed,
    );
}

#[test]
fn linear_forwarding_table() {
    let packets = packets(id::LFT);
    let name = "infiniband.linearforwardingtable.port".to_owned();
    let rows = dissect(&capture("lft", &packets), std::slice::from_ref(&name));
    for (packet, row) in packets.iter().zip(&rows) {
        let own_entries = LftBlock::decode(smp::data(&packet.mad))
            .ports
            .map(|p| u64::from(p.0));
        let tshark_entries: Vec<u64> = row[&name].iter().map(|v| number(v)).collect();
        assert_eq!(tshark_entries, own_entries);
    }
}
