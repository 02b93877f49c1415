//! Every method with every attribute: the SA performs the specified combinations and rejects all
//! others. It drops only messages that end a transaction (docs/sm-behaviour.md, 7.4; IBA vol. 1,
//! 15.2.5, table 186).

use core::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::wire::{WireRequest, method, put_field, query, status, try_query};

/// Get and GetTable.
const READ: &[u8] = &[method::GET, method::GET_TABLE];
const ALL: &[u8] = &[method::GET, method::GET_TABLE, method::SET, method::DELETE];

/// Supported attributes. A TraceRecord query may use the attribute ID of TraceRecord or of
/// PathRecord.
const SUPPORTED: [(u16, &[u8]); 19] = [
    (0x01, &[method::GET]),
    (0x03, &[method::SET]),
    (0x11, READ),
    (0x12, READ),
    (0x13, READ),
    (0x14, READ),
    (0x15, READ),
    (0x17, READ),
    (0x18, READ),
    (0x20, READ),
    (0x31, ALL),
    (0x33, READ),
    (
        0x35,
        &[method::GET, method::GET_TABLE, method::GET_TRACE_TABLE],
    ),
    (0x36, READ),
    (0x38, ALL),
    (0x39, &[method::GET_TRACE_TABLE]),
    (0x3A, &[method::GET_MULTI]),
    (0xF3, READ),
    (0x30, ALL),
];

/// The SA only sends Notice. RandomForwardingTableRecord and the attributes after it are optional
/// and unsupported. The others are invalid.
const UNSUPPORTED: [u16; 12] = [
    0x00, 0x02, 0x10, 0x16, 0x19, 0x3B, 0x3C, 0x3D, 0x3E, 0x34, 0x1234, 0xFFFF,
];

fn up() -> (Lab, u16) {
    let mut lab = Lab::with("ring:4,1", 1, SmConfig::default());
    lab.next_sweep(60);
    let from = expected_records::lid(&lab, lab.at);
    (lab, from)
}

#[test]
fn every_method_with_every_attribute() {
    const TRAP_REPRESS: u8 = 0x07;
    let (mut lab, from) = up();
    let attributes = SUPPORTED.iter().map(|t| t.0).chain(UNSUPPORTED);
    for attr in attributes {
        for method_code in 0..=u8::MAX {
            for mask in [0, u64::MAX] {
                let request = WireRequest {
                    mask,
                    data: vec![0; 200],
                    ..WireRequest::new(from, method_code, attr)
                };
                let reply = try_query(&mut lab, &request);
                if method_code & method::RESPONSE != 0 || method_code == TRAP_REPRESS {
                    assert_eq!(reply, None, "{method_code:#x} of {attr:#x}");
                    continue;
                }
                let reply =
                    reply.unwrap_or_else(|| panic!("no reply: {method_code:#x} of {attr:#x}"));
                let is_supported = SUPPORTED
                    .iter()
                    .any(|(a, m)| *a == attr && m.contains(&method_code));
                assert_eq!(
                    reply.status != status::BAD_METHOD_ATTR,
                    is_supported,
                    "{method_code:#x} of {attr:#x}: {:#x}",
                    reply.status
                );
                let expected = match method_code {
                    method::SET => 0x81,
                    method::GET_TRACE_TABLE => 0x92,
                    other => other | method::RESPONSE,
                };
                assert_eq!(reply.method, expected);
            }
        }
    }
}

/// The SA drops requests with a wrong SM_Key or from an unknown source LID, except queries of
/// ClassPortInfo (docs/sm-behaviour.md, 7.1 and 7.11).
#[test]
fn unknown_sources_and_wrong_keys_are_dropped() {
    let (mut lab, from) = up();
    for (attr, methods) in SUPPORTED {
        for method_code in methods {
            let mut request = WireRequest::new(0x2FFF, *method_code, attr);
            request.mask = 0x3_FFFF;
            let reply = try_query(&mut lab, &request).map(|reply| reply.status);
            let expected = (attr == 0x01).then_some(status::OK);
            assert_eq!(reply, expected, "{method_code:#x} of {attr:#x}");
            request.from = from;
            request.sm_key = 0xBAD;
            assert_eq!(try_query(&mut lab, &request), None);
        }
    }
    let core = lab.manager().core();
    assert!(core.registry().services().is_empty() && core.registry().subscriptions().is_empty());
}

/// Only trusted clients may read P_Key tables. Service keys and queue pairs are hidden from
/// untrusted clients (docs/sm-behaviour.md, 7.8).
#[test]
fn only_trusted_clients_see_members_and_keys() {
    let (mut lab, from) = up();
    let mut request = WireRequest::new(from, method::GET_TABLE, 0x33);
    assert_eq!(query(&mut lab, &request).status, status::REQ_INVALID);
    request.sm_key = 1;
    let reply = query(&mut lab, &request);
    assert_eq!(reply.status, status::OK);
    assert!(!reply.records.is_empty());
}

fn service(lab: &Lab, at: PortAt, key: u64, lease_s: u64) -> Vec<u8> {
    let mut data = vec![0; 176];
    put_field(&mut data, 0, 64, 77);
    put_field(&mut data, 64, 64, 0xFE80 << 48);
    put_field(&mut data, 128, 64, lab.world.fabric().port_guid(at).0);
    put_field(&mut data, 224, 32, lease_s);
    put_field(&mut data, 256, 64, key);
    data
}

/// A service record can be changed or deleted by its owner, its port, and clients that know its
/// key. The lease is the remaining time.
#[test]
fn client_cannot_delete_the_service_of_another() {
    const MASK: u64 = 0b11_0011;
    let (mut lab, _) = up();
    let ends = expected_records::end_ports(&lab);
    let owner = ends[0];
    let service_port = ends[1];
    let foreign_client = ends[2];
    let set = |lab: &mut Lab, at: PortAt, method_code: u8, key: u64| {
        let request = WireRequest {
            mask: MASK,
            data: service(lab, service_port, key, 100),
            ..WireRequest::new(expected_records::lid(lab, at), method_code, 0x31)
        };
        query(lab, &request).status
    };
    const DENIED: u16 = 0x0700;
    assert_eq!(set(&mut lab, owner, method::SET, 5), status::OK);
    assert_eq!(set(&mut lab, foreign_client, method::SET, 0), DENIED);
    assert_eq!(set(&mut lab, foreign_client, method::DELETE, 6), DENIED);
    assert_eq!(set(&mut lab, foreign_client, method::SET, 5), status::OK);
    assert_eq!(set(&mut lab, service_port, method::DELETE, 0), status::OK);
    assert_eq!(set(&mut lab, owner, method::DELETE, 5), status::NO_RECORDS);
    assert_eq!(set(&mut lab, owner, method::SET, 0), status::OK);
    lab.world.run_for(Duration::from_secs(40));
    let request = WireRequest::new(
        expected_records::lid(&lab, foreign_client),
        method::GET,
        0x31,
    );
    let reply = query(&mut lab, &request);
    assert_eq!(reply.records[0][28..32], 60u32.to_be_bytes());
    lab.world.run_for(Duration::from_secs(61));
    assert_eq!(query(&mut lab, &request).status, status::NO_RECORDS);
}
