//! sysfs files, as libibumad reads them.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Lid, Lmc};
use ferrosm_sim::fabric::PortCounter;
use ferrosm_sim::umad::sysfs;

use crate::umad_rig::*;

fn files(hosts: &Hosts, cas: &[usize]) -> BTreeMap<String, String> {
    let all = sysfs::files(&hosts.fabric, cas);
    let map: BTreeMap<_, _> = all.iter().cloned().collect();
    assert_eq!(map.len(), all.len(), "no duplicate paths");
    map
}

#[test]
fn host_with_two_adapters_has_four_umad_devices() {
    let hosts = Hosts::new();
    let files = files(&hosts, &[2, 0]);
    assert_eq!(files["infiniband_mad/abi_version"], "5\n");
    for (number, ca, port) in [(0, 0, 1), (1, 0, 2), (2, 1, 1), (3, 1, 2)] {
        for (kind, minor) in [("umad", number), ("issm", number + 64)] {
            let folder = format!("infiniband_mad/{kind}{number}");
            assert_eq!(files[&format!("{folder}/ibdev")], format!("mlx5_{ca}\n"));
            assert_eq!(files[&format!("{folder}/port")], format!("{port}\n"));
            assert_eq!(files[&format!("{folder}/dev")], format!("231:{minor}\n"));
        }
    }
    assert!(!files.contains_key("infiniband_mad/umad4/port"));
    assert_eq!(
        files["infiniband/mlx5_0/node_guid"],
        "0000:0000:0000:3000\n"
    );
    assert_eq!(
        files["infiniband/mlx5_1/node_guid"],
        "0000:0000:0000:1000\n"
    );
    let devices = sysfs::devices(&hosts.fabric, &[2, 0]);
    assert_eq!((devices[2].ca.as_str(), devices[2].at), ("mlx5_1", LEFT));
}

#[test]
fn port_files_have_current_values() {
    let mut hosts = Hosts::new();
    let port = "infiniband/mlx5_0/ports/1";
    let read = |hosts: &Hosts, name: &str| files(hosts, &[0])[&format!("{port}/{name}")].clone();
    let expected = [
        ("state", "4: ACTIVE\n"),
        ("phys_state", "5: LinkUp\n"),
        ("rate", "200 Gb/sec (4X HDR)\n"),
        ("lid", "0x1\n"),
        ("lid_mask_count", "0\n"),
        ("sm_lid", "0x1\n"),
        ("sm_sl", "0\n"),
        ("link_layer", "InfiniBand\n"),
        ("gids/0", "fe80:0000:0000:0000:0000:0000:0000:1001\n"),
        ("gids/1", "0000:0000:0000:0000:0000:0000:0000:0000\n"),
        ("gid_attrs/types/0", "IB/RoCE v1\n"),
        ("pkeys/0", "0xffff\n"),
        ("pkeys/1", "0x0000\n"),
    ];
    for (name, text) in expected {
        assert_eq!(read(&hosts, name), text, "{name}");
    }
    hosts.fabric.set_lid(LEFT, Lid(0x1C), Lmc(2)).unwrap();
    assert_eq!(read(&hosts, "lid"), "0x1c\n");
    assert_eq!(read(&hosts, "lid_mask_count"), "2\n");
    let mask = |hosts: &Hosts| {
        let text = read(hosts, "cap_mask");
        assert_eq!(text.len(), "0x00000000\n".len());
        u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap()
    };
    let before = mask(&hosts);
    hosts.umad.open_issm(&mut hosts.fabric, LEFT).unwrap();
    assert_eq!(mask(&hosts), before | 2, "IsSM");
    let second = files(&hosts, &[0]);
    assert_eq!(second["infiniband/mlx5_0/ports/2/state"], "1: DOWN\n");
    assert_eq!(
        second["infiniband/mlx5_0/ports/2/phys_state"],
        "2: Polling\n"
    );
    assert_eq!(second["infiniband/mlx5_0/node_type"], "1: CA\n");
    assert_eq!(second["infiniband/mlx5_0/node_desc"], "node 0\n");
}

#[test]
fn counter_files_have_the_port_counters() {
    let mut hosts = Hosts::new();
    let counters = "infiniband/mlx5_0/ports/1/counters";
    let read = |hosts: &Hosts, name: &str| {
        let text = files(hosts, &[0])[&format!("{counters}/{name}")].clone();
        text.trim().parse::<u64>().unwrap()
    };
    let before = read(&hosts, "port_xmit_packets");
    let client = hosts.agent(LEFT, &SA_CLIENT);
    hosts.write(client, &to(3), &mad(3, 2, 0x12, 1, 0x11));
    assert_eq!(read(&hosts, "port_xmit_packets"), before + 1);
    let which = PortCounter::SymbolErrors;
    hosts.fabric.add_errors(LEFT, which, 70_000);
    assert_eq!(read(&hosts, "symbol_error"), 0xFFFF, "16 bits");
    let folder = format!("{counters}/");
    let all = files(&hosts, &[0]);
    assert_eq!(all.keys().filter(|p| p.starts_with(&folder)).count(), 21);
}

#[test]
fn switch_has_only_port_0() {
    let hosts = Hosts::new();
    let files = files(&hosts, &[1]);
    assert_eq!(files["infiniband/mlx5_0/node_type"], "2: switch\n");
    assert_eq!(files["infiniband/mlx5_0/ports/0/lid"], "0x2\n");
    assert_eq!(files["infiniband/mlx5_0/ports/0/state"], "4: ACTIVE\n");
    assert_eq!(files["infiniband_mad/umad0/port"], "0\n");
    assert!(!files.keys().any(|path| path.contains("ports/1")));
}
