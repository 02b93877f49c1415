//! The service, its health, the SMs of the subnet, and limits.

use core::time::Duration;
use std::collections::BTreeSet;
use std::time::SystemTime;

use ferrosm_api::alarm::{Alarm, AlarmState};
use ferrosm_api::answer::Role;
use ferrosm_api::event::EventSeverity;
use ferrosm_api::object::ObjectName;
use ferrosm_api::status::{
    FabricSize, Finding, Health, HealthState, Limit, Limits, OpenAlarms, ReplicaState, Sm, Sms,
    Status, SweepSummary,
};
use ferrosm_core::SweepReport;
use ferrosm_core::config::sections::ConfigSection;
use ferrosm_core::report::Problem;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::tables::mft::mft_index;
use ferrosm_mad::attr::{NodeType, SmState};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_sa::registry::multicast::MulticastGroups;

use super::alarms::{Alarms, conditions};
use super::maintenance;
use super::names::end_port_name;
use super::problems::is_corrected;
use super::published::{FabricState, State};
use super::rfc3339;
use crate::output::table::{count, count_nodes};

/// Role of an SM.
pub(crate) const fn role(state: SmState) -> Role {
    match state {
        SmState::Master => Role::Master,
        SmState::Standby => Role::Standby,
        SmState::Discovering => Role::Discovering,
        _ => Role::NotActive,
    }
}

/// The master, if it is another SM and known.
pub(super) fn other_master(state: &State) -> Option<ObjectName> {
    if state.role == SmState::Master {
        return None;
    }
    let snapshot = &state.fabric.as_ref()?.snapshot;
    let mut others = snapshot.sms.iter().skip(1);
    let master = others.find(|sm| sm.sm_state == SmState::Master)?;
    Some(sm_port(snapshot, master.guid))
}

fn sm_port(snapshot: &Snapshot, guid: PortGuid) -> ObjectName {
    let known = snapshot.by_guid(guid);
    known.map_or_else(
        || ObjectName {
            guid: guid.to_string(),
            name: String::new(),
            location: String::new(),
        },
        |at| end_port_name(snapshot, at),
    )
}

/// The service and what it does. `alarms` are those of now; `None` at an earlier time.
pub(super) fn status(
    state: &State,
    alarms: Option<&Alarms>,
    recorded_since: Option<SystemTime>,
) -> Status {
    let fabric = state.fabric.as_ref();
    let local = fabric.and_then(|fabric| {
        let snapshot = &fabric.snapshot;
        snapshot.local.map(|local| end_port_name(snapshot, local))
    });
    Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        started_at: rfc3339(state.started),
        // Rounded up to milliseconds, so that this time has an answer.
        recorded_since: recorded_since
            .or_else(|| fabric.map(|_| state.at))
            .map(|at| rfc3339(at + Duration::from_millis(1))),
        port: local,
        priority: state.priority,
        role_since: rfc3339(state.role_since),
        role_reason: state.role_reason.clone(),
        awaits_consent: state.awaits_consent.clone(),
        activity: state.activity.to_string(),
        fabric: fabric.map(|fabric| size(&fabric.snapshot)),
        last_sweep: fabric.and_then(|fabric| Some(summary(fabric.report.as_ref()?, fabric.at))),
        alarms: alarms.map(|alarms| open_alarms(alarms.list())),
    }
}

fn open_alarms(mut alarms: Vec<Alarm>) -> OpenAlarms {
    alarms.retain(|alarm| alarm.state != AlarmState::Cleared);
    let active = alarms
        .iter()
        .filter(|alarm| alarm.state == AlarmState::Active)
        .count();
    OpenAlarms {
        active,
        acknowledged: alarms.len() - active,
        // The first of equal ones: the list has the worst first.
        worst: alarms.into_iter().min_by_key(|alarm| alarm.state),
    }
}

fn size(snapshot: &Snapshot) -> FabricSize {
    FabricSize {
        switches: count_nodes(snapshot, NodeType::Switch),
        cas: count_nodes(snapshot, NodeType::Ca),
        routers: count_nodes(snapshot, NodeType::Router),
        links: snapshot.links().len(),
    }
}

fn summary(report: &SweepReport, at: SystemTime) -> SweepSummary {
    let problems = report.num_severe();
    SweepSummary {
        number: report.number,
        kind: if report.is_local() { "local" } else { "full" }.to_owned(),
        at: rfc3339(at),
        took_us: u64::try_from(report.took.as_micros()).unwrap_or(u64::MAX),
        problems,
        minor_problems: report.problems.len() - problems,
        engine: report.engine.to_owned(),
        smps: report.smps_sent(),
    }
}

/// The health of the subnet: what sweeps found, what was there in the last days and is not now, and
/// what is out of service by command. `alarms` are those of now; `None` at an earlier time.
pub(super) fn health(state: &State, alarms: Option<&Alarms>) -> Health {
    let (fabric, report) = match assessed(state) {
        Ok(assessed) => assessed,
        Err((health, summary)) => {
            return Health {
                state: health,
                summary,
                findings: Vec::new(),
                maintenance: Vec::new(),
            };
        }
    };
    let findings = findings(state, fabric, alarms);
    let size = size(&fabric.snapshot);
    let sizes = format!(
        "{}, {}, {}",
        count(size.switches, "switch", "switches"),
        count(size.cas + size.routers, "host", "hosts"),
        count(size.links, "link", "links"),
    );
    let routes = match report.engine {
        "" => "no routes".to_owned(),
        engine => format!("routes by {engine}, without credit loops"),
    };
    let health = if report.failed {
        HealthState::Down
    } else if findings.is_empty() {
        HealthState::Ok
    } else {
        HealthState::Degraded
    };
    Health {
        state: health,
        summary: format!("{sizes}; {routes}"),
        findings,
        maintenance: maintenance::items(&state.maintenance).items,
    }
}

/// The fabric and the report of its last sweep, if this SM is master and knows them; otherwise
/// the health that is known and why.
fn assessed(state: &State) -> Result<(&FabricState, &SweepReport), (HealthState, String)> {
    if let Some(why) = &state.no_link {
        let summary = format!("this SM serves no subnet: local port unusable: {why}");
        return Err((HealthState::Down, summary));
    }
    let unknown = |summary| (HealthState::Unknown, summary);
    let activity = state.activity;
    let fabric = state
        .fabric
        .as_ref()
        .ok_or_else(|| unknown(format!("the fabric is not discovered yet: {activity}")))?;
    if state.role != SmState::Master {
        let master = other_master(state);
        let known = master.map_or_else(
            || "no master is known".to_owned(),
            |master| format!("{} is master", named(&master)),
        );
        let role = role(state.role).name();
        return Err(unknown(format!(
            "this SM is {role}, {known}: ask the master"
        )));
    }
    let report = fabric.report.as_ref().ok_or_else(|| {
        unknown(format!(
            "this SM has become master, and its first sweep is not complete: {activity}"
        ))
    })?;
    Ok((fabric, report))
}

fn named(object: &ObjectName) -> &str {
    if object.name.is_empty() {
        &object.guid
    } else {
        &object.name
    }
}

/// A problem of a sweep.
pub(super) fn finding(problem: &Problem) -> Finding {
    Finding {
        severe: problem.kind.is_severe(),
        kind: problem.kind.name().to_owned(),
        location: problem.location.to_string(),
        text: problem.kind.to_string(),
        since: None,
        alarm: None,
    }
}

/// What is wrong, with the numbers of its alarms, and what the last sweep corrected.
fn findings(state: &State, fabric: &FabricState, alarms: Option<&Alarms>) -> Vec<Finding> {
    let wrong = conditions(state).items;
    let ids = alarms.map_or_else(|| vec![None; wrong.len()], |alarms| alarms.ids(&wrong));
    let lasting = wrong
        .into_iter()
        .zip(ids)
        .map(|(condition, alarm)| Finding {
            severe: condition.severity == EventSeverity::Error,
            kind: condition.kind.to_owned(),
            location: condition.place,
            text: condition.text,
            since: condition.since,
            alarm,
        });
    let problems = fabric.report.as_ref().map(|report| report.problems.iter());
    let corrected = problems
        .into_iter()
        .flatten()
        .filter(|problem| is_corrected(&problem.kind))
        .map(finding);
    let mut findings: Vec<Finding> = lasting.chain(corrected).collect();
    findings.sort_by_key(|finding| !finding.severe);
    findings
}

/// The SMs of the subnet: this one first, those that it ignores last. None before the fabric is
/// discovered.
pub(super) fn sms(state: &State) -> Sms {
    let Some(fabric) = &state.fabric else {
        return Sms { items: Vec::new() };
    };
    let snapshot = &fabric.snapshot;
    let reports = &state.sm_reports;
    let is_ignored = |sm: &SmInfoRecord| reports.ignored.iter().any(|i| i.info.guid == sm.guid);
    let known = snapshot.sms.iter().enumerate();
    let elected = known.filter(|(i, sm)| *i == 0 || !is_ignored(sm));
    let taking_part = elected.map(|(i, sm)| Sm {
        port: sm_port(snapshot, sm.guid),
        is_self: i == 0,
        priority: if i == 0 { state.priority } else { sm.priority },
        state: role(if i == 0 { state.role } else { sm.sm_state }),
        differing_config: reports.other_configs.get(&sm.guid).map(|sections| {
            let names = sections.iter().map(ConfigSection::name);
            names.map(str::to_owned).collect()
        }),
        replica: replica(state, sm.guid).filter(|_| i > 0),
        ignored: None,
    });
    let ignored = reports.ignored.iter().map(|ignored| Sm {
        port: sm_port(snapshot, ignored.info.guid),
        is_self: false,
        priority: ignored.info.priority,
        state: role(ignored.info.sm_state),
        differing_config: None,
        replica: None,
        ignored: Some(ignored.reason.to_string()),
    });
    Sms {
        items: taking_part.chain(ignored).collect(),
    }
}

/// What another SM has of the records of this master.
fn replica(state: &State, guid: PortGuid) -> Option<ReplicaState> {
    let replicas = &state.replicas;
    if replicas.has_all_records(guid) {
        return Some(ReplicaState::InSync);
    }
    let is_incomplete = replicas.out_of_sync.contains(&guid);
    is_incomplete.then_some(ReplicaState::Incomplete)
}

/// How near limits are. `groups` are those of now; `None` at an earlier time, of which the tables
/// of switches are known.
pub(super) fn limits(fabric: &FabricState, groups: Option<&MulticastGroups>) -> Limits {
    let snapshot = &fabric.snapshot;
    let lids = snapshot
        .end_ports()
        .iter()
        .map(|port| u64::from(port.num_lids()));
    let mut items = vec![Limit {
        resource: "lids".to_owned(),
        used: lids.sum(),
        limit: u64::from(Lid::UNICAST_MAX.0),
        limited_by: String::new(),
    }];
    let fullest = fabric
        .report
        .as_ref()
        .and_then(|report| report.fullest_pkey_table.as_ref());
    if let Some(table) = fullest {
        items.push(Limit {
            resource: "p-keys".to_owned(),
            used: table.used as u64,
            limit: u64::from(table.capacity),
            limited_by: table.location.to_string(),
        });
    }
    let infos = snapshot
        .nodes()
        .filter_map(|node| Some((node.switch_info()?, node)));
    let switches: Vec<_> = infos.collect();
    let smallest_lft = switches.iter().min_by_key(|(info, _)| info.linear_fdb_cap);
    let smallest_mft = switches
        .iter()
        .min_by_key(|(info, _)| info.multicast_fdb_cap);
    let last_lids = snapshot
        .end_ports()
        .iter()
        .map(|port| u64::from(port.lid.0) + u64::from(port.num_lids()) - 1);
    if let Some((info, switch)) = smallest_lft {
        items.push(Limit {
            resource: "lft-entries".to_owned(),
            used: last_lids.max().unwrap_or(0) + 1,
            limit: u64::from(info.linear_fdb_cap),
            limited_by: switch.name(),
        });
    }
    if let Some((info, switch)) = smallest_mft {
        items.push(Limit {
            resource: "mlids".to_owned(),
            used: used_mlids(snapshot, groups),
            limit: u64::from(info.multicast_fdb_cap),
            limited_by: switch.name(),
        });
    }
    Limits { items }
}

/// Number of MLIDs of groups or with an entry in any switch: a group without a tree has none.
fn used_mlids(snapshot: &Snapshot, groups: Option<&MulticastGroups>) -> u64 {
    let of_groups = groups
        .into_iter()
        .flat_map(MulticastGroups::iter)
        .map(|(_, group)| mft_index(group.mlid));
    let switches = snapshot.nodes().filter_map(|node| node.switch.as_ref());
    let blocks = switches.flat_map(|switch| switch.mft.iter());
    let used = blocks.flat_map(|(at, masks)| {
        let used = masks.iter().enumerate().filter(|(_, mask)| **mask != 0);
        used.map(|(i, _)| (at.block, i))
    });
    of_groups.chain(used).collect::<BTreeSet<_>>().len() as u64
}
