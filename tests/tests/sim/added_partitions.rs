//! Partitions that are created at run time: tables of the devices, records, refusals.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::report::partition_change::PartitionProgress;
use ferrosm_core::{
    CommandFailure, CommandId, CommandOutcome, CommandReply, OperatorChange, RestoredState,
    SmConfig,
};
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{PKey, PortGuid};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

const TENANT: u16 = 0x51;

fn configured(enforcement: Enforcement) -> SmConfig {
    let site = Partition {
        name: "site".to_owned(),
        number: 0x20,
        members: vec![(MemberSelector::All, Membership::Full)],
        ..Partition::default()
    };
    let partitions = Partitions::new(vec![site], enforcement, false).expect("partitions");
    SmConfig {
        partitions: partitions.into(),
        sweep_interval: Duration::from_secs(2),
        ..SmConfig::default()
    }
}

fn tenant(lab: &Lab, number: u16, hosts: &[PortAt]) -> Partition {
    let member = |at: &PortAt| (MemberSelector::Port(lab.port_guid(*at)), Membership::Full);
    Partition {
        name: format!("tenant{number:x}"),
        number,
        members: hosts.iter().map(member).collect(),
        ..Partition::default()
    }
}

fn put(lab: &mut Lab, partition: Partition) -> CommandId {
    lab.command(OperatorChange::PutPartition(Box::new(partition)).into())
}

fn result(lab: &Lab, id: CommandId) -> Result<CommandOutcome, CommandFailure> {
    let replies = lab.manager().command_replies.iter();
    let done = replies
        .filter(|(of, _)| *of == id)
        .find_map(|(_, reply)| match reply {
            CommandReply::Done(result) => Some(result.clone()),
            CommandReply::Accepted | CommandReply::Progress(_) => None,
        });
    done.unwrap_or_else(|| panic!("{} no result", lab.describe_run()))
}

/// The P_Keys of all end ports and of the switch ports in front of hosts.
fn tables(lab: &Lab) -> BTreeMap<PortAt, Vec<PKey>> {
    let fabric = lab.world.fabric();
    let hosts = fabric.end_ports();
    let in_front = fabric.end_ports().filter_map(|at| fabric.peer(at));
    let ports = hosts.chain(in_front);
    ports.map(|at| (at, fabric.pkeys(at))).collect()
}

fn applied(members: usize, applied: usize, absent: usize) -> PartitionProgress {
    PartitionProgress {
        members,
        applied,
        absent,
    }
}

/// A partition is written to its members and the switch ports in front of them, and to nothing
/// else; its removal restores the tables.
#[test]
fn partition_is_written_to_its_members_only() {
    let mut lab = Lab::up("fat-tree:4", 1, configured(Enforcement::Both));
    lab.world.run_for(Duration::from_secs(10));
    let before = tables(&lab);
    let members = &lab.hosts()[4..7];
    let writes = lab.sets(id::PKEY_TABLE);
    let mut partition = tenant(&lab, TENANT, members);
    let absent = MemberSelector::Port(PortGuid(0xABCD));
    partition.members.push((absent, Membership::Limited));
    let id = put(&mut lab, partition);
    lab.world.run_for(Duration::from_secs(1));
    let outcome = result(&lab, id).expect("applied");
    assert_eq!(outcome, CommandOutcome::PartitionApplied(applied(3, 3, 1)));
    assert!(lab.last_report().is_local(), "a full sweep");
    let after = tables(&lab);
    let in_front = members.iter().filter_map(|at| lab.world.fabric().peer(*at));
    let concerned: Vec<PortAt> = members.iter().copied().chain(in_front).collect();
    for (at, keys) in &after {
        let has_key = keys.iter().any(|key| key.0 & 0x7FFF == TENANT);
        assert_eq!(has_key, concerned.contains(at), "{at:?} {keys:?}");
    }
    assert_eq!(lab.sets(id::PKEY_TABLE) - writes, 6);

    let id = lab.command(OperatorChange::RemovePartition(TENANT).into());
    lab.world.run_for(Duration::from_secs(1));
    let outcome = result(&lab, id).expect("removed");
    assert_eq!(outcome, CommandOutcome::PartitionRemoved { left: 0 });
    assert_eq!(tables(&lab), before);
}

/// Without configured partitions, the others stay as they are.
#[test]
fn partition_of_a_fabric_without_partitions() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    lab.world.run_for(Duration::from_secs(10));
    let before = tables(&lab);
    let members = &lab.hosts()[4..6];
    let partition = tenant(&lab, TENANT, members);
    let id = put(&mut lab, partition);
    lab.world.run_for(Duration::from_secs(1));
    let outcome = result(&lab, id).expect("applied");
    assert_eq!(outcome, CommandOutcome::PartitionApplied(applied(2, 2, 0)));
    for (at, keys) in tables(&lab) {
        let kept: Vec<PKey> = keys
            .iter()
            .copied()
            .filter(|k| k.0 & 0x7FFF != TENANT)
            .collect();
        let without_empty =
            |keys: &[PKey]| -> Vec<PKey> { keys.iter().copied().filter(|k| k.0 != 0).collect() };
        assert_eq!(without_empty(&kept), without_empty(&before[&at]));
        assert_eq!(kept.len() != keys.len(), members.contains(&at), "{at:?}");
    }
}

/// A restart and a reload keep it; a host that comes later gets it.
#[test]
fn partition_survives_restarts_and_reloads() {
    let cfg = configured(Enforcement::Both);
    let mut lab = Lab::up("fat-tree:4", 1, cfg.clone());
    let members = &lab.hosts()[4..6];
    lab.act(FabricAction::Cut(members[1]));
    lab.world.run_for(Duration::from_secs(5));
    let partition = tenant(&lab, TENANT, members);
    let id = put(&mut lab, partition);
    lab.world.run_for(Duration::from_secs(1));
    let outcome = result(&lab, id).expect("applied");
    assert_eq!(outcome, CommandOutcome::PartitionApplied(applied(1, 1, 1)));
    lab.configure(cfg.clone());
    lab.world.run_for(Duration::from_secs(5));
    lab.act(FabricAction::Restore(members[1]));
    lab.world.run_for(Duration::from_secs(10));
    let has_key = |lab: &Lab, at: &PortAt| {
        let keys = lab.world.fabric().pkeys(*at);
        keys.contains(&PKey(TENANT | 0x8000))
    };
    assert!(members.iter().all(|at| has_key(&lab, at)));
    let stopped = lab.kill_sm();
    let restored = stopped.restored(lab.world.now());
    lab.restart_sm(cfg, restored);
    lab.world.run_for(Duration::from_secs(10));
    assert!(members.iter().all(|at| has_key(&lab, at)));
    assert!(lab.manager().core().is_added_partition(TENANT));
    // Without its records it is unknown.
    let _ = lab.kill_sm();
    lab.restart_sm(configured(Enforcement::Both), RestoredState::default());
    lab.world.run_for(Duration::from_secs(10));
    assert!(!lab.manager().core().is_added_partition(TENANT));
}

/// A partition that contradicts others, or does not fit into a table, is refused before anything is
/// written.
#[test]
fn impossible_partitions_are_refused() {
    let mut lab = Lab::up("fat-tree:4", 1, configured(Enforcement::Both));
    lab.world.run_for(Duration::from_secs(10));
    let host = lab.hosts()[4];
    let small = host.node;
    lab.world
        .fabric_mut()
        .change_hardware(small, |caps| caps.partition_cap = 3);
    lab.sweep();
    lab.world.run_for(Duration::from_secs(5));
    let writes = lab.sets(id::PKEY_TABLE);
    let before = tables(&lab);
    let configured = tenant(&lab, 0x20, &[host]);
    let id = put(&mut lab, configured);
    assert!(matches!(
        result(&lab, id),
        Err(CommandFailure::PartitionNotAdded {
            number: 0x20,
            is_configured: true
        })
    ));
    let mut same_name = tenant(&lab, TENANT, &[host]);
    same_name.name = "site".to_owned();
    let id = put(&mut lab, same_name);
    assert!(matches!(
        result(&lab, id),
        Err(CommandFailure::PartitionInvalid(_))
    ));
    let id = lab.command(OperatorChange::RemovePartition(TENANT).into());
    assert!(matches!(
        result(&lab, id),
        Err(CommandFailure::PartitionNotAdded {
            is_configured: false,
            ..
        })
    ));
    assert_eq!((tables(&lab), lab.sets(id::PKEY_TABLE)), (before, writes));

    let first = tenant(&lab, TENANT, &[host]);
    let id = put(&mut lab, first);
    lab.world.run_for(Duration::from_secs(1));
    assert!(result(&lab, id).is_ok());
    let before = tables(&lab);
    let second = tenant(&lab, TENANT + 1, &[lab.hosts()[5], host]);
    let id = put(&mut lab, second);
    let refused = result(&lab, id);
    assert!(
        matches!(&refused, Err(CommandFailure::PKeyTableFull(table)) if table.capacity == 3 && table.needed == 4),
        "{refused:?}"
    );
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(tables(&lab), before);
}
