//! What must hold, read from devices, from what hosts were told, and from each manager's answer to the question who it is.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;
use ferrosm_sim::oracle::Group;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::members::plain;

use crate::stage::Stage;

/// What is remembered from look to look.
pub(crate) struct Watch {
    /// Since when an island has two masters.
    two_since: Option<Instant>,
    /// So long it may.
    two_at_most: Duration,
    /// LIDs that ports once had, from when the fabric was whole.
    lids: BTreeMap<PortGuid, Lid>,
}

impl Watch {
    pub(crate) fn new(two_at_most: Duration) -> Self {
        Self {
            two_since: None,
            two_at_most,
            lids: BTreeMap::new(),
        }
    }

    /// At any time.
    pub(crate) fn look(&mut self, stage: &Stage) {
        let now = stage.lab.world.now();
        let islands = stage.islands();
        let masters = islands.iter().map(|(_, here)| {
            let masters = here.iter().filter(|i| stage.is_master(**i));
            masters.count()
        });
        if masters.max().unwrap_or(0) < 2 {
            self.two_since = None;
        } else {
            let since = *self.two_since.get_or_insert(now);
            assert!(
                now.since(since) <= self.two_at_most,
                "{} two masters on one island for {:?}",
                stage.lab.repeat(),
                now.since(since)
            );
        }
        let fabric = stage.lab.world.fabric();
        for at in fabric.end_ports() {
            let (guid, lid) = (fabric.port_guid(at), fabric.lid(at).0);
            if let Some(had) = self.lids.get(&guid) {
                assert!(
                    lid == *had || lid == Lid::NONE,
                    "{} the LID of {at:?} was {had} and is {lid}",
                    stage.lab.repeat()
                );
            }
        }
    }

    /// The fabric is whole and good: these LIDs stay.
    pub(crate) fn remember(&mut self, stage: &Stage) {
        let fabric = stage.lab.world.fabric();
        let linked = |at: &PortAt| fabric.is_switch(at.node) || fabric.link_up(*at);
        let ports = fabric.end_ports().filter(linked);
        self.lids = ports
            .map(|at| (fabric.port_guid(at), fabric.lid(at).0))
            .collect();
    }
}

/// Whether every island is as it should be; else what is not.
pub(crate) fn settled(stage: &mut Stage, exact: bool) -> Result<(), String> {
    for (nodes, here) in stage.islands() {
        let masters: Vec<usize> = here
            .iter()
            .copied()
            .filter(|i| stage.is_master(*i))
            .collect();
        let [master] = masters[..] else {
            return Err(format!("masters {masters:?} of {here:?}"));
        };
        for i in here {
            let role = stage.role(i);
            if i != master && role != Some(SmState::Standby) {
                return Err(format!("{i} is {role:?}, the master is {master}"));
            }
        }
        let (id, at) = (stage.slots[master].id.unwrap(), stage.slots[master].plan.at);
        let fabric = stage.lab.world.fabric();
        let lid = fabric.lid(at).0;
        for port in fabric.end_ports().filter(|p| nodes.contains(&p.node)) {
            let linked = fabric.is_switch(port.node) || fabric.link_up(port);
            let named = fabric.port_info(port).unwrap().master_sm_lid;
            if linked && named != lid {
                return Err(format!(
                    "{port:?} names {named} as its master, that is {lid}"
                ));
            }
        }
        let sm = stage.sm(master).unwrap();
        match sm.core().last_report() {
            Some(report) if report.is_clean() => {}
            Some(report) => return Err(format!("problems of {master}: {:?}", report.problems)),
            None => return Err(format!("no sweep of {master} yet")),
        }
        let hosts = stage.hosts_of(&nodes);
        stage.clients.compare(&stage.lab.world, &hosts, id, exact)?;
        // A routing may leave no lanes for trees; then nobody promises any.
        let notes = sm.core().last_report().map(|r| &r.engine_notes[..]);
        let no_trees = |note: &String| note.starts_with("there is no multicast");
        let groups = if notes.unwrap_or_default().iter().any(no_trees) {
            Vec::new()
        } else {
            groups_of(stage, master)
        };
        (stage.lab.sm, stage.lab.at) = (id, at);
        stage.lab.verdict(&stage.lab.expect().groups(groups))?;
    }
    Ok(())
}

/// The groups that a manager knows, for the oracle of trees.
fn groups_of(stage: &Stage, master: usize) -> Vec<Group> {
    let fabric = stage.lab.world.fabric();
    let places: BTreeMap<PortGuid, PortAt> = fabric
        .end_ports()
        .map(|at| (fabric.port_guid(at), at))
        .collect();
    let Some(sm) = stage.sm(master) else {
        return Vec::new();
    };
    let groups = sm.core().registry().groups();
    let all = (0..4).filter_map(|n| groups.get(plain(n)));
    let mut by_mlid: BTreeMap<Lid, Group> = BTreeMap::new();
    for group in all.filter(|g| !g.members.is_empty()) {
        let members = group.members.keys().filter_map(|guid| places.get(guid));
        let there = by_mlid
            .entry(group.mlid)
            .or_insert_with(|| Group::new(group.mlid, []));
        there.sl = group.parameters.sl;
        there.members.extend(members);
    }
    by_mlid.into_values().collect()
}
