//! Choice of ports, and its errors.

use super::*;

fn port(ca: &str, port_num: u8, state: PortState) -> LocalPort {
    LocalPort {
        ca: ca.to_owned(),
        ca_type: String::new(),
        fw_version: String::new(),
        node_type: NodeType::Ca,
        node_guid: NodeGuid(1),
        system_image_guid: SystemImageGuid(1),
        port_num: PortNum(port_num),
        port_guid: PortGuid(0x10 + u64::from(port_num)),
        gid_prefix: GidPrefix::DEFAULT,
        state,
        phys_state: if state == PortState::Down {
            PhysState::Polling
        } else {
            PhysState::LinkUp
        },
        rate_gbps: 200,
        lid: Lid(0),
        lmc: Lmc(0),
        sm_lid: Lid(0),
        sm_sl: Sl(0),
        cap_mask: CapMask(0),
        link_layer: LinkLayer::InfiniBand,
        is_virtual_function: false,
    }
}

fn selection_of(ca: &str, port: u8) -> PortSelection {
    PortSelection {
        ca: Some(ca.to_owned()),
        port: Some(PortNum(port)),
        port_guid: None,
    }
}

/// An Active port may belong to another SM's subnet, so it is not preferred over a port in Init.
#[test]
fn several_linked_ports_are_ambiguous_in_any_state() {
    let any_port = PortSelection::default();
    let ports = [
        port("a", 1, PortState::Initialize),
        LocalPort {
            lid: Lid(7),
            sm_lid: Lid(3),
            port_guid: PortGuid(0x22),
            ..port("b", 1, PortState::Active)
        },
        port("c", 1, PortState::Down),
    ];
    let error = choose_port(&ports, &any_port, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot choose between 2 ports with a link: \
         a port 1 (GUID 0x0000000000000011, Initialize, 200 Gb/s, LID 0, SM LID 0), \
         b port 1 (GUID 0x0000000000000022, Active, 200 Gb/s, LID 7, SM LID 3)"
    );
    for (ca, index) in [("a", 0), ("b", 1)] {
        assert_eq!(
            choose_port(&ports, &selection_of(ca, 1), None),
            Ok(&ports[index])
        );
    }
    assert_eq!(
        choose_port_for_discovery(&ports, &any_port).unwrap().ca,
        "b"
    );
    assert_eq!(
        choose_port_for_discovery(&ports[..1], &any_port)
            .unwrap()
            .ca,
        "a"
    );
}

/// A device with several ports is as ambiguous as no criteria.
#[test]
fn device_with_two_linked_ports_is_ambiguous() {
    let ports = [
        port("a", 1, PortState::Active),
        port("a", 2, PortState::Active),
    ];
    let device = PortSelection {
        ca: Some("a".to_owned()),
        ..PortSelection::default()
    };
    let error = choose_port(&ports, &device, None).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot choose between 2 ports with a link that match device a: "),
        "{error}"
    );
}

#[test]
fn only_linked_port_is_chosen() {
    let any_port = PortSelection::default();
    let ports = [
        port("a", 1, PortState::Down),
        port("a", 2, PortState::Initialize),
    ];
    assert_eq!(
        choose_port(&ports, &any_port, None).unwrap().to_string(),
        "a port 2"
    );
}

/// A Down port is chosen only if it is the only match: with several, the first link to train must
/// not decide.
#[test]
fn down_port_is_chosen_only_if_it_is_the_only_match() {
    let any_port = PortSelection::default();
    let ports = [port("a", 1, PortState::Down), port("a", 2, PortState::Down)];
    assert!(
        !choose_port(&ports[..1], &any_port, None)
            .unwrap()
            .has_link()
    );
    assert_eq!(
        choose_port(&ports, &selection_of("a", 2), None),
        Ok(&ports[1])
    );
    assert_eq!(
        choose_port(&ports, &any_port, None)
            .unwrap_err()
            .to_string(),
        "no InfiniBand port: a port 1 is down (Polling), a port 2 is down (Polling)"
    );
    let reading = choose_port_for_discovery(&ports[..1], &any_port).unwrap_err();
    assert!(matches!(reading, PortChoiceError::NoneUsable { .. }));
}

/// After an outage of rail 1, rail 2 may be the only port with a link; the record decides
/// nevertheless.
#[test]
fn port_served_last_is_chosen_whatever_its_link() {
    let any_port = PortSelection::default();
    let last = Some(PortGuid(0x11));
    for state in [PortState::Down, PortState::Initialize, PortState::Active] {
        let ports = [port("a", 1, state), port("a", 2, PortState::Active)];
        assert_eq!(choose_port(&ports, &any_port, last), Ok(&ports[0]));
        let named = choose_port(&ports, &selection_of("a", 2), last);
        assert_eq!(named, Ok(&ports[1]), "a named port overrides the record");
    }
    let ports = [port("a", 2, PortState::Active)];
    assert_eq!(
        choose_port(&ports, &any_port, last)
            .unwrap_err()
            .to_string(),
        "the port served last (0x0000000000000011) is absent; present: a port 2"
    );
    assert_eq!(
        choose_port(&[], &any_port, last),
        Err(PortChoiceError::NoDevice)
    );
}

/// A hypervisor with virtual functions has one port to serve, unless the administrator names a
/// function.
#[test]
fn virtual_function_is_served_only_if_named() {
    let any_port = PortSelection::default();
    let function = LocalPort {
        is_virtual_function: true,
        port_guid: PortGuid(0x22),
        ..port("vf", 1, PortState::Active)
    };
    let ports = [port("pf", 1, PortState::Active), function];
    assert_eq!(choose_port(&ports, &any_port, None), Ok(&ports[0]));
    assert_eq!(
        choose_port(&ports[1..], &any_port, None)
            .unwrap_err()
            .to_string(),
        "no InfiniBand port: vf port 1 belongs to a virtual function"
    );
    let named = choose_port(&ports, &selection_of("vf", 1), None);
    assert_eq!(named, Ok(&ports[1]));
}

/// An adapter with several planes lists each as a port with the GUID of the whole, on a device for
/// QP0; QP1 is on another device.
#[test]
fn planes_of_a_port_are_one_candidate_with_one_gsi_partner() {
    let any_port = PortSelection::default();
    let plane = |ca, number, state| LocalPort {
        port_guid: PortGuid(0x11),
        ..port(ca, number, state)
    };
    let gsi = LocalPort {
        cap_mask: CapMask(CapMask::SM_DISABLED),
        ..plane("mlx5_0", 1, PortState::Active)
    };
    let other = LocalPort {
        port_guid: PortGuid(0x33),
        ..gsi.clone()
    };
    let ports = [
        plane("smi0", 1, PortState::Down),
        plane("smi0", 2, PortState::Active),
        plane("smi0", 3, PortState::Active),
        other,
        gsi,
    ];
    let smi = choose_port(&ports, &any_port, None).unwrap();
    assert_eq!(smi.to_string(), "smi0 port 2");
    assert_eq!(gsi_port(&ports, smi), &ports[4]);
    // Other adapters have both queue pairs on one device.
    assert_eq!(gsi_port(&ports[..4], smi), smi);
}

/// Each unusable port is listed with its reason.
#[test]
fn unusable_ports_are_reported_with_reasons() {
    let roce = LocalPort {
        link_layer: LinkLayer::Ethernet,
        ..port("mlx5_0", 1, PortState::Active)
    };
    let split = LocalPort {
        cap_mask: CapMask(CapMask::SM_DISABLED),
        ..port("mlx5_1", 1, PortState::Active)
    };
    let iwarp = LocalPort {
        node_type: NodeType(4),
        ..port("irdma0", 1, PortState::Active)
    };
    let ports = [roce, split, iwarp, port("mlx5_2", 1, PortState::Down)];
    assert_eq!(
        choose_port_for_discovery(&ports, &PortSelection::default())
            .unwrap_err()
            .to_string(),
        "no InfiniBand port: mlx5_0 port 1 is Ethernet (RoCE), mlx5_1 port 1 allows no subnet manager \
         (IsSMdisabled), irdma0 port 1 is not InfiniBand (iWARP or similar), mlx5_2 port 1 is down (Polling)"
    );
    assert_eq!(
        choose_port(&[], &PortSelection::default(), None),
        Err(PortChoiceError::NoDevice)
    );
}

/// An adapter with a separate SMI device has the same port GUID on two RDMA devices: the one that
/// allows an SM is chosen.
#[test]
fn port_guid_selects_the_device_with_qp0() {
    let data = LocalPort {
        cap_mask: CapMask(CapMask::SM_DISABLED),
        ..port("mlx5_0", 1, PortState::Active)
    };
    let ports = [data, port("smi0", 1, PortState::Active)];
    let selection = PortSelection {
        port_guid: Some(PortGuid(0x11)),
        ..PortSelection::default()
    };
    assert_eq!(choose_port(&ports, &selection, None).unwrap().ca, "smi0");
    let selection = PortSelection {
        ca: Some("mlx9".to_owned()),
        ..PortSelection::default()
    };
    assert_eq!(
        choose_port(&ports, &selection, None)
            .unwrap_err()
            .to_string(),
        "no port matches device mlx9; available: mlx5_0 port 1, smi0 port 1"
    );
}
