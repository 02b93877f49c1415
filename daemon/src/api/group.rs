//! Multicast groups, as the SA has them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::group::{Group, GroupMember, Host, HostPort, JoinKind};
use ferrosm_api::object::ObjectName;
use ferrosm_api::partition::Membership;
use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_fabric::tables::mft::mft_index;
use ferrosm_mad::ids::{Gid, Lid, PortGuid};
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sa::registry::group::MulticastGroup;
use ferrosm_sa::registry::multicast::MulticastGroups;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::names::end_port_name;
use super::published::{FabricState, State};
use super::{fabric, lookup, partition};

/// Time for which an answer of the SM is used again: the copy costs it time.
const REUSED_FOR: Duration = Duration::from_secs(1);
/// Time that the SM has to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Where clients ask the loop of the SM for its registrations.
pub type RegistryReads = mpsc::Receiver<oneshot::Sender<RegistrySnapshot>>;

/// The registrations of the SA. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct RegistryDesk {
    reads: Arc<Mutex<Option<mpsc::Sender<oneshot::Sender<RegistrySnapshot>>>>>,
    /// The last answer. Locked while the next one is awaited, so that the SM answers once.
    last: Arc<tokio::sync::Mutex<Option<LastAnswer>>>,
}

/// The groups, and when the SM answered.
#[derive(Debug)]
struct LastAnswer {
    at: Instant,
    groups: Arc<MulticastGroups>,
}

impl RegistryDesk {
    /// The loop of the SM answers from now on.
    #[must_use]
    pub fn accept_reads(&self) -> RegistryReads {
        let (reads, inbox) = mpsc::channel(1);
        let current = self.reads.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = Some(reads);
        inbox
    }

    /// The groups, as of at most [`REUSED_FOR`] ago.
    pub(super) async fn groups(&self) -> Result<Arc<MulticastGroups>, ApiError> {
        let mut last = self.last.lock().await;
        if let Some(answer) = &*last
            && answer.at.elapsed() < REUSED_FOR
        {
            return Ok(Arc::clone(&answer.groups));
        }
        let reads = {
            let current = self.reads.lock();
            current.unwrap_or_else(PoisonError::into_inner).clone()
        };
        let (answer, done) = oneshot::channel();
        let asked = async {
            reads?.send(answer).await.ok()?;
            done.await.ok()
        };
        let answered = timeout(ANSWER_TIMEOUT, asked).await.ok().flatten();
        let snapshot = answered.ok_or_else(|| {
            ApiError::new(
                ErrorKind::NotReady,
                "the SM does not answer",
                "Ask again in a moment; `ferrosm status` shows what the service does.",
            )
        })?;
        let groups = Arc::clone(snapshot.groups());
        *last = Some(LastAnswer {
            at: Instant::now(),
            groups: Arc::clone(&groups),
        });
        Ok(groups)
    }
}

/// All groups, by MGID.
pub(super) fn groups(snapshot: &Snapshot, groups: &MulticastGroups) -> Vec<Group> {
    let switches = switches_by_mlid(snapshot, groups);
    let all = groups.iter();
    all.map(|(mgid, group)| described(mgid, group, &switches))
        .collect()
}

fn described(mgid: Gid, group: &MulticastGroup, switches: &BTreeMap<Lid, usize>) -> Group {
    let parameters = &group.parameters;
    let senders = group.members.values().filter(|m| !m.join_state.receives());
    Group {
        mgid: mgid.to_string(),
        mlid: format!("{:#06x}", group.mlid.0),
        p_key: parameters.pkey.to_string(),
        mtu: parameters.mtu.bytes().unwrap_or(0),
        rate_gbps: parameters.rate.mbps().unwrap_or(0) / 1000,
        sl: parameters.sl.0,
        members: group.members.len(),
        senders: senders.count(),
        switches: switches.get(&group.mlid).copied().unwrap_or(0),
        permanent: group.well_known,
    }
}

/// How many switches forward each MLID.
fn switches_by_mlid(snapshot: &Snapshot, groups: &MulticastGroups) -> BTreeMap<Lid, usize> {
    let mlids: BTreeSet<Lid> = groups.iter().map(|(_, group)| group.mlid).collect();
    let mut switches = BTreeMap::new();
    for switch in snapshot.nodes().filter_map(|node| node.switch.as_ref()) {
        let forwarded = mlids.iter().filter(|mlid| {
            let (block, index) = mft_index(**mlid);
            let of_block = switch.mft.iter().filter(|(at, _)| at.block == block);
            let mut masks = of_block.map(|(_, masks)| masks[index]);
            masks.any(|mask| mask != 0)
        });
        for mlid in forwarded {
            *switches.entry(*mlid).or_insert(0) += 1;
        }
    }
    switches
}

/// The members of the groups that a text names: an MGID, or an MLID.
pub(super) fn members(
    snapshot: &Snapshot,
    groups: &MulticastGroups,
    text: &str,
) -> Result<Vec<GroupMember>, ApiError> {
    let mgid: Option<Gid> = text.parse().ok();
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let mlid = match hex {
        Some(hex) => u16::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    let named: Vec<&MulticastGroup> = groups
        .iter()
        .filter(|(of, group)| mgid == Some(*of) || mlid == Some(group.mlid.0))
        .map(|(_, group)| group)
        .collect();
    if named.is_empty() {
        return Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no multicast group has the MGID or MLID `{text}`"),
            "`ferrosm group list` lists the groups.",
        ));
    }
    let members = named.iter().flat_map(|group| &group.members);
    Ok(members
        .map(|(guid, member)| {
            let ObjectName { name, location, .. } = named_port(snapshot, *guid);
            GroupMember {
                guid: guid.to_string(),
                name,
                location,
                join: join_kind(member.join_state),
                proxy: member.proxy,
            }
        })
        .collect())
}

/// The port with a GUID, which may be an alias.
fn named_port(snapshot: &Snapshot, guid: PortGuid) -> ObjectName {
    match snapshot.by_guid(guid) {
        Some(at) => end_port_name(snapshot, at),
        None => ObjectName {
            guid: guid.to_string(),
            name: String::new(),
            location: String::new(),
        },
    }
}

const fn join_kind(state: JoinState) -> JoinKind {
    if state.has_any(JoinState::FULL) {
        JoinKind::Full
    } else if state.has_any(JoinState::NON_MEMBER) {
        JoinKind::NonMember
    } else {
        JoinKind::SendOnly
    }
}

/// The ports of a host, with their partitions and groups.
pub(super) fn host(
    fabric: &FabricState,
    state: &State,
    groups: &MulticastGroups,
    text: &str,
) -> Result<Host, ApiError> {
    let found = lookup::end_ports(fabric, text)?;
    let ports = found
        .into_iter()
        .map(|at| host_port(fabric, state, groups, at));
    Ok(Host {
        ports: ports.collect(),
    })
}

fn host_port(
    fabric: &FabricState,
    state: &State,
    groups: &MulticastGroups,
    at: EndPortIdx,
) -> HostPort {
    let snapshot = &*fabric.snapshot;
    let end_port = snapshot.end_port(at);
    let keys = end_port.pkeys.as_ref();
    let partitions = keys.map_or(&[][..], |keys| keys.as_slice()).iter();
    let named = partitions.map(|key| {
        let number = partition_number(*key);
        let mut in_force = state.partitions.list().iter();
        let known = in_force.find(|partition| partition.number == number);
        let name = known.map_or_else(|| format!("{number:#06x}"), |p| p.name.clone());
        match partition::membership(*key) {
            Membership::Full => name,
            Membership::Limited => format!("{name}=limited"),
        }
    });
    let joined = groups
        .iter()
        .filter(|(_, group)| group.members.contains_key(&end_port.guid));
    HostPort {
        place: fabric::place(snapshot, at, None),
        partitions: named.collect(),
        groups: joined.map(|(mgid, _)| mgid.to_string()).collect(),
    }
}
