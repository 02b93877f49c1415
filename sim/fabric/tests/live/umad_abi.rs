//! The umad device as seen by a program: layouts, registration, errors, reads, the issm device.

use ferrosm_mad::attr::CapMask;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::umad::abi::{self, Errno, HeaderLayout};
use ferrosm_sim::umad::{MAX_AGENTS, QUEUE_MESSAGES, ReadOutcome};

use crate::umad_rig::*;

#[test]
fn old_layout_is_used_until_p_key_indices_are_enabled() {
    let mut hosts = Hosts::new();
    let file = hosts.open(LEFT);
    assert_eq!(hosts.layout(file), HeaderLayout::Old);
    assert_eq!(
        hosts.umad.ioctl(file, abi::ENABLE_PKEY, &mut []),
        Ok(()),
        "before any agent"
    );
    assert_eq!(hosts.layout(file), HeaderLayout::New);

    let old = hosts.open(LEFT);
    let mut arg = [0; 28];
    arg[20..23].copy_from_slice(&[1, 4, 1]);
    assert_eq!(hosts.umad.ioctl(old, abi::REGISTER_AGENT, &mut arg), Ok(()));
    assert_eq!(hosts.layout(old), HeaderLayout::Old, "56 bytes");
    assert_eq!(
        hosts.umad.ioctl(old, abi::ENABLE_PKEY, &mut []),
        Err(Errno::EINVAL),
        "after an agent"
    );
    hosts.register(old, &SA_CLIENT);
    assert_eq!(
        hosts.layout(old),
        HeaderLayout::Old,
        "fixed by the first agent"
    );

    let new = hosts.agent(LEFT, &SA_CLIENT);
    assert_eq!(
        hosts.layout(new),
        HeaderLayout::New,
        "REGISTER_AGENT2 first"
    );
}

#[test]
fn old_layout_uses_p_key_index_0() {
    let mut hosts = Hosts::new();
    let file = hosts.open(LEFT);
    let mut arg = [0; 28];
    arg[20..23].copy_from_slice(&[1, 9, 1]);
    hosts
        .umad
        .ioctl(file, abi::REGISTER_AGENT, &mut arg)
        .unwrap();
    let peer = Register {
        qpn: 1,
        class: 9,
        version: 1,
        methods: &[3],
        ..Register::default()
    };
    let peer = hosts.agent(RIGHT, &peer);
    hosts.write(file, &to(3), &mad(9, 1, 3, 7, 0x20));
    let (header, body) = hosts.read(peer).unwrap();
    assert_eq!((header.length, header.lid.0), (64 + 256, 1));
    assert_eq!(body[..4], [1, 9, 1, 3]);
    let mut reply = body;
    reply[3] = 0x83;
    hosts.write(peer, &to(1), &reply);
    assert_eq!(hosts.read(file), None, "no response was expected");
}

#[test]
fn agent_ids_are_the_lowest_free_of_32() {
    let mut hosts = Hosts::new();
    let file = hosts.open(LEFT);
    for id in 0..MAX_AGENTS as u32 {
        assert_eq!(hosts.try_register(file, &SA_CLIENT), Ok(id));
    }
    assert_eq!(hosts.try_register(file, &SA_CLIENT), Err(Errno::ENOMEM));
    let mut id = 5u32.to_ne_bytes();
    let unregister =
        |hosts: &mut Hosts, id: &mut [u8]| hosts.umad.ioctl(file, abi::UNREGISTER_AGENT, id);
    assert_eq!(unregister(&mut hosts, &mut id), Ok(()));
    assert_eq!(unregister(&mut hosts, &mut id), Err(Errno::EINVAL));
    assert_eq!(
        unregister(&mut hosts, &mut 32u32.to_ne_bytes()),
        Err(Errno::EINVAL)
    );
    assert_eq!(hosts.try_register(file, &SA_CLIENT), Ok(5));
}

#[test]
fn method_has_one_owner_per_port() {
    let mut hosts = Hosts::new();
    let first = hosts.agent(LEFT, &DIRECTED);
    let second = hosts.open(LEFT);
    let only = |methods: &'static [u8]| Register {
        methods,
        ..DIRECTED
    };
    assert_eq!(
        hosts.try_register(second, &only(&[7])),
        Err(Errno::EINVAL),
        "owned by the other file"
    );
    assert_eq!(hosts.try_register(second, &only(&[6])), Ok(0));
    assert_eq!(
        hosts.try_register(second, &only(&[])),
        Ok(1),
        "requests no methods"
    );
    let lid_routed = Register {
        class: 1,
        ..DIRECTED
    };
    assert_eq!(
        hosts.try_register(second, &lid_routed),
        Ok(2),
        "0x01 and 0x81 are independent"
    );
    let elsewhere = hosts.open(RIGHT);
    assert_eq!(hosts.try_register(elsewhere, &DIRECTED), Ok(0));
    hosts.close(first);
    assert_eq!(hosts.try_register(second, &only(&[7])), Ok(3));
}

#[test]
fn registration_checks_qp_class_rmpp_and_flags() {
    let mut hosts = Hosts::new();
    let file = hosts.open(LEFT);
    let refused = [
        Register { qpn: 1, ..DIRECTED },
        Register { qpn: 0, ..SA },
        Register { qpn: 2, ..SA },
        Register { class: 4, ..SA },
        Register {
            rmpp_version: 2,
            ..SA
        },
        Register { class: 0x35, ..SA },
        Register {
            class: 0x35,
            oui: 0x0100_1405,
            ..SA
        },
        Register {
            class: 0,
            flags: abi::FLAG_USER_RMPP,
            ..SA
        },
    ];
    for registration in &refused {
        assert_eq!(
            hosts.try_register(file, registration),
            Err(Errno::EINVAL),
            "{registration:?}"
        );
    }
    let vendor = Register {
        class: 0x35,
        oui: 0x00_1405,
        ..SA
    };
    assert_eq!(hosts.try_register(file, &vendor), Ok(0));
    let mut arg = Register { flags: 6, ..SA }.bytes();
    assert_eq!(
        hosts.umad.ioctl(file, abi::REGISTER_AGENT2, &mut arg),
        Err(Errno::EINVAL)
    );
    assert_eq!(
        arg[12..16],
        abi::FLAGS_SUPPORTED.to_ne_bytes(),
        "the supported flags are returned"
    );
}

#[test]
fn invalid_calls_return_the_kernels_errors() {
    let mut hosts = Hosts::new();
    let file = hosts.agent(LEFT, &SA_CLIENT);
    let ioctl =
        |hosts: &mut Hosts, request, len: usize| hosts.umad.ioctl(file, request, &mut vec![0; len]);
    assert_eq!(ioctl(&mut hosts, 0x1B05, 0), Err(Errno::ENOTTY));
    assert_eq!(
        ioctl(&mut hosts, abi::REGISTER_AGENT2, 39),
        Err(Errno::EFAULT)
    );
    let no_port = PortAt::new(1, 1);
    assert_eq!(
        hosts.umad.open(&mut hosts.fabric, no_port),
        Err(Errno::ENXIO),
        "a switch has only a device for port 0"
    );
    let get = mad(3, 2, 1, 1, 0x11);
    assert_eq!(
        hosts.try_write(file, &to(3), &get[..35]),
        Err(Errno::EINVAL),
        "incomplete RMPP header"
    );
    assert_eq!(
        hosts.try_write(file, &to(3), &get[..55]),
        Err(Errno::EINVAL),
        "incomplete SA header"
    );
    assert_eq!(hosts.try_write(file, &to(3), &get[..56]), Ok(()));
    assert_eq!(
        hosts.try_write(file, &to(3), &[&get[..], &[0]].concat()),
        Err(Errno::EINVAL),
        "257 bytes without RMPP"
    );
    for (id, errno) in [(1, Errno::EIO), (31, Errno::EIO), (32, Errno::EINVAL)] {
        let mut header = to(3);
        header.id = id;
        assert_eq!(hosts.try_write(file, &header, &get), Err(errno), "{id}");
    }
    assert_eq!(
        hosts.try_write(file, &to(3), &mad(4, 1, 1, 1, 0x12)),
        Err(Errno::EINVAL),
        "an agent with RMPP can send only classes with RMPP"
    );
    hosts.close(file);
    assert_eq!(hosts.try_register(file, &SA), Err(Errno::EBADF));
}

#[test]
fn read_needs_room_for_the_first_256_bytes() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let mut header = to(3);
    header.timeout_ms = 1000;
    hosts.write(client, &header, &mad(3, 2, 0x12, 1, 0x11));
    let (_, received) = hosts.read(server).unwrap();
    hosts.write(server, &to(1), &sa_message(0x92, tid(&received), &[7; 500]));

    let message = hosts.umad.front(client).unwrap();
    let total = 64 + 56 + 500;
    let outcome = |count| message.read_outcome(count);
    assert_eq!(outcome(63), ReadOutcome::TooSmall);
    assert_eq!(outcome(64 + 255), ReadOutcome::TooSmall);
    assert_eq!(outcome(64 + 256), ReadOutcome::FirstSegment(64 + 256));
    assert_eq!(outcome(total - 1), ReadOutcome::FirstSegment(64 + 256));
    assert_eq!(outcome(total), ReadOutcome::Complete(total));
    assert_eq!(outcome(total + 1), ReadOutcome::Complete(total));

    let mut small = [0xEE; 400];
    assert_eq!(message.read(&mut small), Err(Errno::ENOSPC));
    assert_eq!(small[16..20], (total as u32).to_ne_bytes(), "header.length");
    assert_eq!(small[64 + 56..64 + 256], [7; 200]);
    assert_eq!(small[320..], [0xEE; 80], "only its first 256 bytes");
    let mut buffer = vec![0; 4096];
    assert_eq!(message.read(&mut buffer), Ok(total));
    assert_eq!(buffer[64 + 56..total], [7; 500]);
    assert_eq!(
        hosts.umad.queued(client),
        1,
        "reading does not remove the message"
    );
}

#[test]
fn file_is_listed_as_readable_once() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    assert_eq!(hosts.umad.poll_readable(), None);
    for tid in 0..3 {
        hosts.write(client, &to(3), &mad(3, 2, 1, tid, 0x11));
    }
    assert_eq!(hosts.umad.poll_readable(), Some(server));
    assert_eq!(hosts.umad.poll_readable(), None);
    while hosts.read(server).is_some() {}
    hosts.write(client, &to(3), &mad(3, 2, 1, 4, 0x11));
    assert_eq!(hosts.umad.poll_readable(), Some(server));
    while hosts.read(server).is_some() {}
    hosts.write(client, &to(3), &mad(3, 2, 1, 5, 0x11));
    hosts.close(server);
    assert_eq!(hosts.umad.poll_readable(), None, "the file was closed");
}

#[test]
fn queue_is_limited_to_200_000_messages() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &SA_CLIENT);
    let get = mad(3, 2, 1, 0, 0x11);
    for _ in 0..QUEUE_MESSAGES + 3 {
        hosts.try_write(client, &to(3), &get).unwrap();
        hosts.run();
        hosts.sent.clear();
    }
    assert_eq!(hosts.umad.queued(server), QUEUE_MESSAGES);
    assert_eq!(hosts.umad.dropped(server), 3);
    assert!(hosts.read(server).is_some());
    hosts.write(client, &to(3), &get);
    assert_eq!(
        hosts.umad.queued(server),
        QUEUE_MESSAGES,
        "room after a read"
    );
}

#[test]
fn issm_device_is_exclusive() {
    let mut hosts = Hosts::new();
    let is_sm = |hosts: &Hosts| {
        let info = hosts.fabric.port_info(LEFT).unwrap();
        info.capability_mask.0 & CapMask::IS_SM != 0
    };
    assert!(!is_sm(&hosts));
    let issm = hosts.umad.open_issm(&mut hosts.fabric, LEFT).unwrap();
    assert!(is_sm(&hosts));
    assert_eq!(
        hosts.umad.open_issm(&mut hosts.fabric, LEFT),
        Err(Errno::EAGAIN)
    );
    assert!(hosts.umad.open_issm(&mut hosts.fabric, RIGHT).is_ok());
    hosts.umad.close_issm(&mut hosts.fabric, issm);
    assert!(!is_sm(&hosts));
    assert!(hosts.umad.open_issm(&mut hosts.fabric, LEFT).is_ok());
    assert_eq!(
        hosts.umad.open_issm(&mut hosts.fabric, PortAt::new(1, 3)),
        Err(Errno::ENXIO)
    );
}

#[test]
fn hundreds_of_programs_can_use_one_port() {
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let files: Vec<_> = (0..300).map(|_| hosts.agent(LEFT, &SA_CLIENT)).collect();
    for file in &files[..299] {
        hosts.close(*file);
    }
    let last = files[299];
    let mut header = to(3);
    header.timeout_ms = 100;
    hosts.write(last, &header, &mad(3, 2, 1, 9, 0x11));
    let (_, mut reply) = hosts.read(server).unwrap();
    reply[3] = 0x81;
    hosts.write(server, &to(1), &reply);
    assert!(hosts.read(last).is_some(), "the port still has a receiver");
}
