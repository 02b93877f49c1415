//! What must hold at all times, whatever goes wrong: told LIDs stay, and the manager's own view fits together.

use std::collections::BTreeMap;

use crate::simulated::{Lab, Sm};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};

/// What must hold at all times.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) lids: BTreeMap<PortGuid, (Lid, Lmc)>,
    pub(crate) told: usize,
}

impl Watch {
    /// The manager begins anew with what it had kept.
    pub(crate) fn restarted(&mut self, lab: &Lab) {
        let map = lab.manager().core().lid_map();
        self.lids.retain(|guid, _| map.contains_key(guid));
        self.told = 0;
    }

    pub(crate) fn look(&mut self, lab: &Lab, tell: bool) {
        self.look_at(lab.manager(), &lab.repeat(), tell);
    }

    pub(crate) fn look_at(&mut self, sm: &Sm, repeat: &str, tell: bool) {
        if tell {
            for event in &sm.events[self.told..] {
                println!("        {event}");
                if let ferrosm_core::Event::SweepCompleted(r) = event {
                    for p in &r.problems {
                        println!("            {p}");
                    }
                }
            }
        }
        self.told = sm.events.len();
        let map = sm.core().lid_map();
        let mut owner = BTreeMap::new();
        for (guid, (lid, lmc)) in map {
            for l in lid.raw()..lid.raw() + (1 << lmc.raw()) {
                let other = owner.insert(l, guid);
                assert!(other.is_none(), "{} LID {l} twice", repeat);
            }
            let subnet = sm.core().subnet();
            let node = subnet.port_by_guid(*guid).and_then(|p| subnet.get(p.node));
            // How many LIDs a switch has follows from what it says of its port 0, and one that answers garbage says anything.
            let fixed = !node.is_some_and(ferrosm_core::subnet::Node::is_switch);
            if let Some(before) = self.lids.insert(*guid, (*lid, *lmc)) {
                assert_eq!(
                    (before.0, before.1.raw() * u8::from(fixed)),
                    (*lid, lmc.raw() * u8::from(fixed)),
                    "{} {guid} was given another LID",
                    repeat
                );
            }
        }
        for guid in self.lids.keys() {
            assert!(map.contains_key(guid), "{} {guid} lost its LID", repeat);
        }
        let subnet = sm.core().subnet();
        for link in subnet.links() {
            for end in [link.a, link.b] {
                assert_eq!(subnet.peer(end), Some(link.other(end)), "{}", repeat);
            }
        }
    }
}
