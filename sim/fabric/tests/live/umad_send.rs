//! Sending and receiving plain MADs: TIDs, timeouts, receivers, replies of the kernel.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{AttrMod, Gid, Lid, Lmc, MKey, PKey, PortGuid, Qpn, Sl, Tid};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_sim::umad::FileId;
use ferrosm_sim::umad::abi::{Errno, UserHeader};

use crate::rig::path_to;
use crate::umad_rig::*;

fn request_header(lid: u16, timeout_ms: u32, retries: u32) -> UserHeader {
    UserHeader {
        timeout_ms,
        retries,
        ..to(lid)
    }
}

/// The server's response to the oldest request, equal except for the method.
fn respond(hosts: &mut Hosts, server: FileId) {
    let (header, mut body) = hosts.read(server).unwrap();
    body[3] |= 0x80;
    let back = UserHeader {
        sl: header.sl,
        path_bits: header.path_bits,
        ..to(header.lid.0)
    };
    hosts.write(server, &back, &body);
}

#[test]
fn kernel_sets_the_high_half_of_request_tids() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let other = hosts.agent(LEFT, &SA_CLIENT);
    let mut seen = Vec::new();
    for file in [client, other] {
        let get = mad(3, 2, 1, 0xDEAD_BEEF_0000_0042, 0x11);
        hosts.write(file, &request_header(3, 100, 0), &get);
        let (_, body) = hosts.read(server).unwrap();
        seen.push(tid(&body));
        assert_eq!(tid(&body) as u32, 0x42, "the low half is the program's");
        assert!(tid(&body) >> 32 != 0 && tid(&body) >> 56 == 0, "24 bits");
    }
    assert_ne!(seen[0], seen[1], "the high half is per agent");
    let mut response = mad(3, 2, 0x81, seen[0], 0x11);
    hosts.write(server, &to(1), &response);
    let (header, body) = hosts.read(client).unwrap();
    assert_eq!(tid(&body), seen[0], "a response keeps its TID");
    assert_eq!((header.status, header.lid, header.qpn), (0, Lid(3), Qpn(1)));
    assert_eq!(header.length, 64 + 256);
    assert_eq!(hosts.read(other), None);
    // TrapRepress counts as a response.
    response = mad(1, 1, 7, 0x1111_2222_3333_4444, 2);
    let sm = hosts.agent(
        LEFT,
        &Register {
            class: 1,
            ..DIRECTED
        },
    );
    hosts.sent.clear();
    let smp = UserHeader {
        qpn: Qpn(0),
        ..to(3)
    };
    hosts.write(sm, &smp, &response);
    assert_eq!(hosts.sent[0].mad.tid(), Tid(0x1111_2222_3333_4444));
}

#[test]
fn requests_are_retried_and_time_out_with_24_bytes() {
    let mut hosts = Hosts::new();
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let mut header = request_header(7, 100, 2);
    header.length = 0x5555;
    hosts.write(client, &header, &mad(3, 2, 1, 5, 0x11));
    for sent in 1..=3 {
        assert_eq!(hosts.sent.len(), sent);
        hosts.advance_ms(99);
        assert_eq!(hosts.umad.queued(client), 0);
        assert_eq!(hosts.sent.len(), sent, "no retry before the timeout");
        hosts.advance_ms(1);
    }
    assert_eq!(hosts.sent.len(), 3, "one attempt and two retries");
    let (failed, body) = hosts.read(client).unwrap();
    assert_eq!(failed.status, 110, "ETIMEDOUT");
    assert_eq!(
        (failed.lid, failed.retries),
        (Lid(7), 2),
        "as written by the program"
    );
    assert_eq!(failed.length, 0x5555, "unchanged as well");
    assert_eq!(body.len(), 24);
    assert_eq!(body[..], hosts.sent[0].mad.as_bytes()[..24], "TID as sent");
    assert_eq!(hosts.umad.poll_timeout(), None);
}

#[test]
fn response_ends_retries_and_late_ones_are_dropped() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    hosts.write(client, &request_header(3, 100, 1), &mad(3, 2, 1, 1, 0x11));
    hosts.advance_ms(100);
    assert_eq!(hosts.umad.queued(server), 2, "the retry");
    respond(&mut hosts, server);
    assert_eq!(hosts.umad.queued(client), 1);
    respond(&mut hosts, server);
    assert_eq!(hosts.umad.queued(client), 1, "the second response is late");
    assert_eq!(hosts.umad.unmatched(client), 1);
    hosts.advance_ms(1000);
    assert_eq!(
        hosts.umad.queued(client),
        1,
        "no timeout after the response"
    );

    hosts.write(client, &to(3), &mad(3, 2, 1, 2, 0x11));
    respond(&mut hosts, server);
    assert_eq!(
        hosts.umad.queued(client),
        1,
        "with timeout 0, no response is expected or delivered"
    );
}

#[test]
fn duplicate_tids_are_rejected() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let get = mad(3, 2, 1, 1, 0x11);
    hosts.write(client, &request_header(3, 100, 0), &get);
    assert_eq!(
        hosts.try_write(client, &request_header(3, 100, 0), &get),
        Err(Errno::EINVAL)
    );
    assert_eq!(
        hosts.try_write(client, &to(2), &get),
        Err(Errno::EINVAL),
        "also to another peer, also without a timeout"
    );
    respond(&mut hosts, server);
    assert_eq!(
        hosts.try_write(client, &request_header(3, 100, 0), &get),
        Ok(())
    );
    let second = hosts.register(client, &SA_CLIENT);
    let header = UserHeader {
        id: second,
        ..request_header(3, 100, 0)
    };
    assert_eq!(
        hosts.try_write(client, &header, &get),
        Ok(()),
        "another agent has another high half"
    );
    let response = mad(3, 2, 0x81, 1 << 32 | 1, 0x11);
    for _ in 0..2 {
        assert_eq!(
            hosts.try_write(client, &to(3), &response),
            Ok(()),
            "a plain response completes at once, so there is no duplicate"
        );
    }
}

#[test]
fn removing_an_agent_cancels_its_requests() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let second = hosts.register(client, &SA_CLIENT);
    for id in [0, second] {
        let header = UserHeader {
            id,
            ..request_header(3, 100, 5)
        };
        hosts.write(client, &header, &mad(3, 2, 1, 1, 0x11));
    }
    let mut id = second.to_ne_bytes();
    let unregister = ferrosm_sim::umad::abi::UNREGISTER_AGENT;
    hosts.umad.ioctl(client, unregister, &mut id).unwrap();
    respond(&mut hosts, server);
    respond(&mut hosts, server);
    assert_eq!(hosts.umad.queued(client), 1, "of the first agent");
    hosts.write(client, &request_header(3, 100, 5), &mad(3, 2, 1, 2, 0x11));
    hosts.close(client);
    assert_eq!(hosts.umad.poll_timeout(), None);
    respond(&mut hosts, server);
    assert_eq!(hosts.umad.poll_readable(), Some(server));
    assert_eq!(hosts.umad.poll_readable(), None);
}

#[test]
fn header_contains_the_source_of_a_mad() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    hosts.fabric.set_lid(RIGHT, Lid(4), Lmc(1)).unwrap();
    hosts.fabric.corrupt_lft(1, Lid(4), 2);
    hosts.fabric.corrupt_lft(1, Lid(5), 2);
    hosts.route_up_to(5);
    let header = UserHeader {
        sl: Sl(1),
        ..request_header(5, 100, 0)
    };
    hosts.write(client, &header, &mad(3, 2, 1, 1, 0x11));
    let (seen, mut body) = hosts.read(server).unwrap();
    assert_eq!((seen.lid, seen.qpn, seen.sl), (Lid(1), Qpn(1), Sl(1)));
    assert_eq!(seen.path_bits, 1, "of the own LID 5");
    assert_eq!((seen.id, seen.status, seen.grh_present), (0, 0, false));
    body[3] = 0x81;
    let back = UserHeader {
        path_bits: 1,
        ..to(1)
    };
    hosts.write(server, &back, &body);
    let (seen, _) = hosts.read(client).unwrap();
    assert_eq!(seen.lid, Lid(5), "path bits are added to the base LID");
}

#[test]
fn response_to_other_path_bits_is_not_matched() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    hosts.fabric.set_lid(LEFT, Lid(4), Lmc(1)).unwrap();
    hosts.fabric.corrupt_lft(1, Lid(4), 1);
    hosts.fabric.corrupt_lft(1, Lid(5), 1);
    hosts.route_up_to(5);
    let header = UserHeader {
        path_bits: 1,
        ..request_header(3, 100, 0)
    };
    hosts.write(client, &header, &mad(3, 2, 1, 1, 0x11));
    let (seen, mut body) = hosts.read(server).unwrap();
    assert_eq!(seen.lid, Lid(5));
    body[3] = 0x81;
    hosts.write(server, &to(4), &body);
    assert_eq!(hosts.umad.queued(client), 0, "arrived at path bits 0");
    hosts.write(server, &to(5), &body);
    assert_eq!(hosts.umad.queued(client), 1);
}

#[test]
fn grh_is_sent_and_received() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let gid = |hosts: &Hosts, at| {
        let info = hosts.fabric.port_info(at).unwrap();
        Gid::new(info.gid_prefix, hosts.fabric.port_guid(at))
    };
    let (left, right) = (gid(&hosts, LEFT), gid(&hosts, RIGHT));
    let header = UserHeader {
        grh_present: true,
        gid: right,
        flow_label: 0x12345,
        traffic_class: 9,
        hop_limit: 3,
        ..request_header(3, 100, 0)
    };
    let get = mad(3, 2, 1, 1, 0x11);
    hosts.write(client, &header, &get);
    let (seen, mut body) = hosts.read(server).unwrap();
    assert!(seen.grh_present);
    assert_eq!((seen.gid, seen.gid_index, seen.hop_limit), (left, 0, 255));
    assert_eq!((seen.flow_label, seen.traffic_class), (0x12345, 9));
    body[3] = 0x81;
    hosts.write(server, &to(1), &body);
    assert_eq!(hosts.umad.queued(client), 0, "a response without GRH");
    let back = UserHeader {
        lid: Lid(1),
        gid: left,
        ..seen
    };
    hosts.write(server, &back, &body);
    assert_eq!(hosts.read(client).unwrap().0.gid, right);

    for (gid_index, errno) in [(1, Errno::ENODATA), (200, Errno::EINVAL)] {
        let header = UserHeader {
            gid_index,
            ..header
        };
        assert_eq!(hosts.try_write(client, &header, &get), Err(errno));
    }
    let unknown_gid = UserHeader {
        gid: Gid::new(left.prefix(), PortGuid(0x777)),
        ..header
    };
    hosts.write(client, &unknown_gid, &mad(3, 2, 1, 2, 0x11));
    assert_eq!(hosts.umad.queued(server), 0, "not a GID of that port");
}

#[test]
fn p_key_index_selects_and_reports_the_p_key() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let set_keys = |hosts: &mut Hosts, node: usize, keys: &[u16]| {
        let mut data = [0; 64];
        for (key, b) in keys.iter().zip(data.chunks_exact_mut(2)) {
            b.copy_from_slice(&key.to_be_bytes());
        }
        hosts.set(node, id::PKEY_TABLE, data);
    };
    set_keys(&mut hosts, 0, &[0xFFFF, 0x8001, 0]);
    set_keys(&mut hosts, 2, &[0x7FFF, 0x8002, 0x8001]);
    for (pkey_index, pkey, seen) in [(0, 0xFFFF, 0), (1, 0x8001, 2)] {
        let header = UserHeader {
            pkey_index,
            ..request_header(3, 100, 0)
        };
        hosts.sent.clear();
        hosts.write(client, &header, &mad(3, 2, 1, u64::from(pkey), 0x11));
        assert_eq!(hosts.sent[0].pkey, PKey(pkey));
        assert_eq!(hosts.read(server).unwrap().0.pkey_index, seen);
    }
    hosts.sent.clear();
    let header = UserHeader {
        pkey_index: 2,
        ..request_header(3, 100, 0)
    };
    hosts.write(client, &header, &mad(3, 2, 1, 99, 0x11));
    assert!(
        hosts.sent.is_empty(),
        "no such P_Key: dropped by the adapter"
    );
    hosts.advance_ms(100);
    assert_eq!(hosts.umad.queued(client), 3, "the request times out");
}

#[test]
fn unsolicited_mads_are_matched_by_class_version_and_method() {
    let mut hosts = Hosts::new();
    let servers = [
        hosts.agent(RIGHT, &SA),
        hosts.agent(RIGHT, &Register { version: 3, ..SA }),
        hosts.agent(
            RIGHT,
            &Register {
                methods: &[6],
                ..SA
            },
        ),
        hosts.agent(
            RIGHT,
            &Register {
                class: 0x35,
                oui: 0x00_1405,
                version: 1,
                ..SA
            },
        ),
        hosts.agent(
            RIGHT,
            &Register {
                class: 0x35,
                oui: 0x00_1406,
                version: 1,
                ..SA
            },
        ),
    ];
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let mut vendor = mad(0x35, 1, 2, 1, 1);
    vendor[37..40].copy_from_slice(&[0x00, 0x14, 0x06]);
    let mut unknown_oui = vendor.clone();
    unknown_oui[39] = 7;
    let cases = [
        (mad(3, 2, 2, 1, 0x11), Some(0)),
        (mad(3, 3, 2, 1, 0x11), Some(1)),
        (mad(3, 2, 6, 1, 0x11), Some(2)),
        (mad(3, 4, 0x12, 1, 0x11), None),
        (mad(3, 2, 0x13, 1, 0x11), None),
        (vendor, Some(4)),
        (unknown_oui, None),
    ];
    for (mad, receiver) in &cases {
        hosts.write(client, &to(3), mad);
        let received: Vec<usize> = (0..servers.len())
            .filter(|i| hosts.read(servers[*i]).is_some())
            .collect();
        assert_eq!(
            received,
            receiver.iter().copied().collect::<Vec<_>>(),
            "{mad:?}"
        );
    }
}

#[test]
fn kernel_replies_to_requests_without_agent() {
    let mut hosts = Hosts::new();
    let _other_program = hosts.open(RIGHT);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    for method in [1, 2] {
        hosts.write(
            client,
            &request_header(3, 100, 0),
            &mad(3, 2, method, 1, 0x11),
        );
        let (header, body) = hosts.read(client).unwrap();
        assert_eq!(header.status, 0);
        assert_eq!(
            body[3..6],
            [0x81, 0, 0x0C],
            "method/attribute not supported"
        );
    }
    for method in [0x12, 0x15, 6, 3] {
        let mad = mad(3, 2, method, 2, 0x11);
        hosts.write(client, &request_header(3, 100, 0), &mad);
        hosts.advance_ms(100);
        assert_eq!(hosts.read(client).unwrap().0.status, 110, "{method:#x}");
    }
    // SMInfo is delivered to programs; without an agent for it, the kernel replies.
    let sm = hosts.agent(LEFT, &DIRECTED);
    let request = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let smp = request.directed(&path_to(2), Tid(5));
    let header = UserHeader {
        qpn: Qpn(0),
        ..request_header(0xFFFF, 100, 0)
    };
    hosts.write(sm, &header, smp.as_bytes());
    let (_, body) = hosts.read(sm).unwrap();
    assert_eq!(body[3..6], [0x81, 0x80, 0x0C], "with the D bit");
    // Communication management supports Send only; other methods are not received.
    let cm = Register {
        qpn: 1,
        class: 7,
        version: 2,
        ..Register::default()
    };
    let cm = hosts.agent(LEFT, &cm);
    hosts.write(cm, &request_header(3, 100, 0), &mad(7, 2, 1, 1, 0x10));
    hosts.advance_ms(100);
    assert_eq!(hosts.read(cm).unwrap().0.status, 110);
    hosts.write(cm, &request_header(3, 100, 0), &mad(7, 2, 1, 2, 1));
    assert_eq!(
        hosts.read(cm).unwrap().1[3],
        0x81,
        "except for ClassPortInfo"
    );
}

#[test]
fn directed_routes_reach_devices_and_programs() {
    let mut hosts = Hosts::new();
    let left = hosts.agent(LEFT, &DIRECTED);
    let right = hosts.agent(RIGHT, &DIRECTED);
    let header = UserHeader {
        qpn: Qpn(0),
        ..request_header(0xFFFF, 100, 0)
    };
    let get = |attr, path: &DrPath, tid| {
        SmpRequest::get(attr, AttrMod(0), MKey::NONE).directed(path, Tid(tid))
    };
    for (tid, hops) in [(1, 0), (2, 1), (3, 2)] {
        let smp = get(id::NODE_INFO, &path_to(hops), tid);
        hosts.write(left, &header, smp.as_bytes());
        let (seen, body) = hosts.read(left).unwrap();
        assert_eq!(seen.lid, Lid::PERMISSIVE);
        assert_eq!(body[3..6], [0x81, 0x80, 0], "{hops} hops");
        assert_eq!(body[6], 0, "the hop pointer is 0 again");
    }
    assert_eq!(hosts.umad.queued(right), 0);

    // SMInfo is delivered to the program, whose response returns along the route.
    let smp = get(id::SM_INFO, &path_to(2), 4);
    hosts.write(left, &header, smp.as_bytes());
    let (seen, mut body) = hosts.read(right).unwrap();
    body[3] = 0x81;
    body[4] |= 0x80;
    let back = UserHeader {
        timeout_ms: 0,
        ..UserHeader { id: 0, ..seen }
    };
    hosts.write(right, &back, &body);
    assert_eq!(hosts.read(left).unwrap().1[3], 0x81);

    // To the own node: the program responds to its own request.
    let smp = get(id::SM_INFO, &DrPath::LOCAL, 5);
    hosts.write(left, &header, smp.as_bytes());
    let (seen, mut body) = hosts.read(left).unwrap();
    assert_eq!(body[3], 1);
    body[3] = 0x81;
    body[4] |= 0x80;
    hosts.write(left, &UserHeader { id: 0, ..seen }, &body);
    assert_eq!(hosts.read(left).unwrap().1[3], 0x81);
}

#[test]
fn local_request_without_response_completes() {
    let mut hosts = Hosts::new();
    let sm = Register {
        methods: &[],
        ..DIRECTED
    };
    let left = hosts.agent(LEFT, &sm);
    let header = UserHeader {
        qpn: Qpn(0),
        ..request_header(0xFFFF, 100, 3)
    };
    let request = SmpRequest {
        method: ferrosm_mad::mad::Method::Trap,
        ..SmpRequest::get(id::NOTICE, AttrMod(0), MKey::NONE)
    };
    let smp = request.directed(&DrPath::LOCAL, Tid(5));
    hosts.write(left, &header, smp.as_bytes());
    assert_eq!(
        hosts.try_write(left, &header, smp.as_bytes()),
        Ok(()),
        "its TID can be reused"
    );
    hosts.run();
    hosts.advance_ms(60_000);
    assert_eq!(hosts.read(left), None, "no timeout is reported");
    assert_eq!(hosts.umad.poll_timeout(), None);
}

#[test]
fn directed_routes_must_start_at_the_own_port() {
    let mut hosts = Hosts::new();
    let left = hosts.agent(LEFT, &DIRECTED);
    let header = UserHeader {
        qpn: Qpn(0),
        ..request_header(0xFFFF, 100, 0)
    };
    let smp = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
    let by_port_2 = DrPath::LOCAL.extend(ferrosm_mad::ids::PortNum(2)).unwrap();
    let smp = smp.directed(&by_port_2, Tid(1));
    assert_eq!(
        hosts.try_write(left, &header, smp.as_bytes()),
        Err(Errno::EINVAL)
    );
    let switch = hosts.agent(MIDDLE, &DIRECTED);
    assert_eq!(
        hosts.try_write(switch, &header, smp.as_bytes()),
        Ok(()),
        "a switch has several ports"
    );
    hosts.run();
    assert_eq!(hosts.read(switch).unwrap().1[3], 0x81);
}

#[test]
fn lid_routed_smps_reach_own_and_other_devices() {
    let mut hosts = Hosts::new();
    let sm = hosts.agent(
        LEFT,
        &Register {
            class: 1,
            ..DIRECTED
        },
    );
    for (tid, lid) in [(1, 1), (2, 2), (3, 3)] {
        let header = UserHeader {
            qpn: Qpn(0),
            ..request_header(lid, 100, 0)
        };
        let request = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE);
        hosts.write(sm, &header, request.lid_routed(Tid(tid)).as_bytes());
        let (seen, body) = hosts.read(sm).unwrap();
        assert_eq!((seen.lid, seen.qpn), (Lid(lid), Qpn(0)));
        assert_eq!(body[3..6], [0x81, 0, 0]);
    }
}

#[test]
fn qp0_and_qp1_are_separate() {
    let mut hosts = Hosts::new();
    let sm = Register {
        class: 1,
        ..DIRECTED
    };
    let left = hosts.agent(LEFT, &sm);
    let _right = hosts.agent(RIGHT, &sm);
    let gsi = hosts.agent(
        LEFT,
        &Register {
            qpn: 1,
            ..Register::default()
        },
    );
    let smp = SmpRequest::get(id::NODE_INFO, AttrMod(0), MKey::NONE).lid_routed(Tid(1));
    hosts.write(left, &request_header(3, 100, 0), smp.as_bytes());
    hosts.write(gsi, &request_header(3, 100, 0), smp.as_bytes());
    hosts.advance_ms(100);
    for file in [left, gsi] {
        assert_eq!(hosts.read(file).unwrap().0.status, 110, "an SMP to QP1");
    }
}
