//! Output of `ferrosm state show`.

use core::time::Duration;

use ferrosm_core::RestoredState;
use ferrosm_core::records::SkippedRecord;
use ferrosm_mad::ids::{Gid, PortGuid};
use ferrosm_store::export;
use serde::Serialize;

use super::table::{self, count};

/// The document of `ferrosm state show --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the document.
    pub schema: u32,
    /// Number of the last batch; 0 in an empty store.
    pub sequence: u64,
    /// Age of the last batch in seconds.
    pub age_s: u64,
    /// LIDs by port GUID.
    pub lids: Vec<OwnLids>,
    /// Multicast groups, by MGID.
    pub groups: Vec<Group>,
    pub services: Vec<ServiceEntry>,
    pub subscriptions: Vec<String>,
    /// Alias GUIDs.
    pub aliases: Vec<Alias>,
    /// The persisted view, if any.
    pub view: Option<ViewSummary>,
    pub invalid_records: Vec<String>,
}

/// LIDs of a port.
#[derive(Debug, Serialize)]
pub struct OwnLids {
    pub port: PortGuid,
    /// Base LID.
    pub lid: u16,
    /// LMC: the port has 2^LMC LIDs.
    pub lmc: u8,
}

/// A multicast group.
#[derive(Debug, Serialize)]
pub struct Group {
    /// Its GID.
    pub mgid: String,
    /// Its LID.
    pub mlid: u16,
    /// Its partition.
    pub pkey: u16,
    /// Whether it persists without members.
    pub well_known: bool,
    pub members: Vec<PortGuid>,
}

/// A service.
#[derive(Debug, Serialize)]
pub struct ServiceEntry {
    pub description: String,
    /// Port that registered it.
    pub owner: PortGuid,
    /// Remaining lease in seconds; `None` without a lease.
    pub lease_left_s: Option<u64>,
}

/// An alias GUID.
#[derive(Debug, Serialize)]
pub struct Alias {
    pub port: PortGuid,
    /// Index in its table.
    pub index: u16,
    pub alias: PortGuid,
}

/// The persisted view.
#[derive(Debug, Serialize)]
pub struct ViewSummary {
    /// Number of nodes.
    pub nodes: usize,
    /// Age in seconds.
    pub age_s: u64,
}

impl Document {
    /// Describes the state that a start would restore.
    #[must_use]
    pub fn new(
        sequence: u64,
        age_s: u64,
        restored: &RestoredState,
        invalid_records: &[SkippedRecord],
    ) -> Self {
        let saved = &restored.registrations;
        let mut groups: Vec<Group> = Vec::new();
        for record in &saved.members {
            let mgid = record.mgid.to_string();
            if groups.last().is_none_or(|group| group.mgid != mgid) {
                groups.push(Group {
                    mgid,
                    mlid: record.mlid.0,
                    pkey: record.pkey.0,
                    well_known: false,
                    members: Vec::new(),
                });
            }
            let Some(group) = groups.last_mut() else {
                continue;
            };
            if record.port_gid == Gid::default() {
                group.well_known = true;
            } else {
                group.members.push(record.port_gid.guid());
            }
        }
        let lids = restored.lids.iter();
        let services = saved.services.iter();
        let aliases = saved.aliases.iter();
        Self {
            schema: super::json::SCHEMA,
            sequence,
            age_s,
            lids: lids
                .map(|(&port, (lid, lmc))| OwnLids {
                    port,
                    lid: lid.0,
                    lmc: lmc.0,
                })
                .collect(),
            groups,
            services: services
                .map(|s| ServiceEntry {
                    description: export::describe_service(&s.record),
                    owner: s.registered_by,
                    lease_left_s: s.lease_remaining_s,
                })
                .collect(),
            subscriptions: saved
                .subscriptions
                .iter()
                .map(|s| export::describe_subscription(&s.record))
                .collect(),
            aliases: aliases
                .map(|a| Alias {
                    port: a.port,
                    index: a.index,
                    alias: a.alias,
                })
                .collect(),
            view: restored.snapshot.as_ref().map(|s| ViewSummary {
                nodes: s.snapshot.nodes().count(),
                age_s: s.age.as_secs(),
            }),
            invalid_records: invalid_records.iter().map(ToString::to_string).collect(),
        }
    }

    /// Renders totals, followed by tables.
    #[must_use]
    pub fn render(&self) -> String {
        let members: usize = self.groups.iter().map(|g| g.members.len()).sum();
        let sums = [
            count(self.lids.len(), "port with LIDs", "ports with LIDs"),
            count(self.groups.len(), "multicast group", "multicast groups"),
            count(members, "member of groups", "members of groups"),
            count(self.services.len(), "service", "services"),
            count(self.subscriptions.len(), "subscription", "subscriptions"),
            count(self.aliases.len(), "alias GUID", "alias GUIDs"),
        ];
        let mut text = match self.sequence {
            0 => "no persisted state\n".to_owned(),
            n => format!(
                "last saved {} ago (change {n} of this directory)\n",
                duration(self.age_s)
            ),
        };
        text.push_str(&format!("{}\n", sums.join(", ")));
        text.push_str(&match &self.view {
            Some(view) => format!(
                "topology for SA replies saved {} ago: {}\n",
                duration(view.age_s),
                count(view.nodes, "node", "nodes")
            ),
            None => {
                "no restored view: after a start, the SA replies when the first sweep is complete\n"
                    .to_owned()
            }
        });
        for record in &self.invalid_records {
            text.push_str(&format!("invalid: {record}\n"));
        }
        let mut tables = Vec::new();
        if !self.lids.is_empty() {
            let mut table = table::new(["Port GUID", "LIDs"]);
            let mut by_lid: Vec<&OwnLids> = self.lids.iter().collect();
            by_lid.sort_by_key(|entry| entry.lid);
            for entry in by_lid {
                let last = u32::from(entry.lid) + (1 << entry.lmc.min(7)) - 1;
                let lids = match entry.lmc {
                    0 => entry.lid.to_string(),
                    _ => format!("{}-{last}", entry.lid),
                };
                table.add_row([entry.port.to_string(), lids]);
            }
            tables.push(table);
        }
        if !self.groups.is_empty() {
            let mut table =
                table::new(["Multicast group", "MLID", "P_Key", "Members", "Well-known"]);
            table::right(&mut table, &[3]);
            for group in &self.groups {
                table.add_row([
                    group.mgid.clone(),
                    format!("{:#06x}", group.mlid),
                    format!("{:#06x}", group.pkey),
                    group.members.len().to_string(),
                    if group.well_known { "yes" } else { "" }.to_owned(),
                ]);
            }
            tables.push(table);
        }
        if !self.services.is_empty() {
            let mut table = table::new(["Service", "Owner", "Lease"]);
            for service in &self.services {
                let lease = service
                    .lease_left_s
                    .map_or_else(|| "none".to_owned(), duration);
                table.add_row([
                    service.description.clone(),
                    service.owner.to_string(),
                    lease,
                ]);
            }
            tables.push(table);
        }
        if !self.subscriptions.is_empty() {
            let mut table = table::new(["Subscription"]);
            for subscription in &self.subscriptions {
                table.add_row([subscription]);
            }
            tables.push(table);
        }
        if !self.aliases.is_empty() {
            let mut table = table::new(["Port GUID", "Index", "Alias GUID"]);
            table::right(&mut table, &[1]);
            for alias in &self.aliases {
                table.add_row([
                    alias.port.to_string(),
                    alias.index.to_string(),
                    alias.alias.to_string(),
                ]);
            }
            tables.push(table);
        }
        for table in tables {
            text.push_str(&format!("{table}\n"));
        }
        text
    }
}

/// A duration such as `1h 2m 3s`.
fn duration(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}
