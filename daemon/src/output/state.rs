//! Output of `ferrosm state show`.

use core::time::Duration;

use comfy_table::Table;
use ferrosm_core::RestoredState;
use ferrosm_core::records::SkippedRecord;
use ferrosm_mad::ids::{Gid, PortGuid};
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_store::export;
use serde::Serialize;

use super::table::{self, count};

/// The state that a start would restore.
#[derive(Debug)]
pub struct StateSummary<'a> {
    /// Number of the last batch; 0 in an empty store.
    pub sequence: u64,
    /// Age of the last batch in seconds.
    pub age_s: u64,
    pub restored: &'a RestoredState,
    pub groups: Vec<Group>,
    pub invalid: &'a [SkippedRecord],
}

/// A multicast group, as in the JSON document.
#[derive(Debug, Serialize)]
pub struct Group {
    mgid: Gid,
    mlid: u16,
    pkey: u16,
    /// Whether it persists without members.
    well_known: bool,
    members: Vec<PortGuid>,
}

impl<'a> StateSummary<'a> {
    #[must_use]
    pub fn new(
        sequence: u64,
        age_s: u64,
        restored: &'a RestoredState,
        invalid: &'a [SkippedRecord],
    ) -> Self {
        Self {
            sequence,
            age_s,
            restored,
            groups: groups(&restored.registrations.members),
            invalid,
        }
    }

    /// Renders totals, followed by tables.
    #[must_use]
    pub fn render(&self) -> String {
        let restored = self.restored;
        let saved = &restored.registrations;
        let members: usize = self.groups.iter().map(|g| g.members.len()).sum();
        let sums = [
            count(restored.lids.len(), "port with LIDs", "ports with LIDs"),
            count(self.groups.len(), "multicast group", "multicast groups"),
            count(members, "member of groups", "members of groups"),
            count(saved.services.len(), "service", "services"),
            count(saved.subscriptions.len(), "subscription", "subscriptions"),
            count(saved.aliases.len(), "alias GUID", "alias GUIDs"),
        ];
        let mut text = match self.sequence {
            0 => "no persisted state\n".to_owned(),
            n => format!(
                "last saved {} ago (change {n} of this directory)\n",
                duration(self.age_s)
            ),
        };
        text.push_str(&format!("{}\n", sums.join(", ")));
        text.push_str(&match &restored.snapshot {
            Some(view) => format!(
                "topology for SA replies saved {} ago: {}\n",
                duration(view.age.as_secs()),
                count(view.snapshot.nodes().count(), "node", "nodes")
            ),
            None => {
                "no restored view: after a start, the SA replies when the first sweep is complete\n"
                    .to_owned()
            }
        });
        for record in self.invalid {
            text.push_str(&format!("invalid: {record}\n"));
        }
        for table in self.tables().iter().filter(|table| !table.is_empty()) {
            text.push_str(&format!("{table}\n"));
        }
        text
    }

    fn tables(&self) -> [Table; 5] {
        let saved = &self.restored.registrations;
        let mut lids = table::new(["Port GUID", "LIDs"]);
        let mut by_lid: Vec<_> = self.restored.lids.iter().collect();
        by_lid.sort_by_key(|(_, (lid, _))| *lid);
        lids.add_rows(by_lid.iter().map(|(port, (lid, lmc))| {
            let last = u32::from(lid.0) + (1 << lmc.0.min(7)) - 1;
            let range = match lmc.0 {
                0 => lid.to_string(),
                _ => format!("{lid}-{last}"),
            };
            [port.to_string(), range]
        }));

        let mut groups = table::new(["Multicast group", "MLID", "P_Key", "Members", "Well-known"]);
        table::right(&mut groups, &[3]);
        groups.add_rows(self.groups.iter().map(|group| {
            [
                group.mgid.to_string(),
                format!("{:#06x}", group.mlid),
                format!("{:#06x}", group.pkey),
                group.members.len().to_string(),
                if group.well_known { "yes" } else { "" }.to_owned(),
            ]
        }));

        let mut services = table::new(["Service", "Owner", "Lease"]);
        services.add_rows(saved.services.iter().map(|service| {
            [
                export::describe_service(&service.record),
                service.registered_by.to_string(),
                service
                    .lease_remaining_s
                    .map_or_else(|| "none".to_owned(), duration),
            ]
        }));

        let mut subscriptions = table::new(["Subscription"]);
        let described = saved
            .subscriptions
            .iter()
            .map(|s| [export::describe_subscription(&s.record)]);
        subscriptions.add_rows(described);

        let mut aliases = table::new(["Port GUID", "Index", "Alias GUID"]);
        table::right(&mut aliases, &[1]);
        aliases.add_rows(saved.aliases.iter().map(|alias| {
            [
                alias.port.to_string(),
                alias.index.to_string(),
                alias.alias.to_string(),
            ]
        }));
        [lids, groups, services, subscriptions, aliases]
    }
}

/// The groups of member records, which are in the order of MGIDs.
fn groups(records: &[McMemberRecord]) -> Vec<Group> {
    let is_member = |record: &&McMemberRecord| record.port_gid != Gid::default();
    records
        .chunk_by(|a, b| a.mgid == b.mgid)
        .map(|of_group| Group {
            mgid: of_group[0].mgid,
            mlid: of_group[0].mlid.0,
            pkey: of_group[0].pkey.0,
            well_known: !of_group.iter().all(|record| is_member(&record)),
            members: of_group
                .iter()
                .filter(is_member)
                .map(|record| record.port_gid.guid())
                .collect(),
        })
        .collect()
}

/// A duration such as `1h 2m 3s`.
fn duration(seconds: u64) -> String {
    humantime::format_duration(Duration::from_secs(seconds)).to_string()
}
