//! What must hold, read from devices, from what hosts were told, and from each manager's answer to the question who it is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::multicast_members::plain;
use ferrosm_core::Event;
use ferrosm_core::election::ElectionNotice;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;
use ferrosm_sim::oracle::ExpectedGroup;
use ferrosm_sim::spec::{NodeIdx, PortAt};

use crate::masters::simulation::Stage;

/// What is remembered from look to look.
pub(crate) struct Watch {
    /// Since when an island has two masters.
    two_since: Option<Instant>,
    /// So long it may.
    two_at_most: Duration,
    /// LIDs that ports once had, from when the fabric was whole.
    lids: BTreeMap<PortGuid, Lid>,
    /// Hosts that lost power and have not got their LID again.
    bare: BTreeSet<NodeIdx>,
    /// How many masters without records there had been when one last had all that each host has.
    known: BTreeMap<NodeIdx, u32>,
    /// One of them has another LID, which neither it nor who became master could know: from then on nobody's is watched, for it may
    /// be that of one that is away.
    pub(crate) moved: bool,
}

impl Watch {
    pub(crate) fn new(two_at_most: Duration) -> Self {
        Self {
            two_since: None,
            two_at_most,
            lids: BTreeMap::new(),
            bare: BTreeSet::new(),
            known: BTreeMap::new(),
            moved: false,
        }
    }

    /// At any time.
    pub(crate) fn look(&mut self, stage: &mut Stage) {
        self.look_at_masters(stage);
        self.look_at_lids(stage);
    }

    fn look_at_masters(&mut self, stage: &Stage) {
        let now = stage.lab.world.now();
        let islands = stage.islands();
        let masters = islands.iter().map(|(nodes, here)| {
            let masters = here.iter().filter(|i| stage.is_master(**i));
            masters.count() + usize::from(stage.foreign_state(nodes) == Some(SmState::Master))
        });
        if masters.max().unwrap_or(0) < 2 {
            self.two_since = None;
            return;
        }
        let since = *self.two_since.get_or_insert(now);
        assert!(
            now.since(since) <= self.two_at_most,
            "{} two masters on one island for {:?}",
            stage.lab.repeat(),
            now.since(since)
        );
    }

    fn look_at_lids(&mut self, stage: &mut Stage) {
        self.bare.append(&mut stage.powerless);
        let fabric = stage.lab.world.fabric();
        let mut others = Vec::new();
        for at in fabric.end_ports() {
            let (guid, lid) = (fabric.port_guid(at), fabric.lid(at).0);
            let Some(had) = self.lids.get(&guid).filter(|_| lid != Lid::NONE) else {
                continue;
            };
            let bare = self.bare.remove(&at.node);
            if *had != lid {
                let known = self.known.get(&at.node).copied();
                self.moved |= bare && Some(stage.unprepared) > known;
                others.push((at, *had, lid));
            }
        }
        let repeat = stage.lab.repeat();
        assert!(
            others.is_empty() || self.moved,
            "{repeat} ports have other LIDs than they had: {others:?}"
        );
    }

    /// The fabric is whole and good: these LIDs stay.
    pub(crate) fn remember(&mut self, stage: &Stage) {
        let fabric = stage.lab.world.fabric();
        let linked = |at: &PortAt| fabric.is_switch(at.node) || fabric.link_up(*at);
        let ports = fabric.end_ports().filter(linked);
        self.lids = ports
            .map(|at| (fabric.port_guid(at), fabric.lid(at).0))
            .collect();
        self.all_is_known(stage);
    }

    /// The fabric is whole and good: whoever is master knows the LIDs of all that are there.
    pub(crate) fn all_is_known(&mut self, stage: &Stage) {
        let fabric = stage.lab.world.fabric();
        let there = fabric.end_ports().filter(|at| fabric.link_up(*at));
        self.known
            .extend(there.map(|at| (at.node, stage.unprepared)));
    }
}

/// A subnet manager with another SM_Key is told to the operator by every master that sees it, and gets nothing.
pub(crate) fn assert_ignored(stage: &Stage) {
    let Some(foreign) = stage.foreign.as_ref().filter(|f| !f.takes_part()) else {
        return;
    };
    let repeat = stage.lab.repeat();
    assert_eq!(
        foreign.given, 0,
        "{repeat} HANDOVER to an SM with another key"
    );
    let wanted = ElectionNotice::SmKeyMismatch(foreign.guid());
    for (nodes, here) in &*stage.islands() {
        if !foreign.runs() || !nodes.contains(&foreign.at.node) {
            continue;
        }
        for sm in here
            .iter()
            .filter(|i| stage.is_master(**i))
            .filter_map(|i| stage.sm(*i))
        {
            let told = |e: &Event| matches!(e, Event::Alarm(alarm) if alarm.what == wanted);
            assert!(sm.events.iter().any(told), "{repeat} no alarm: {wanted}");
        }
    }
}

/// Whether every island is as it should be; else what is not.
pub(crate) fn settled(stage: &mut Stage, exact: bool) -> Result<(), String> {
    for (nodes, here) in &*stage.islands() {
        let masters: Vec<usize> = here
            .iter()
            .copied()
            .filter(|i| stage.is_master(*i))
            .collect();
        if let Some(state) = stage.foreign_state(nodes) {
            beside_foreign(stage, state, here)?;
            if state == SmState::Master {
                // It serves nobody, so nothing else is asked.
                continue;
            }
        }
        let [master] = masters[..] else {
            return Err(format!("masters {masters:?} of {here:?}"));
        };
        for i in here.iter().copied() {
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
        let hosts = stage.hosts_of(nodes);
        stage.clients.compare(&stage.lab.world, &hosts, id, exact)?;
        // A routing may leave no lanes for trees; then nobody promises any.
        let notes = sm.core().last_report().map(|r| &r.engine_messages[..]);
        let no_trees = |note: &String| note.starts_with("multicast disabled");
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

/// Whether somebody else's subnet manager and ours are what they should be to each other: one master, and the better one.
fn beside_foreign(stage: &Stage, state: SmState, here: &[usize]) -> Result<(), String> {
    let foreign = stage.foreign.as_ref().unwrap();
    let goes_before = |i: &usize| foreign.yields_to(stage.slots[*i].guid);
    let masters: Vec<usize> = here
        .iter()
        .copied()
        .filter(|i| stage.is_master(*i))
        .collect();
    match (state, &masters[..]) {
        (SmState::Master, []) => {
            if let Some(i) = here
                .iter()
                .find(|i| stage.role(**i) != Some(SmState::Standby))
            {
                let role = stage.role(*i);
                return Err(format!("{i} is {role:?}, and the foreign SM is master"));
            }
            match here.iter().find(|i| goes_before(i) != Some(false)) {
                Some(i) => Err(format!("the foreign SM is master, and {i} goes before it")),
                None => Ok(()),
            }
        }
        (SmState::Standby, [master]) if goes_before(master) == Some(true) => Ok(()),
        _ => Err(format!(
            "the foreign SM is {state:?}, masters of ours: {masters:?}"
        )),
    }
}

/// The groups that a manager knows, for the oracle of trees.
fn groups_of(stage: &Stage, master: usize) -> Vec<ExpectedGroup> {
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
    let mut by_mlid: BTreeMap<Lid, ExpectedGroup> = BTreeMap::new();
    for group in all.filter(|g| !g.members.is_empty()) {
        let members = group.members.keys().filter_map(|guid| places.get(guid));
        let there = by_mlid
            .entry(group.mlid)
            .or_insert_with(|| ExpectedGroup::new(group.mlid, []));
        there.sl = group.parameters.sl;
        there.members.extend(members);
    }
    by_mlid.into_values().collect()
}
