//! The LID allocator: pure, for the observed fabric and for a fabric file.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, Lmc, PortGuid};

use super::Reign;
use crate::lid_map::LidMap;

/// An end port that is to have LIDs.
#[derive(Debug, Clone, Copy)]
pub struct LidDemand {
    /// Its GUID.
    pub guid: PortGuid,
    /// It gets 2^LMC LIDs.
    pub lmc: Lmc,
    /// The base LID that it has.
    pub has: Lid,
    /// It carries data under that LID.
    pub in_use: bool,
    /// It is the SM's own port.
    pub is_own: bool,
}

impl LidDemand {
    const fn count(&self) -> usize {
        1 << self.lmc.0
    }
}

/// What is known of LIDs before they are assigned.
#[derive(Debug)]
pub struct KnownLids<'a> {
    /// LIDs that were assigned before, by port.
    pub map: &'a LidMap,
    /// Ports of the map that are sure to be right.
    pub reign: &'a Reign,
    /// All end ports that are here, also those that get no LIDs now.
    pub here: BTreeSet<PortGuid>,
    /// The highest LID that every switch can forward.
    pub highest: Lid,
}

/// LIDs by demand.
#[derive(Debug)]
pub struct AssignedLids {
    /// The base LID of each demand; `None` where no LIDs were left.
    pub lids: Vec<Option<Lid>>,
    /// Demands whose present LID belongs to another port.
    pub conflicts: Vec<usize>,
    /// The map with everything that was assigned.
    pub map: LidMap,
}

/// Assigns LIDs to end ports, in this order where it matters.
#[must_use]
pub fn assign(demands: &[LidDemand], known: &KnownLids<'_>, reassign: bool) -> AssignedLids {
    let (map, reign) = (known.map, known.reign);
    let mut space = Space::new(known.highest);
    let mut given: Vec<Option<Lid>> = vec![None; demands.len()];
    let mut conflicts = Vec::new();
    let mut after = LidMap::new();
    if !reassign {
        // The map first; then what absent ports hold, so that present LIDs do not take it.
        let present: BTreeSet<PortGuid> = demands.iter().map(|d| d.guid).collect();
        let absent = |sure: bool| {
            let is_wanted =
                |guid: &PortGuid| !present.contains(guid) && reign.given.contains(guid) == sure;
            let all = map.iter().map(|(guid, lids)| (*guid, *lids));
            all.filter(|(guid, _)| is_wanted(guid)).collect::<Vec<_>>()
        };
        for (given, demand) in given.iter_mut().zip(demands) {
            if let Some((lid, _)) = map.get(&demand.guid)
                && space.is_free(*lid, demand.count())
            {
                space.take(*lid, demand.count());
                *given = Some(*lid);
            }
        }
        // Who was given its LID by this master finds it again, whoever came with it meanwhile from elsewhere.
        hold(&mut space, &mut after, &absent(true));
        // Apart from that, who carries data under its LID keeps it, whatever a map says of somebody who is not there: the map
        // may be another subnet's, or older than what another master gave out.
        for (given, demand) in given.iter_mut().zip(demands) {
            let has = demand.has;
            if demand.in_use
                && given.is_none()
                && has.is_unicast()
                && space.is_free(has, demand.count())
            {
                space.take(has, demand.count());
                *given = Some(has);
            }
        }
        // A map in which nobody is who is here is another subnet's: what it says of absent ports is worth less than any LID that a
        // port has.
        let others = || demands.iter().filter(|d| !d.is_own);
        let elsewhere = others().next().is_some() && !others().any(|d| map.contains_key(&d.guid));
        if !elsewhere {
            hold(&mut space, &mut after, &absent(false));
        }
        for (i, (given, demand)) in given.iter_mut().zip(demands).enumerate() {
            let has = demand.has;
            if given.is_none() && has.is_unicast() {
                if space.is_free(has, demand.count()) {
                    space.take(has, demand.count());
                    *given = Some(has);
                } else {
                    conflicts.push(i);
                }
            }
        }
        if elsewhere {
            hold(&mut space, &mut after, &absent(false));
        }
    }
    let mut absent = Absent::of(&after, known);
    for (given, demand) in given.iter_mut().zip(demands) {
        if given.is_none() {
            let count = demand.count();
            let free = space.first_free(count);
            let lid = free.or_else(|| absent.give_way(&mut space, &mut after, count));
            if let Some(lid) = lid {
                space.take(lid, count);
                *given = Some(lid);
            }
        }
        if let Some(lid) = *given {
            after.insert(demand.guid, (lid, demand.lmc));
        }
    }
    AssignedLids {
        lids: given,
        conflicts,
        map: after,
    }
}

/// Keeps the LIDs of ports that are absent, as far as they are free.
fn hold(space: &mut Space, kept: &mut LidMap, absent: &[(PortGuid, (Lid, Lmc))]) {
    for (guid, (lid, lmc)) in absent {
        if space.is_free(*lid, 1 << lmc.0) {
            space.take(*lid, 1 << lmc.0);
            kept.insert(*guid, (*lid, *lmc));
        }
    }
}

/// Ports that are absent and hold LIDs. Where none are left for a port that is here, they give way: those first of which it is not
/// sure that they are this subnet's.
struct Absent {
    /// From the lowest LID, unsure ones before sure ones.
    by_lid: [Vec<(Lid, Lmc, PortGuid)>; 2],
}

impl Absent {
    /// Of those that hold LIDs, before anybody else is in the map.
    fn of(held: &LidMap, known: &KnownLids<'_>) -> Self {
        let all = |sure: bool| {
            let held = held.iter().filter(|(guid, _)| !known.here.contains(*guid));
            let those = held.filter(|(guid, _)| known.reign.given.contains(*guid) == sure);
            let mut those: Vec<_> = those
                .map(|(guid, (lid, lmc))| (*lid, *lmc, *guid))
                .collect();
            those.sort_unstable();
            those.reverse();
            those
        };
        Self {
            by_lid: [all(false), all(true)],
        }
    }

    /// Frees LIDs until so many are free together.
    fn give_way(&mut self, space: &mut Space, map: &mut LidMap, count: usize) -> Option<Lid> {
        for those in &mut self.by_lid {
            while let Some((lid, lmc, guid)) = those.pop() {
                map.remove(&guid);
                space.free(lid, 1 << lmc.0);
                if let Some(lid) = space.first_free(count) {
                    return Some(lid);
                }
            }
        }
        None
    }
}

/// Which LIDs are taken.
struct Space {
    taken: Vec<bool>,
    next_free: usize,
}

impl Space {
    fn new(highest: Lid) -> Self {
        Self {
            taken: vec![false; usize::from(highest.0) + 1],
            next_free: 1,
        }
    }

    /// Whether the range is legal, aligned and free.
    fn is_free(&self, base: Lid, count: usize) -> bool {
        let first = usize::from(base.0);
        first >= 1
            && first.is_multiple_of(count)
            && self
                .taken
                .get(first..first + count)
                .is_some_and(|r| !r.contains(&true))
    }

    fn take(&mut self, base: Lid, count: usize) {
        let first = usize::from(base.0);
        self.taken[first..first + count].fill(true);
    }

    fn free(&mut self, base: Lid, count: usize) {
        let first = usize::from(base.0);
        self.taken[first..first + count].fill(false);
        self.next_free = self.next_free.min(first);
    }

    fn first_free(&mut self, count: usize) -> Option<Lid> {
        while self.taken.get(self.next_free) == Some(&true) {
            self.next_free += 1;
        }
        let mut at = self.next_free.next_multiple_of(count);
        while at + count <= self.taken.len() {
            let lid = Lid(u16::try_from(at).ok()?);
            if self.is_free(lid, count) {
                return Some(lid);
            }
            at += count;
        }
        None
    }
}
