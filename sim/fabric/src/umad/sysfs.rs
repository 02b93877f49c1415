//! Files under `/sys/class` in the kernel's formats (`drivers/infiniband/core/sysfs.c`,
//! `user_mad.c`).
//!
//! Pure functions of the devices' current state, called for each open. The adapters of a host are
//! `mlx5_0`, `mlx5_1`, ... in the given order.

use std::fmt::Write as _;

use ferrosm_mad::attr::{CapMask, LinkSpeed, NodeType, PhysState, PortInfo, PortState};
use ferrosm_mad::ids::{Gid, PKey};

use super::{abi, tables};
use crate::fabric::{CounterWidth, Fabric, PortCounter};
use crate::spec::{NodeIdx, PortAt};

/// Firmware version of all adapters.
pub const FIRMWARE: &str = "1.0.0";
/// Major number of the umad devices.
const MAJOR: u32 = 231;
/// Major number of the devices beyond [`PORTS_PER_MAJOR`]; the kernel allocates one.
const OVERFLOW_MAJOR: u32 = 511;
/// Number of umad devices with the fixed major number; issm devices use the following minors.
const PORTS_PER_MAJOR: u32 = 64;

/// The management queue pairs of an RDMA device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePairs {
    /// QP0 and QP1.
    Both,
    /// QP0: the device for subnet management of an adapter with separate devices.
    Smi,
    /// QP1: the device for data of such an adapter. It reports IsSMdisabled.
    Gsi,
}

/// A umad device: `umadN` and `issmN`, where `N` is the index in [`devices`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UmadDevice {
    /// Name of the adapter.
    pub ca: String,
    /// The port behind the device.
    pub at: PortAt,
    pub queue_pairs: QueuePairs,
}

/// An RDMA device of a host.
struct RdmaDevice {
    name: String,
    node: NodeIdx,
    queue_pairs: QueuePairs,
}

/// The RDMA devices of a host with these adapters.
fn rdma_devices(fabric: &Fabric, cas: &[NodeIdx]) -> Vec<RdmaDevice> {
    let mut devices = Vec::new();
    for (index, node) in cas.iter().copied().enumerate() {
        let is_separate = fabric.has_separate_smi(node);
        let main = if is_separate {
            QueuePairs::Gsi
        } else {
            QueuePairs::Both
        };
        let smi = is_separate.then(|| (format!("smi{index}"), QueuePairs::Smi));
        for (name, queue_pairs) in [(ca_name(index), main)].into_iter().chain(smi) {
            devices.push(RdmaDevice {
                name,
                node,
                queue_pairs,
            });
        }
    }
    devices
}

/// Name of the adapter with an index.
#[must_use]
pub fn ca_name(index: usize) -> String {
    format!("mlx5_{index}")
}

impl Fabric {
    /// Gives QP0 of a node an RDMA device of its own, as adapters with several planes have.
    pub fn separate_smi(&mut self, node: NodeIdx) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.options.separate_smi = true;
        }
    }

    fn has_separate_smi(&self, node: NodeIdx) -> bool {
        self.nodes
            .get(node)
            .is_some_and(|node| node.options.separate_smi)
    }
}

fn ports(fabric: &Fabric, node: NodeIdx) -> std::ops::RangeInclusive<u8> {
    if fabric.is_switch(node) {
        0..=0
    } else {
        1..=fabric.num_ports(node)
    }
}

/// The umad devices of a host with these adapters, ordered by number.
#[must_use]
pub fn devices(fabric: &Fabric, cas: &[NodeIdx]) -> Vec<UmadDevice> {
    let mut devices = Vec::new();
    for device in rdma_devices(fabric, cas) {
        devices.extend(ports(fabric, device.node).map(|port| UmadDevice {
            ca: device.name.clone(),
            at: PortAt::new(device.node, port),
            queue_pairs: device.queue_pairs,
        }));
    }
    devices
}

/// All files of a host with these adapters: path under `/sys/class`, contents.
#[must_use]
pub fn files(fabric: &Fabric, cas: &[NodeIdx]) -> Vec<(String, String)> {
    let mut files = Files::default();
    let version = format!("{}\n", abi::ABI_VERSION);
    files.add("infiniband_mad", "abi_version", version);
    for (number, device) in (0..).zip(devices(fabric, cas)) {
        add_device(&mut files, number, &device);
    }
    for device in rdma_devices(fabric, cas) {
        let node = device.node;
        let folder = format!("infiniband/{}", device.name);
        add_ca(&mut files, &folder, fabric, node);
        for port in ports(fabric, node) {
            let folder = format!("{folder}/ports/{port}");
            let at = PortAt::new(node, port);
            add_port(&mut files, &folder, fabric, at, device.queue_pairs);
        }
    }
    files.entries
}

#[derive(Default)]
struct Files {
    entries: Vec<(String, String)>,
}

impl Files {
    fn add(&mut self, folder: &str, name: &str, text: String) {
        self.entries.push((format!("{folder}/{name}"), text));
    }
}

fn add_device(files: &mut Files, number: u32, device: &UmadDevice) {
    let (major, minor) = if number < PORTS_PER_MAJOR {
        (MAJOR, number)
    } else {
        (OVERFLOW_MAJOR, number - PORTS_PER_MAJOR)
    };
    for (kind, minor) in [("umad", minor), ("issm", minor + PORTS_PER_MAJOR)] {
        let folder = format!("infiniband_mad/{kind}{number}");
        files.add(&folder, "ibdev", format!("{}\n", device.ca));
        files.add(&folder, "port", format!("{}\n", device.at.port));
        files.add(&folder, "dev", format!("{major}:{minor}\n"));
    }
}

fn guid_text(guid: u64) -> String {
    format!(
        "{:04x}:{:04x}:{:04x}:{:04x}\n",
        guid >> 48,
        guid >> 32 & 0xFFFF,
        guid >> 16 & 0xFFFF,
        guid & 0xFFFF
    )
}

fn gid_text(gid: Gid) -> String {
    let mut text = String::with_capacity(40);
    for (i, pair) in gid.0.chunks_exact(2).enumerate() {
        let colon = if i == 0 { "" } else { ":" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{colon}{:02x}{:02x}", pair[0], pair[1]);
    }
    text.push('\n');
    text
}

fn add_ca(files: &mut Files, folder: &str, fabric: &Fabric, node: NodeIdx) {
    let kind = match fabric.kind(node) {
        NodeType::Switch => "2: switch",
        NodeType::Router => "3: router",
        _ => "1: CA",
    };
    files.add(folder, "node_type", format!("{kind}\n"));
    files.add(folder, "node_guid", guid_text(fabric.node_guid(node).0));
    let image = fabric.system_image_guid(node).0;
    files.add(folder, "sys_image_guid", guid_text(image));
    let description = fabric.description(node).bytes;
    let end = description.iter().position(|b| *b == 0).unwrap_or(64);
    let description = String::from_utf8_lossy(&description[..end]);
    files.add(folder, "node_desc", format!("{description}\n"));
    let n = &fabric.nodes[node];
    files.add(folder, "fw_ver", format!("{FIRMWARE}\n"));
    files.add(folder, "hw_rev", format!("{:x}\n", n.caps.revision));
    files.add(folder, "hca_type", format!("MT{}\n", n.device_id));
    let board = format!("SIM_{:06X}{:04X}\n", n.vendor_id, n.device_id);
    files.add(folder, "board_id", board);
}

fn state_text(state: PortState) -> &'static str {
    match state {
        PortState::Down => "DOWN",
        PortState::Initialize => "INIT",
        PortState::Armed => "ARMED",
        PortState::Active => "ACTIVE",
        PortState(5) => "ACTIVE_DEFER",
        _ => "NOP",
    }
}

fn phys_state_text(state: PhysState) -> &'static str {
    match state.0 {
        1 => "Sleep",
        2 => "Polling",
        3 => "Disabled",
        4 => "PortConfigurationTraining",
        5 => "LinkUp",
        6 => "LinkErrorRecovery",
        7 => "Phy Test",
        _ => "<unknown>",
    }
}

fn rate_text(info: &PortInfo, is_fdr10: bool) -> String {
    let lanes = u32::from(info.width().map_or(4, |w| w.0));
    let speed = if is_fdr10 {
        LinkSpeed::Fdr10
    } else {
        info.speed().unwrap_or(LinkSpeed::Sdr)
    };
    // In units of 100 Mb/s; the only possible fraction is a half.
    let rate = speed.mbps() / 100 * lanes;
    let half = if rate % 10 == 0 { "" } else { ".5" };
    format!("{}{half} Gb/sec ({lanes}X {})\n", rate / 10, speed.name())
}

fn add_port(files: &mut Files, folder: &str, fabric: &Fabric, at: PortAt, queue_pairs: QueuePairs) {
    let Some(info) = fabric.port_info(at) else {
        return;
    };
    let mut capabilities = info.capability_mask.0;
    if queue_pairs == QueuePairs::Gsi {
        capabilities |= CapMask::SM_DISABLED;
    }
    let state = info.port_state;
    let phys = info.port_physical_state;
    let texts = [
        ("cap_mask", format!("0x{capabilities:08x}\n")),
        ("lid", format!("0x{:x}\n", info.lid.0)),
        ("lid_mask_count", format!("{}\n", info.lmc.0)),
        ("link_layer", "InfiniBand\n".to_owned()),
        (
            "phys_state",
            format!("{}: {}\n", phys.0, phys_state_text(phys)),
        ),
        ("rate", rate_text(&info, fabric.is_fdr10(at))),
        ("sm_lid", format!("0x{:x}\n", info.master_sm_lid.0)),
        ("sm_sl", format!("{}\n", info.master_sm_sl.0)),
        ("state", format!("{}: {}\n", state.0, state_text(state))),
    ];
    for (name, text) in texts {
        files.add(folder, name, text);
    }
    let gids = format!("{folder}/gids");
    let types = format!("{folder}/gid_attrs/types");
    for index in 0..tables::gid_count(fabric, at) {
        let gid = tables::gid_at(fabric, at, index).unwrap_or_default();
        // An empty entry has no prefix.
        let is_set = gid.guid().0 != 0;
        let shown = if is_set { gid } else { Gid::default() };
        files.add(&gids, &index.to_string(), gid_text(shown));
        if is_set {
            files.add(&types, &index.to_string(), "IB/RoCE v1\n".to_owned());
        }
    }
    add_counters(files, &format!("{folder}/counters"), fabric, at);
    let pkeys = format!("{folder}/pkeys");
    for (index, PKey(key)) in fabric.pkeys(at).into_iter().enumerate() {
        files.add(&pkeys, &index.to_string(), format!("0x{key:04x}\n"));
    }
}

/// Counters of PortCounters with their maximum.
const NARROW: [(&str, PortCounter, u64); 13] = [
    ("symbol_error", PortCounter::SymbolErrors, 0xFFFF),
    ("link_error_recovery", PortCounter::LinkErrorRecovery, 0xFF),
    ("link_downed", PortCounter::LinkDowned, 0xFF),
    ("port_rcv_errors", PortCounter::RcvErrors, 0xFFFF),
    (
        "port_rcv_remote_physical_errors",
        PortCounter::RcvRemotePhysicalErrors,
        0xFFFF,
    ),
    (
        "port_rcv_switch_relay_errors",
        PortCounter::RcvSwitchRelayErrors,
        0xFFFF,
    ),
    ("port_xmit_discards", PortCounter::XmitDiscards, 0xFFFF),
    (
        "port_xmit_constraint_errors",
        PortCounter::XmitConstraintErrors,
        0xFF,
    ),
    (
        "port_rcv_constraint_errors",
        PortCounter::RcvConstraintErrors,
        0xFF,
    ),
    (
        "local_link_integrity_errors",
        PortCounter::LocalLinkIntegrityErrors,
        0xF,
    ),
    (
        "excessive_buffer_overrun_errors",
        PortCounter::ExcessiveBufferOverrunErrors,
        0xF,
    ),
    ("VL15_dropped", PortCounter::Vl15Dropped, 0xFFFF),
    ("port_xmit_wait", PortCounter::XmitWait, 0xFFFF_FFFF),
];

/// Counters of PortCountersExtended.
const EXTENDED: [(&str, PortCounter); 8] = [
    ("port_xmit_data", PortCounter::XmitData),
    ("port_rcv_data", PortCounter::RcvData),
    ("port_xmit_packets", PortCounter::XmitPkts),
    ("port_rcv_packets", PortCounter::RcvPkts),
    ("unicast_xmit_packets", PortCounter::UnicastXmitPkts),
    ("unicast_rcv_packets", PortCounter::UnicastRcvPkts),
    ("multicast_xmit_packets", PortCounter::MulticastXmitPkts),
    ("multicast_rcv_packets", PortCounter::MulticastRcvPkts),
];

/// Counters as the port's PMA reports them.
fn add_counters(files: &mut Files, folder: &str, fabric: &Fabric, at: PortAt) {
    let Some(slot) = fabric.slot(at) else {
        return;
    };
    let raw_counts = fabric.current_raw_counts(slot);
    for (name, which, max) in NARROW {
        let value = raw_counts.read(which, CounterWidth::Narrow).min(max);
        files.add(folder, name, format!("{value}\n"));
    }
    for (name, which) in EXTENDED {
        let value = raw_counts.read(which, CounterWidth::Extended);
        files.add(folder, name, format!("{value}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::attr::LinkWidth;

    #[test]
    fn rates_have_the_kernels_format() {
        let text = |speed: u8, ext: u8, width: u8, fdr10| {
            let info = PortInfo {
                link_speed_active: speed,
                link_speed_ext_active: ext,
                link_width_active: LinkWidth(width).bit(),
                ..PortInfo::default()
            };
            rate_text(&info, fdr10)
        };
        assert_eq!(text(1, 0, 1, false), "2.5 Gb/sec (1X SDR)\n");
        assert_eq!(text(1, 0, 4, false), "10 Gb/sec (4X SDR)\n");
        assert_eq!(text(4, 0, 4, false), "40 Gb/sec (4X QDR)\n");
        assert_eq!(text(4, 0, 4, true), "40 Gb/sec (4X FDR10)\n");
        assert_eq!(text(0, 1, 4, false), "56 Gb/sec (4X FDR)\n");
        assert_eq!(text(0, 2, 4, false), "100 Gb/sec (4X EDR)\n");
        assert_eq!(text(0, 4, 2, false), "100 Gb/sec (2X HDR)\n");
        assert_eq!(text(0, 8, 4, false), "400 Gb/sec (4X NDR)\n");
    }

    #[test]
    fn guids_and_gids_have_the_kernels_format() {
        assert_eq!(guid_text(0x0002_c903_00a1_b2c3), "0002:c903:00a1:b2c3\n");
        let mut gid = [0; 16];
        gid[..2].copy_from_slice(&[0xfe, 0x80]);
        gid[15] = 7;
        assert_eq!(
            gid_text(Gid(gid)),
            "fe80:0000:0000:0000:0000:0000:0000:0007\n"
        );
    }
}
