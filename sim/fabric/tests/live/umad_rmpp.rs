//! The kernel's RMPP between two hosts: long messages, windows, losses, aborts, termination.

use std::time::Duration;

use ferrosm_mad::mad::Mad;
use ferrosm_mad::sa::{RmppHeader, RmppStatus, RmppType};
use ferrosm_sim::fabric::Packet;
use ferrosm_sim::umad::FileId;
use ferrosm_sim::umad::abi::{Errno, FLAG_USER_RMPP, UserHeader};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::umad_rig::*;

const GET_TABLE: u8 = 0x12;
const GET_MULTI: u8 = 0x14;

fn data(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i * 7 + (i >> 8)) as u8).collect()
}

fn rmpp(packet: &Packet) -> RmppHeader {
    RmppHeader::from_mad(packet.mad.as_bytes())
}

fn of_type(hosts: &Hosts, kind: RmppType) -> Vec<RmppHeader> {
    hosts
        .sent
        .iter()
        .map(rmpp)
        .filter(|h| h.active && h.rmpp_type == kind)
        .collect()
}

struct Pair {
    hosts: Hosts,
    server: FileId,
    client: FileId,
}

impl Pair {
    fn new() -> Self {
        Self::with_server(&SA)
    }

    fn with_server(registration: &Register) -> Self {
        let mut hosts = Hosts::new();
        let server = hosts.agent(RIGHT, registration);
        let client = hosts.agent(LEFT, &SA_CLIENT);
        Self {
            hosts,
            server,
            client,
        }
    }

    /// The client requests a table; returns the TID that the server sees.
    fn request_table(&mut self, timeout_ms: u32) -> u64 {
        let header = UserHeader {
            timeout_ms,
            ..to(3)
        };
        let request = mad(3, 2, GET_TABLE, 0x77, 0x11);
        self.hosts.write(self.client, &header, &request);
        let (_, received) = self.hosts.read(self.server).unwrap();
        self.hosts.sent.clear();
        tid(&received)
    }

    /// The server writes its response; no packet is delivered yet.
    fn respond(&mut self, tid: u64, retries: u32, data: &[u8]) {
        let header = UserHeader { retries, ..to(1) };
        let message = sa_message(0x80 | GET_TABLE, tid, data);
        self.hosts
            .try_write(self.server, &header, &message)
            .unwrap();
    }

    /// A packet from the server's port, as from a misbehaving peer.
    fn raw_from_server(&mut self, mad: &[u8]) {
        let raw = Register {
            rmpp_version: 0,
            methods: &[],
            ..SA
        };
        let file = self.hosts.agent(RIGHT, &raw);
        self.hosts.try_write(file, &to(1), mad).unwrap();
    }
}

fn segment(tid: u64, header: RmppHeader) -> Mad {
    let mut mad = Mad::parse(&mad(3, 2, 0x80 | GET_TABLE, tid, 0x11)).unwrap();
    header.write_to(mad.as_bytes_mut());
    mad
}

fn data_header(number: u32) -> RmppHeader {
    RmppHeader {
        version: 1,
        rmpp_type: RmppType::Data,
        active: true,
        first: number == 1,
        segment_number: number,
        ..RmppHeader::default()
    }
}

#[test]
fn messages_of_any_length_arrive_unchanged() {
    for len in [
        0, 1, 8, 199, 200, 201, 399, 400, 401, 12_999, 13_000, 13_001, 50_000,
    ] {
        let mut pair = Pair::new();
        let tid = pair.request_table(1000);
        let sent = data(len);
        pair.respond(tid, 3, &sent);
        pair.hosts.run();
        let (header, body) = pair.hosts.read(pair.client).unwrap();
        assert_eq!(body.len(), 56 + len);
        assert_eq!(header.length as usize, 64 + 56 + len);
        assert_eq!((header.status, header.lid.0, header.qpn.0), (0, 3, 1));
        assert!(body[56..] == sent, "{len} bytes");
        assert_eq!(body[3], 0x80 | GET_TABLE);
        pair.hosts.advance_ms(9_999);
        assert!(
            pair.hosts.umad.poll_timeout().is_some(),
            "the reception is remembered"
        );
        pair.hosts.advance_ms(1);
        assert_eq!(pair.hosts.umad.poll_timeout(), None);
        assert_eq!(pair.hosts.umad.queued(pair.server), 0, "nothing reported");
    }
}

#[test]
fn ten_megabytes_arrive() {
    let mut pair = Pair::new();
    let tid = pair.request_table(1000);
    let sent = data(10 << 20);
    pair.respond(tid, 3, &sent);
    let mut max = 0;
    let mut in_flight = 0i64;
    pair.hosts.run_with(|packet| {
        in_flight += if rmpp(packet).rmpp_type == RmppType::Data {
            1
        } else {
            -64
        };
        in_flight = in_flight.max(0);
        max = max.max(in_flight);
        Fate::Arrives
    });
    let (_, body) = pair.hosts.read(pair.client).unwrap();
    assert!(body[56..] == sent);
    let segments = of_type(&pair.hosts, RmppType::Data);
    assert_eq!(
        segments.len(),
        sent.len().div_ceil(200),
        "no segment was repeated"
    );
    assert!(max <= 2 * 64, "packets in flight are limited by the window");
}

#[test]
fn windows_open_by_64_and_flags_mark_the_ends() {
    let mut pair = Pair::new();
    let tid = pair.request_table(1000);
    pair.respond(tid, 3, &data(200 * 130));
    pair.hosts.run();
    let acks: Vec<(u32, u32)> = of_type(&pair.hosts, RmppType::Ack)
        .iter()
        .map(|h| (h.segment_number, h.payload_length))
        .collect();
    assert_eq!(acks, [(1, 65), (65, 129), (129, 193), (130, 193)]);
    let segments = of_type(&pair.hosts, RmppType::Data);
    let numbers: Vec<u32> = segments.iter().map(|h| h.segment_number).collect();
    assert_eq!(numbers, (1..=130).collect::<Vec<_>>());
    for h in &segments {
        let n = h.segment_number;
        assert_eq!((h.first, h.last, h.status), (n == 1, n == 130, 0));
        assert_eq!((h.version, h.resp_time), (1, 0));
    }
    assert_eq!(segments[0].payload_length, 130 * 220);
    assert_eq!(segments[1].payload_length, 0);
    assert_eq!(segments[129].payload_length, 220);
    let ack = pair
        .hosts
        .sent
        .iter()
        .find(|p| rmpp(p).rmpp_type == RmppType::Ack)
        .unwrap();
    assert_eq!(ack.mad.as_bytes()[3], GET_TABLE, "the R bit is inverted");
    assert_eq!(ack.mad.tid().0, tid);
}

/// With losses below 30 %, duplicates and reordering, either the bytes arrive unchanged or the
/// sender gets a timeout; nothing else is delivered.
#[test]
fn lossy_links_do_not_corrupt_messages() {
    let mut arrived = 0;
    for seed in 0..60 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut pair = Pair::new();
        let tid = pair.request_table(u32::MAX);
        let sent = data(rng.random_range(0..60_000));
        let loss = rng.random_range(0..30);
        let (twice, late) = (rng.random_range(0..10), rng.random_range(0..10));
        let mut fate = move |_: &Packet| match rng.random_range(0..100) {
            x if x < loss => Fate::Lost,
            x if x < loss + twice => Fate::Twice,
            x if x < loss + twice + late => Fate::Late,
            _ => Fate::Arrives,
        };
        pair.respond(tid, if seed % 4 == 0 { 1 } else { 12 }, &sent);
        pair.hosts.run_with(&mut fate);
        pair.hosts.advance_with(Duration::from_secs(600), &mut fate);
        let failed = pair.hosts.read(pair.server);
        match pair.hosts.read(pair.client) {
            Some((header, body)) => {
                assert_eq!(header.status, 0);
                assert!(body[56..] == sent, "seed {seed}");
                arrived += 1;
            }
            None => {
                let (header, _) =
                    failed.unwrap_or_else(|| panic!("seed {seed}: no timeout reported"));
                assert_eq!(header.status, 110);
            }
        }
        assert_eq!(pair.hosts.read(pair.client), None, "once");
    }
    assert!(arrived >= 40, "{arrived} of 60");
}

#[test]
fn unacknowledged_responses_time_out_at_the_sender() {
    for (retries, seconds) in [(0, 2), (3, 8)] {
        let mut pair = Pair::new();
        let tid = pair.request_table(1000);
        pair.respond(tid, retries, &data(500));
        pair.hosts.run_with(|_| Fate::Lost);
        pair.hosts
            .advance_with(Duration::from_millis(seconds * 1000 - 1), |_| Fate::Lost);
        assert_eq!(pair.hosts.umad.queued(pair.server), 0);
        pair.hosts
            .advance_with(Duration::from_millis(1), |_| Fate::Lost);
        let (header, body) = pair.hosts.read(pair.server).unwrap();
        assert_eq!((header.status, body.len()), (110, 24));
        assert_eq!(self::tid(&body), tid, "a response keeps its TID");
        let tries = of_type(&pair.hosts, RmppType::Data).len();
        assert_eq!(tries as u32, retries + 1, "the first segment only");
    }
}

#[test]
fn progress_restores_the_retries() {
    let mut pair = Pair::new();
    let tid = pair.request_table(u32::MAX);
    let sent = data(200 * 300);
    pair.respond(tid, 1, &sent);
    // Each window loses its last segment once: five timeouts with a single retry allowed.
    let mut lost = std::collections::BTreeSet::new();
    let mut fate = |packet: &Packet| {
        let h = rmpp(packet);
        let is_last = h.segment_number % 64 == 1 && h.rmpp_type == RmppType::Data;
        if is_last && lost.insert(h.segment_number) {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    };
    pair.hosts.run_with(&mut fate);
    pair.hosts.advance_with(Duration::from_secs(30), &mut fate);
    let (_, body) = pair.hosts.read(pair.client).unwrap();
    assert!(body[56..] == sent);
    assert_eq!(lost.len(), 5);
}

#[test]
fn duplicate_of_an_incomplete_response_is_rejected() {
    let mut pair = Pair::new();
    let tid = pair.request_table(1000);
    pair.respond(tid, 3, &data(500));
    let again = sa_message(0x80 | GET_TABLE, tid, &data(500));
    let (server, hosts) = (pair.server, &mut pair.hosts);
    assert_eq!(
        hosts.try_write(server, &to(1), &again),
        Err(Errno::EINVAL),
        "same TID, class and peer"
    );
    assert_eq!(hosts.try_write(server, &to(2), &again), Ok(()), "elsewhere");
    hosts.run();
    assert_eq!(hosts.try_write(server, &to(1), &again), Ok(()), "complete");
}

#[test]
fn receiver_aborts_transfers_after_40_seconds() {
    let mut pair = Pair::new();
    let tid = pair.request_table(u32::MAX);
    pair.respond(tid, 1000, &data(500));
    let all_but_the_second = |packet: &Packet| {
        let h = rmpp(packet);
        if h.rmpp_type == RmppType::Data && h.segment_number == 2 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    };
    pair.hosts.run_with(all_but_the_second);
    pair.hosts
        .advance_with(Duration::from_secs(39), all_but_the_second);
    assert!(of_type(&pair.hosts, RmppType::Abort).is_empty());
    pair.hosts
        .advance_with(Duration::from_secs(1), all_but_the_second);
    let aborts = of_type(&pair.hosts, RmppType::Abort);
    assert_eq!(aborts.len(), 1);
    assert_eq!(aborts[0].status, RmppStatus::T2L.0);
    pair.hosts.sent.clear();
    pair.hosts
        .advance_with(Duration::from_secs(100), all_but_the_second);
    assert!(pair.hosts.sent.is_empty(), "the sender has stopped");
    assert_eq!(pair.hosts.umad.queued(pair.server), 0, "without notice");
}

#[test]
fn invalid_segments_are_aborted_with_a_reason() {
    let valid_header = data_header(1);
    let cases = [
        (
            RmppHeader {
                version: 2,
                ..valid_header
            },
            RmppStatus::Unv,
        ),
        (
            RmppHeader {
                rmpp_type: RmppType(9),
                ..valid_header
            },
            RmppStatus::BadType,
        ),
        (
            RmppHeader {
                first: false,
                ..valid_header
            },
            RmppStatus::BadSegment,
        ),
        (
            RmppHeader {
                first: true,
                ..data_header(2)
            },
            RmppStatus::BadSegment,
        ),
        (
            RmppHeader {
                status: 3,
                ..valid_header
            },
            RmppStatus::IllegalStatus,
        ),
        (
            RmppHeader {
                rmpp_type: RmppType::Ack,
                segment_number: 5,
                payload_length: 4,
                ..valid_header
            },
            RmppStatus::W2S,
        ),
        (
            RmppHeader {
                rmpp_type: RmppType::Stop,
                ..valid_header
            },
            RmppStatus::IllegalStatus,
        ),
        (
            RmppHeader {
                rmpp_type: RmppType::Abort,
                status: 117,
                ..valid_header
            },
            RmppStatus::IllegalStatus,
        ),
    ];
    for (header, reason) in cases {
        let mut pair = Pair::new();
        let tid = pair.request_table(1000);
        pair.raw_from_server(segment(tid, header).as_bytes());
        pair.hosts.run();
        let aborts = of_type(&pair.hosts, RmppType::Abort);
        let reported = aborts.last().unwrap_or_else(|| panic!("{header:?}"));
        assert_eq!(reported.status, reason.0, "{header:?}");
        assert_eq!((reported.version, reported.segment_number), (1, 0));
        assert_eq!(pair.hosts.umad.queued(pair.client), 0);
    }
}

/// A peer sends long requests with random numbers, lengths and flags: delivered messages are not
/// longer than what was sent, no state remains, and a concurrent transfer succeeds.
#[test]
fn hostile_segments_do_not_affect_other_transfers() {
    const SEGMENTS: usize = 300;
    let mut delivered = 0;
    for seed in 0..40 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut pair = Pair::new();
        let tid = pair.request_table(u32::MAX);
        let sent = data(5_000);
        pair.respond(tid, 3, &sent);
        let raw = Register {
            rmpp_version: 0,
            methods: &[],
            ..SA
        };
        let file = pair.hosts.agent(LEFT, &raw);
        for _ in 0..SEGMENTS {
            let number = match rng.random_range(0..8) {
                0 => rng.random(),
                _ => rng.random_range(0..6),
            };
            let header = RmppHeader {
                version: u8::from(rng.random_range(0..20) > 0),
                rmpp_type: RmppType(match rng.random_range(0..8) {
                    0 => rng.random_range(0..6),
                    _ => 1,
                }),
                first: (number == 1) ^ (rng.random_range(0..16) == 0),
                last: rng.random_range(0..6) == 0,
                payload_length: match rng.random_range(0..3) {
                    0 => rng.random(),
                    1 => 0,
                    _ => rng.random_range(0..2000),
                },
                ..data_header(number)
            };
            let tid = rng.random_range(1..4);
            let mut request = Mad::parse(&mad(3, 2, GET_MULTI, tid, 0x3A)).unwrap();
            header.write_to(request.as_bytes_mut());
            let _ = pair.hosts.try_write(file, &to(3), request.as_bytes());
            if rng.random_range(0..10) == 0 {
                pair.hosts.run();
            }
        }
        pair.hosts.run();
        pair.hosts
            .advance_with(Duration::from_secs(600), |_| Fate::Arrives);
        while let Some((_, body)) = pair.hosts.read(pair.server) {
            assert!(
                body.len() <= 56 + 200 * SEGMENTS,
                "seed {seed}: {}",
                body.len()
            );
            delivered += 1;
        }
        let (header, body) = pair.hosts.read(pair.client).unwrap();
        assert_eq!(header.status, 0, "seed {seed}");
        assert!(body[56..] == sent, "seed {seed}");
        assert_eq!(pair.hosts.umad.queued(pair.server), 0);
        assert_eq!(
            pair.hosts.umad.poll_timeout(),
            None,
            "seed {seed}: state remains"
        );
    }
    assert!(delivered > 40, "{delivered} messages were complete");
}

#[test]
fn abort_and_stop_end_transfers_without_notice() {
    for (rmpp_type, status) in [
        (RmppType::Abort, RmppStatus::T2L),
        (RmppType::Abort, RmppStatus::Unspecified),
        (RmppType::Stop, RmppStatus::ResX),
    ] {
        let mut pair = Pair::new();
        let tid = pair.request_table(1000);
        pair.respond(tid, 3, &data(5000));
        pair.hosts.run_with(|_| Fate::Lost);
        pair.hosts.sent.clear();
        // Sent by the client, with the method of the request.
        let mut mad = segment(
            tid,
            RmppHeader {
                rmpp_type,
                status: status.0,
                ..data_header(0)
            },
        );
        mad.as_bytes_mut()[3] = GET_TABLE;
        let raw = Register {
            class: 0,
            rmpp_version: 0,
            methods: &[],
            ..SA
        };
        let file = pair.hosts.agent(LEFT, &raw);
        // The kernel replaces the high half of a request's TID, so this bypasses the write.
        assert_eq!(pair.hosts.try_write(file, &to(3), mad.as_bytes()), Ok(()));
        let mut packet = pair.hosts.umad.poll_transmit().unwrap();
        packet.mad = mad;
        pair.hosts.inject(packet);
        pair.hosts.run();
        pair.hosts.advance_ms(60_000);
        assert!(pair.hosts.sent.is_empty(), "no more retries");
        assert_eq!(pair.hosts.umad.queued(pair.server), 0);
    }
}

#[test]
fn repeated_segments_of_a_complete_message_are_acknowledged_again() {
    let mut pair = Pair::new();
    let tid = pair.request_table(1000);
    pair.respond(tid, 3, &data(300));
    // The last ACK is lost, so the last segment is repeated.
    let mut lost = false;
    let fate = |packet: &Packet| {
        let h = rmpp(packet);
        if h.rmpp_type == RmppType::Ack
            && h.segment_number == 2
            && !std::mem::replace(&mut lost, true)
        {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    };
    pair.hosts.run_with(fate);
    assert!(pair.hosts.read(pair.client).is_some());
    pair.hosts.advance_ms(3000);
    let acks = of_type(&pair.hosts, RmppType::Ack);
    assert_eq!(acks.last().unwrap().segment_number, 2);
    assert_eq!(of_type(&pair.hosts, RmppType::Data).len(), 3);
    assert_eq!(pair.hosts.read(pair.client), None, "not delivered again");
    assert_eq!(pair.hosts.umad.queued(pair.server), 0, "the sender is done");
}

#[test]
fn double_sided_transfers_reverse_direction() {
    let mut pair = Pair::new();
    let request_data = data(3000);
    let header = UserHeader {
        timeout_ms: 5000,
        retries: 2,
        ..to(3)
    };
    let request = sa_message(GET_MULTI, 5, &request_data);
    pair.hosts.write(pair.client, &header, &request);
    let (_, received) = pair.hosts.read(pair.server).unwrap();
    assert!(received[56..] == request_data);
    let acks = of_type(&pair.hosts, RmppType::Ack);
    let last = acks.last().unwrap();
    assert_eq!(
        (last.segment_number, last.payload_length),
        (0, 1),
        "the ACK of the last ACK"
    );
    let reply = data(7000);
    let message = sa_message(0x80 | GET_MULTI, tid(&received), &reply);
    let back = UserHeader {
        retries: 3,
        ..to(1)
    };
    pair.hosts.write(pair.server, &back, &message);
    let (header, body) = pair.hosts.read(pair.client).unwrap();
    assert_eq!(header.status, 0);
    assert!(body[56..] == reply);
    pair.hosts.advance_ms(60_000);
    assert_eq!(pair.hosts.read(pair.client), None);
    assert_eq!(pair.hosts.read(pair.server), None);
}

#[test]
fn long_request_without_response_times_out_once() {
    let mut pair = Pair::new();
    let header = UserHeader {
        timeout_ms: 3000,
        retries: 5,
        ..to(3)
    };
    let request = sa_message(GET_MULTI, 5, &data(3000));
    pair.hosts.write(pair.client, &header, &request);
    pair.hosts.sent.clear();
    pair.hosts.advance_ms(2999);
    assert_eq!(pair.hosts.umad.queued(pair.client), 0);
    pair.hosts.advance_ms(1);
    assert_eq!(pair.hosts.read(pair.client).unwrap().0.status, 110);
    assert!(pair.hosts.sent.is_empty(), "the request is not sent again");
}

#[test]
fn programs_with_their_own_rmpp_receive_every_packet() {
    let user = Register {
        flags: FLAG_USER_RMPP,
        ..SA_CLIENT
    };
    let mut hosts = Hosts::new();
    let server = hosts.agent(RIGHT, &SA);
    let client = hosts.agent(LEFT, &user);
    let header = UserHeader {
        timeout_ms: 1000,
        ..to(3)
    };
    hosts.write(client, &header, &mad(3, 2, GET_TABLE, 1, 0x11));
    let (_, received) = hosts.read(server).unwrap();
    let response = sa_message(0x80 | GET_TABLE, tid(&received), &data(450));
    hosts.write(server, &to(1), &response);
    let (_, first) = hosts.read(client).unwrap();
    assert_eq!(first.len(), 256);
    let rmpp = |segment: &[u8]| RmppHeader::from_mad::<56>(segment.first_chunk().unwrap());
    let ack = |segment: &[u8]| {
        let mut ack = [0; 256];
        ack[..56].copy_from_slice(&segment[..56]);
        ack[3] ^= 0x80;
        let h = rmpp(segment);
        RmppHeader {
            rmpp_type: RmppType::Ack,
            first: false,
            last: false,
            payload_length: h.segment_number + 1,
            ..h
        }
        .write_to(&mut ack);
        ack
    };
    let mut received_data = first[56..].to_vec();
    let mut last = first;
    while !rmpp(&last).last {
        hosts.write(client, &to(3), &ack(&last));
        let (_, next) = hosts.read(client).unwrap();
        assert_eq!(rmpp(&next).segment_number, rmpp(&last).segment_number + 1);
        received_data.extend_from_slice(&next[56..]);
        last = next;
    }
    assert!(received_data[..450] == data(450));
    hosts.write(client, &to(3), &ack(&last));
    hosts.advance_ms(60_000);
    assert_eq!(
        hosts.umad.queued(server),
        0,
        "all segments were acknowledged"
    );
    assert_eq!(
        hosts.try_write(client, &to(3), &sa_message(GET_MULTI, 1, &data(300))),
        Err(Errno::EINVAL),
        "longer than a MAD"
    );
}

#[test]
fn segments_have_the_class_header_before_the_data() {
    for (class, oui, offset) in [
        (3u8, 0, 56usize),
        (6, 0, 64),
        (0x10, 0, 64),
        (0x35, 0x1405, 40),
    ] {
        let registration = Register {
            class,
            oui,
            version: 1,
            methods: &[GET_TABLE],
            ..SA
        };
        let mut hosts = Hosts::new();
        let server = hosts.agent(RIGHT, &registration);
        let client = hosts.agent(
            LEFT,
            &Register {
                methods: &[1],
                ..registration
            },
        );
        let mut request = mad(class, 1, GET_TABLE, 1, 0x11);
        request[37..40].copy_from_slice(&oui.to_be_bytes()[1..]);
        let header = UserHeader {
            timeout_ms: 1000,
            ..to(3)
        };
        hosts.write(client, &header, &request);
        let (_, mut message) = hosts.read(server).unwrap();
        message.truncate(offset);
        message[3] |= 0x80;
        message[24..27].copy_from_slice(&[1, 1, 1]);
        if oui == 0 {
            message[36..offset].fill(0xAB);
        }
        let class_header = message[36..offset].to_vec();
        let sent = data(1000);
        message.extend_from_slice(&sent);
        hosts.sent.clear();
        hosts.write(server, &to(1), &message);
        let (_, body) = hosts.read(client).unwrap();
        assert_eq!(body.len(), offset + 1000, "class {class:#x}");
        assert!(body[offset..] == sent);
        for packet in hosts
            .sent
            .iter()
            .filter(|p| rmpp(p).rmpp_type == RmppType::Data)
        {
            let b = packet.mad.as_bytes();
            assert_eq!(b[36..offset], class_header);
        }
    }
}

/// The first `arrive` packets are delivered, all others are lost.
fn deliver_first(arrive: u32) -> impl FnMut(&Packet) -> Fate {
    let mut count = 0;
    move |_| {
        count += 1;
        if count > arrive {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    }
}

#[test]
fn closing_a_file_ends_its_transfers() {
    // The sender closes its file: the receiver aborts after 40 s.
    let mut pair = Pair::new();
    let tid = pair.request_table(60_000);
    pair.respond(tid, 3, &data(100_000));
    pair.hosts.run_with(deliver_first(40));
    pair.hosts.close(pair.server);
    pair.hosts.advance_ms(60_000);
    assert_eq!(
        pair.hosts.read(pair.client).unwrap().0.status,
        110,
        "the request timed out"
    );
    assert_eq!(pair.hosts.umad.poll_timeout(), None);

    // The receiver closes its file: the sender times out.
    let mut pair = Pair::new();
    let tid = pair.request_table(60_000);
    pair.respond(tid, 1, &data(100_000));
    pair.hosts.run_with(deliver_first(40));
    pair.hosts.close(pair.client);
    pair.hosts.advance_ms(60_000);
    assert_eq!(pair.hosts.read(pair.server).unwrap().0.status, 110);
    assert_eq!(pair.hosts.umad.poll_timeout(), None);
}

#[test]
fn unsolicited_rmpp_is_not_delivered() {
    let mut pair = Pair::new();
    let tid = pair.request_table(1000);
    let mut single = data_header(1);
    single.last = true;
    single.payload_length = 30;
    pair.raw_from_server(segment(tid, single).as_bytes());
    pair.raw_from_server(segment(tid ^ 1, single).as_bytes());
    pair.raw_from_server(segment(tid, data_header(9)).as_bytes());
    pair.hosts.run();
    let (header, body) = pair.hosts.read(pair.client).unwrap();
    assert_eq!(header.length, 64 + 66, "56 + 30 - 20 bytes");
    assert_eq!(body.len(), 66);
    assert_eq!(pair.hosts.read(pair.client), None, "no such request");
}
