//! What is kept over restarts, for eyes and for programs.

use core::time::Duration;

use ferrosm_core::RestoredState;
use ferrosm_core::records::SkippedRecord;
use ferrosm_mad::ids::{Gid, PortGuid};
use serde::Serialize;

use super::table::{self, count};
use crate::state::export;

/// The document of `ferrosm state show --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    /// Version of the form.
    pub schema: u32,
    /// Number of the last batch of changes; 0 where nothing was ever kept.
    pub sequence: u64,
    /// Seconds since it was written.
    pub age_s: u64,
    /// Who owns which LIDs, by port GUID.
    pub lids: Vec<OwnLids>,
    /// Multicast groups, by MGID.
    pub groups: Vec<Group>,
    /// Services.
    pub services: Vec<Service>,
    /// Subscriptions, in words.
    pub subscriptions: Vec<String>,
    /// Alias GUIDs.
    pub aliases: Vec<Alias>,
    /// The subnet as it was; none where nothing is kept of it.
    pub view: Option<View>,
    /// Records that cannot be, and why.
    pub left_out: Vec<String>,
}

/// LIDs of a port.
#[derive(Debug, Serialize)]
pub struct OwnLids {
    /// The port.
    pub port: PortGuid,
    /// Base LID.
    pub lid: u16,
    /// 2^LMC LIDs.
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
    /// It stays without members.
    pub well_known: bool,
    /// GUIDs that joined.
    pub members: Vec<PortGuid>,
}

/// A service.
#[derive(Debug, Serialize)]
pub struct Service {
    /// What it is, in words.
    pub about: String,
    /// The port that registered it.
    pub by: PortGuid,
    /// Seconds that are left of its lease; none for ever.
    pub left_s: Option<u64>,
}

/// An alias GUID.
#[derive(Debug, Serialize)]
pub struct Alias {
    /// The port.
    pub port: PortGuid,
    /// Place in its table.
    pub index: u16,
    /// The alias.
    pub alias: PortGuid,
}

/// What is kept of the subnet.
#[derive(Debug, Serialize)]
pub struct View {
    /// Its nodes.
    pub nodes: usize,
    /// Since it was saved.
    pub age_s: u64,
}

impl Document {
    /// Of what a manager would start with.
    #[must_use]
    pub fn new(
        sequence: u64,
        age_s: u64,
        restored: &RestoredState,
        left_out: &[SkippedRecord],
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
                .map(|s| Service {
                    about: export::about_service(&s.record),
                    by: s.registered_by,
                    left_s: s.lease_left_s,
                })
                .collect(),
            subscriptions: saved
                .subscriptions
                .iter()
                .map(|s| export::about_subscription(&s.record))
                .collect(),
            aliases: aliases
                .map(|a| Alias {
                    port: a.port,
                    index: a.index,
                    alias: a.alias,
                })
                .collect(),
            view: restored.snapshot.as_ref().map(|s| View {
                nodes: s.view.nodes().count(),
                age_s: s.age.as_secs(),
            }),
            left_out: left_out.iter().map(ToString::to_string).collect(),
        }
    }

    /// For eyes: the sums first, then what they are made of.
    #[must_use]
    pub fn render(&self) -> String {
        let members: usize = self.groups.iter().map(|g| g.members.len()).sum();
        let sums = [
            count(self.lids.len(), "port with LIDs", "ports with LIDs"),
            count(self.groups.len(), "group", "groups"),
            count(members, "member", "members"),
            count(self.services.len(), "service", "services"),
            count(self.subscriptions.len(), "subscription", "subscriptions"),
            count(self.aliases.len(), "alias GUID", "alias GUIDs"),
        ];
        let mut text = match self.sequence {
            0 => "nothing was kept yet\n".to_owned(),
            n => format!("batch {n}, written {} ago\n", ago(self.age_s)),
        };
        text.push_str(&format!("{}\n", sums.join(", ")));
        text.push_str(&match &self.view {
            Some(view) => format!(
                "the subnet as it was {} ago: {}\n",
                ago(view.age_s),
                count(view.nodes, "node", "nodes")
            ),
            None => {
                "nothing of the subnet: clients are answered after the first sweep\n".to_owned()
            }
        });
        for why in &self.left_out {
            text.push_str(&format!("left out: {why}\n"));
        }
        let mut tables = Vec::new();
        if !self.lids.is_empty() {
            let mut table = table::new(["Port GUID", "LIDs"]);
            for own in &self.lids {
                let last = u32::from(own.lid) + (1 << own.lmc.min(7)) - 1;
                let lids = match own.lmc {
                    0 => own.lid.to_string(),
                    _ => format!("{}-{last}", own.lid),
                };
                table.add_row([own.port.to_string(), lids]);
            }
            tables.push(table);
        }
        if !self.groups.is_empty() {
            let mut table = table::new(["Multicast group", "MLID", "P_Key", "Members", "Stays"]);
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
            let mut table = table::new(["Service", "Registered by", "Lease"]);
            for service in &self.services {
                let lease = service.left_s.map_or_else(|| "for ever".to_owned(), ago);
                table.add_row([service.about.clone(), service.by.to_string(), lease]);
            }
            tables.push(table);
        }
        if !self.subscriptions.is_empty() {
            let mut table = table::new(["Subscription"]);
            for about in &self.subscriptions {
                table.add_row([about]);
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

/// `1h 2m 3s`.
fn ago(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}
