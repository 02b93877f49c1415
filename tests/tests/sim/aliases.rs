//! Alias GUIDs and VL tables on a simulated fabric: SA requests that make the SM write or read
//! device tables.

use std::time::Duration;

use ferrosm_core::{Command, Input, SmConfig};
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, MKey, PortGuid, Tid};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::PathRecord;
use ferrosm_mad::sa::tables::GuidInfoRecord;
use ferrosm_mad::sa::{self, id};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{Members, header};
use ferrosm_tests::sa::wire;

const KEY: MKey = MKey::new(0x1234);
/// LID and BlockNum.
const LID_AND_BLOCK: u64 = 0b11;

const fn entry(index: u8) -> u64 {
    1 << (GuidInfoRecord::FIRST_GUID + index)
}

fn lab(spec: &str) -> Lab {
    let cfg = SmConfig {
        sm_key: KEY,
        ..SmConfig::default()
    };
    let mut lab = Lab::with(spec, 1, cfg);
    assert!(lab.next_sweep(60).is_clean());
    lab
}

/// A client's SA request.
struct SaRequest<'a> {
    from: PortAt,
    method: Method,
    attr: AttrId,
    mask: u64,
    data: &'a [u8],
    key: MKey,
}

/// Sends a request to the SM.
fn send(lab: &mut Lab, request: &SaRequest<'_>, tid: u64) {
    let message = wire::WireRequest {
        sm_key: request.key.expose(),
        mask: request.mask,
        data: request.data.to_vec(),
        ..wire::WireRequest::new(0, request.method.0, request.attr.0)
    };
    let bytes = message.to_bytes(tid);
    let from = Peer {
        lid: lab.world.fabric().lid(request.from).0,
        ..Peer::default()
    };
    lab.handle(lab.sm, Input::Gmp { from, bytes });
}

fn replies(lab: &Lab, tid: u64) -> Vec<&[u8]> {
    let all = lab.manager().replies.iter();
    let matching = all.filter(|(_, bytes)| header(bytes).tid == Tid(tid));
    matching.map(|(_, bytes)| &bytes[..]).collect()
}

/// Sends a request and runs the simulation until the SM replies.
fn query_sa(lab: &mut Lab, request: &SaRequest<'_>) -> (Status, Vec<u8>) {
    const TID: u64 = 77;
    lab.edit(lab.sm, |sm, _| sm.replies.clear());
    send(lab, request, TID);
    lab.run_until("a reply", 10, |lab| !replies(lab, TID).is_empty());
    let bytes = replies(lab, TID)[0];
    let data = bytes[sa::DATA_OFFSET..].to_vec();
    (Status(header(bytes).status), data)
}

/// Sets or deletes the GuidInfoRecord of port `of` on behalf of port `from`.
fn change(
    lab: &mut Lab,
    method: Method,
    (from, of): (PortAt, PortAt),
    (block_num, mask): (u8, u64),
    guids: [u64; 8],
) -> Result<[u64; 8], Status> {
    let record = GuidInfoRecord {
        lid: lab.world.fabric().lid(of).0,
        block_num,
        guids: guids.map(PortGuid),
    };
    let request = SaRequest {
        from,
        method,
        attr: id::GUID_INFO,
        mask,
        data: &record.encode(),
        key: MKey::NONE,
    };
    let (status, data) = query_sa(lab, &request);
    if status.is_ok() {
        let record = GuidInfoRecord::decode_slice(&data).ok_or(status)?;
        Ok(record.guids.map(|g| g.0))
    } else {
        Err(status)
    }
}

fn in_device(lab: &Lab, at: PortAt, index: usize) -> u64 {
    lab.world.fabric().guid_entry(at, index).0
}

fn gid(guid: u64) -> Gid {
    Gid::new(GidPrefix::DEFAULT, PortGuid(guid))
}

/// A host sets one alias GUID and has the SM generate another. Both are written to the device, used
/// in paths and deleted again.
#[test]
fn alias_guids_are_set_written_queried_and_deleted() {
    const ALIAS: u64 = 0x0200_0000_0000_0042;
    let mut lab = lab("star:4");
    let (host, other) = (lab.hosts()[1], lab.hosts()[2]);
    let own_port_guid = lab.world.fabric().port_guid(host).0;
    let mask = LID_AND_BLOCK | entry(1) | entry(3);
    let wanted = [0, ALIAS, 0x99, 0, 0, 0, 0, 0];
    let set = change(&mut lab, Method::Set, (host, host), (0, mask), wanted).expect("set");
    let generated = set[3];
    assert_eq!(set, [own_port_guid, ALIAS, 0, generated, 0, 0, 0, 0]);
    assert!(
        generated != 0 && generated >> 56 == 2,
        "{generated:#x} is not a local GUID"
    );
    lab.run_until("the aliases are written", 10, |lab| {
        in_device(lab, host, 1) == ALIAS && in_device(lab, host, 3) == generated
    });
    // Repeating the request returns the same GUIDs.
    let again = change(&mut lab, Method::Set, (host, host), (0, mask), wanted);
    assert_eq!(again, Ok(set));
    // PathRecords can be queried by alias GUID.
    let path = PathRecord {
        sgid: gid(ALIAS),
        dgid: gid(lab.world.fabric().port_guid(other).0),
        numb_path: 1,
        ..PathRecord::default()
    };
    let query = SaRequest {
        from: other,
        method: Method::Get,
        attr: id::PATH,
        mask: 1 << 2 | 1 << 3 | 1 << 12,
        data: &path.encode(),
        key: MKey::NONE,
    };
    let (status, data) = query_sa(&mut lab, &query);
    assert!(status.is_ok(), "{status}");
    let found = PathRecord::decode_slice(&data).unwrap();
    assert_eq!((found.sgid, found.dgid), (path.sgid, path.dgid));
    assert_eq!(found.slid, lab.world.fabric().lid(host).0);
    // Any client can read the whole block.
    let record = GuidInfoRecord {
        lid: lab.world.fabric().lid(host).0,
        ..GuidInfoRecord::default()
    };
    let query = SaRequest {
        from: other,
        method: Method::Get,
        attr: id::GUID_INFO,
        mask: LID_AND_BLOCK,
        data: &record.encode(),
        key: MKey::NONE,
    };
    let (status, data) = query_sa(&mut lab, &query);
    assert!(status.is_ok(), "{status}");
    assert_eq!(
        GuidInfoRecord::decode_slice(&data)
            .unwrap()
            .guids
            .map(|g| g.0),
        set
    );
    // A rebooted device has lost its aliases; the SM writes them again.
    lab.world.fabric_mut().reboot(host.node);
    lab.run_until("the device lost its aliases", 10, |lab| {
        in_device(lab, host, 1) == 0
    });
    lab.run_until("the aliases are written again", 60, |lab| {
        in_device(lab, host, 3) == generated
    });
    assert_eq!(in_device(&lab, host, 1), ALIAS);
    let after_delete = change(&mut lab, Method::Delete, (host, host), (0, mask), [0; 8]);
    assert_eq!(after_delete, Ok([own_port_guid, 0, 0, 0, 0, 0, 0, 0]));
    lab.run_until("the aliases are deleted", 10, |lab| {
        in_device(lab, host, 1) == 0 && in_device(lab, host, 3) == 0
    });
    // A generated GUID depends only on port and index: it is the same after the table was empty.
    let set = change(
        &mut lab,
        Method::Set,
        (host, host),
        (0, LID_AND_BLOCK | entry(3)),
        [0; 8],
    );
    assert_eq!(set.map(|guids| guids[3]), Ok(generated));
}

/// Invalid requests and the status of each.
#[test]
fn invalid_alias_requests_are_rejected() {
    let mut lab = lab("star:4");
    let (host, other) = (lab.hosts()[1], lab.hosts()[2]);
    let (own_guid, other_guid) = (
        lab.world.fabric().port_guid(host).0,
        lab.world.fabric().port_guid(other).0,
    );
    let blocks =
        u16::from(lab.world.fabric().port_info(host).expect("a port").guid_cap).div_ceil(8);
    let past_last_block = u8::try_from(blocks).expect("a block");
    for (method, from, block, mask, expected) in [
        (
            Method::Set,
            host,
            0,
            0b01 | entry(1),
            Status::INSUFFICIENT_COMPONENTS,
        ),
        (
            Method::Set,
            host,
            0,
            0b10 | entry(1),
            Status::INSUFFICIENT_COMPONENTS,
        ),
        (
            Method::Set,
            host,
            0,
            LID_AND_BLOCK | entry(0),
            Status::REQ_INVALID,
        ),
        (
            Method::Delete,
            host,
            0,
            LID_AND_BLOCK | entry(0),
            Status::REQ_INVALID,
        ),
        (
            Method::Set,
            host,
            past_last_block,
            LID_AND_BLOCK | entry(1),
            Status::NO_RECORDS,
        ),
        (
            Method::Set,
            other,
            0,
            LID_AND_BLOCK | entry(1),
            Status::DENIED,
        ),
        (
            Method::Delete,
            other,
            0,
            LID_AND_BLOCK | entry(1),
            Status::DENIED,
        ),
        (
            Method::GetMulti,
            host,
            0,
            LID_AND_BLOCK | entry(1),
            Status::BAD_METHOD_ATTR,
        ),
    ] {
        let result = change(&mut lab, method, (from, host), (block, mask), [7; 8]);
        assert_eq!(result, Err(expected), "{method:?} {block} {mask:#x}");
    }
    let mask = LID_AND_BLOCK | entry(1) | entry(2);
    let mut own_table = |at: PortAt, first: u64, second: u64| {
        let guids = [0, first, second, 0, 0, 0, 0, 0];
        change(&mut lab, Method::Set, (at, at), (0, mask), guids)
    };
    // GUIDs of other ports are not accepted; the reply shows 0 in their place.
    let set = own_table(host, 7, other_guid);
    assert_eq!(set, Ok([own_guid, 7, 0, 0, 0, 0, 0, 0]));
    let set = own_table(other, 7, 8);
    assert_eq!(set, Ok([other_guid, 0, 8, 0, 0, 0, 0, 0]));
    // A GUID is accepted only once per table; a new alias replaces the old one.
    let set = own_table(host, 9, 9);
    assert_eq!(set, Ok([own_guid, 9, 0, 0, 0, 0, 0, 0]));
    let set = own_table(other, 7, 8);
    assert_eq!(set, Ok([other_guid, 7, 8, 0, 0, 0, 0, 0]));
    // A client with the SM_Key may set aliases of other ports.
    let record = GuidInfoRecord {
        lid: lab.world.fabric().lid(host).0,
        block_num: 1,
        guids: [PortGuid(11); 8],
    };
    let trusted_request = SaRequest {
        from: other,
        method: Method::Set,
        attr: id::GUID_INFO,
        mask: LID_AND_BLOCK | entry(0),
        data: &record.encode(),
        key: KEY,
    };
    let (status, data) = query_sa(&mut lab, &trusted_request);
    assert!(status.is_ok(), "{status}");
    assert_eq!(
        GuidInfoRecord::decode_slice(&data).unwrap().guids[0],
        PortGuid(11)
    );
    lab.run_until("the alias is written", 10, |lab| {
        in_device(lab, host, 8) == 11
    });
}

/// An alias that is a member of a multicast group cannot be deleted before it leaves the group.
#[test]
fn alias_that_is_a_group_member_is_not_deleted() {
    const ALIAS: u64 = 0x0200_0000_0000_0042;
    /// MGID, PortGID and JoinState.
    const MEMBER: u64 = 1 | 1 << 1 | 1 << 16;
    let mut lab = lab("star:4");
    let (host, other) = (lab.hosts()[1], lab.hosts()[2]);
    let mgid = Gid(*b"\xff\x12\x40\x1b\xff\xff\0\0\0\0\0\0\0\0\0\x07");
    let mut members = Members::new();
    members
        .join(&mut lab, other, mgid, JoinState(1))
        .expect("a group");
    let mask = LID_AND_BLOCK | entry(1);
    let set = [0, ALIAS, 0, 0, 0, 0, 0, 0];
    assert!(change(&mut lab, Method::Set, (host, host), (0, mask), set).is_ok());
    let record = McMemberRecord {
        mgid,
        port_gid: gid(ALIAS),
        join_state: JoinState(1),
        ..Default::default()
    };
    for (method, deleted) in [(Method::Set, Err(Status::DENIED)), (Method::Delete, Ok(()))] {
        let request = SaRequest {
            from: host,
            method,
            attr: id::MC_MEMBER,
            mask: MEMBER,
            data: &record.encode(),
            key: MKey::NONE,
        };
        let (status, _) = query_sa(&mut lab, &request);
        assert!(status.is_ok(), "{method:?}: {status}");
        let result = change(&mut lab, Method::Delete, (host, host), (0, mask), [0; 8]);
        assert_eq!(result.map(|_| ()), deleted);
    }
}

/// A query for VL tables that this SM has not written sends no SMP; they are all zero.
#[test]
fn no_device_is_read_for_a_query_of_vl_tables() {
    let mut lab = lab("fat-tree2:4,2,2");
    let host = lab.hosts()[1];
    lab.world.fabric_mut().reset_counters();
    for attr in [id::SL_TO_VL, id::VL_ARBITRATION] {
        let all = SaRequest {
            from: host,
            method: Method::GetTable,
            attr,
            mask: 0,
            data: &[],
            key: MKey::NONE,
        };
        lab.edit(lab.sm, |sm, _| sm.replies.clear());
        send(&mut lab, &all, 5);
        let found = replies(&lab, 5);
        assert_eq!(found.len(), 1);
        assert!(found[0].len() > sa::DATA_OFFSET);
    }
    lab.world.run_for(Duration::from_secs(1));
    for attr in [id::SL_TO_VL, id::VL_ARBITRATION] {
        assert_eq!(lab.world.fabric().all_counters().gets(attr), 0);
    }
}

/// Clients register alias GUIDs faster than the SM can write them: light sweeps still take place.
#[test]
fn alias_guid_writes_do_not_prevent_light_sweeps() {
    let mut lab = lab("fat-tree:4");
    lab.world.set_hop_time(Duration::from_millis(2));
    lab.world.fabric_mut().reset_counters();
    let all = lab.hosts();
    for (i, at) in all.iter().cycle().enumerate().take(20_000) {
        let mut guids = [PortGuid(0); 8];
        guids[1] = PortGuid(0x0002_C9FF_0000_0000 | u64::try_from(i).unwrap());
        let record = GuidInfoRecord {
            lid: lab.world.fabric().lid(*at).0,
            block_num: 0,
            guids,
        };
        let request = SaRequest {
            from: *at,
            method: Method::Set,
            attr: id::GUID_INFO,
            mask: LID_AND_BLOCK | entry(1),
            data: &record.encode(),
            key: MKey::NONE,
        };
        send(&mut lab, &request, 1);
        lab.world.run_for(Duration::from_millis(1));
    }
    let counters = lab.world.fabric().all_counters();
    assert!(counters.sets(ferrosm_mad::attr::id::GUID_INFO) > 1000);
    assert!(counters.gets(ferrosm_mad::attr::id::SWITCH_INFO) > 0);
}

fn guid_info_sets(lab: &Lab) -> u32 {
    let counters = lab.world.fabric().all_counters();
    counters.sets(ferrosm_mad::attr::id::GUID_INFO)
}

/// Registers an alias GUID of each host but the last, waits until the devices have them, and
/// returns the hosts.
fn register_aliases(lab: &mut Lab) -> Vec<PortAt> {
    let all = lab.hosts();
    for (i, &host) in all[..all.len() - 1].iter().enumerate() {
        let mut guids = [0; 8];
        guids[1] = alias_of(i);
        let block = (0, LID_AND_BLOCK | entry(1));
        assert!(change(lab, Method::Set, (host, host), block, guids).is_ok());
    }
    lab.run_until("the aliases are written", 10, |lab| have_aliases(lab, &all));
    all
}

fn alias_of(host: usize) -> u64 {
    0x0200_0000_0000_0100 + u64::try_from(host).unwrap_or(0)
}

fn have_aliases(lab: &Lab, all: &[PortAt]) -> bool {
    let with_alias = all[..all.len() - 1].iter().enumerate();
    with_alias
        .into_iter()
        .all(|(i, host)| in_device(lab, *host, 1) == alias_of(i))
}

/// Hosts take a Set(GUIDInfo) as a GID change: sweeps write no alias GUIDs that devices have,
/// neither after changes elsewhere nor after a bounce of the host's own link, whose device kept
/// them.
#[test]
fn sweeps_do_not_write_alias_guids_that_devices_have() {
    let mut lab = lab("star:6");
    let all = register_aliases(&mut lab);
    let before = guid_info_sets(&lab);
    let other = *all.last().expect("hosts");
    for bounced in [other; 9].into_iter().chain([all[1]]) {
        let sweeps = lab.manager().reports().len();
        lab.world.fabric_mut().bounce(bounced).expect("a cable");
        lab.run_until("a sweep", 60, |lab| lab.manager().reports().len() > sweeps);
        lab.world.run_for(Duration::from_secs(2));
    }
    assert!(have_aliases(&lab, &all));
    assert_eq!(guid_info_sets(&lab), before);
    lab.command(Command::Sweep);
    let sweeps = lab.manager().reports().len();
    lab.run_until("a full sweep", 60, |lab| {
        lab.manager().reports().len() > sweeps
    });
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(guid_info_sets(&lab), before);
    // The device of another host lost its table meanwhile: only this one is written.
    lab.world.fabric_mut().reboot(all[2].node);
    lab.run_until("the device lost its alias", 10, |lab| {
        !have_aliases(lab, &all)
    });
    lab.run_until("the alias is written again", 60, |lab| {
        have_aliases(lab, &all)
    });
    assert_eq!(guid_info_sets(&lab), before + 1);
}

/// A restarted SM reads the alias GUIDs that it restored and writes only those that a device lost
/// meanwhile.
#[test]
fn restart_writes_only_alias_guids_that_devices_lost() {
    for is_lost in [false, true] {
        let mut lab = lab("star:6");
        let all = register_aliases(&mut lab);
        let before = guid_info_sets(&lab);
        let old = lab.world.kill(lab.sm).expect("the SM runs");
        if is_lost {
            lab.world.fabric_mut().reboot(all[2].node);
        }
        let restored = old.restored(lab.world.now());
        let cfg = SmConfig {
            sm_key: KEY,
            ..SmConfig::default()
        };
        lab.restart_sm(cfg, restored);
        lab.next_sweep(60);
        lab.run_until("the devices have the aliases", 60, |lab| {
            have_aliases(lab, &all)
        });
        lab.world.run_for(Duration::from_secs(5));
        assert_eq!(guid_info_sets(&lab), before + u32::from(is_lost));
    }
}
