//! The LID allocator, for the observed fabric and for fabric files. Pure.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, Lmc, PortGuid};

use super::ConfirmedLids;
use crate::records::lid_map::LidMap;

/// A request for the LIDs of an end port.
#[derive(Debug, Clone, Copy)]
pub struct LidDemand {
    pub guid: PortGuid,
    /// LMC: the port gets 2^LMC LIDs.
    pub lmc: Lmc,
    /// Its present base LID.
    pub current: Lid,
    /// The port is Active with that LID, and a switch has forwarding tables.
    pub in_use: bool,
    /// It is a switch that no SM has configured: its LID is not in use.
    pub is_unused: bool,
    /// Its MasterSMLID: the LID of the SM that configured it, or [`Lid::NONE`].
    pub master: Lid,
    /// It is the SM port.
    pub is_own: bool,
    /// The highest LID that its switch can deliver.
    pub deliverable: Lid,
}

impl LidDemand {
    const fn count(&self) -> usize {
        1 << self.lmc.0
    }
}

/// Which LIDs ports retain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LidPolicy {
    /// Those of the LID map, then present ones.
    Map,
    /// The present ones of Active ports, then those of the map: another SM may have been master
    /// since the map was written.
    ActivePorts,
    /// None.
    Reassign,
}

/// The inputs of a LID assignment.
#[derive(Debug)]
pub struct KnownLids<'a> {
    /// Earlier assignments, by port.
    pub map: &'a LidMap,
    /// Ports of the map whose LIDs are confirmed.
    pub confirmed_lids: &'a ConfirmedLids,
    /// All end ports in the fabric, also those that get no LIDs now.
    pub present: BTreeSet<PortGuid>,
    /// LIDs of excluded ports that may use them.
    pub excluded: Vec<(Lid, Lmc)>,
    /// The highest LID that any switch can forward.
    pub highest: Lid,
}

/// The result of [`assign`].
#[derive(Debug)]
pub struct AssignedLids {
    /// The base LID of each demand; `None` if none are available.
    pub lids: Vec<Option<Lid>>,
    /// Demands whose present LID belongs to another port.
    pub conflicts: Vec<usize>,
    /// The LID map with all assignments.
    pub map: LidMap,
    /// The earlier map is of another subnet: there are ports besides the SM's own, and the map
    /// contains none of them.
    pub is_map_of_other_subnet: bool,
}

/// Assigns LIDs to end ports, in the order of `demands`.
#[must_use]
pub fn assign(demands: &[LidDemand], known: &KnownLids<'_>, policy: LidPolicy) -> AssignedLids {
    let (map, confirmed_lids) = (known.map, known.confirmed_lids);
    let mut space = LidSpace::new(known.highest);
    let mut assigned: Vec<Option<Lid>> = vec![None; demands.len()];
    let mut conflicts = Vec::new();
    let mut after = LidMap::new();
    let other_demands = || demands.iter().filter(|d| !d.is_own);
    let is_map_of_other_subnet =
        other_demands().next().is_some() && !other_demands().any(|d| map.contains_key(&d.guid));
    if policy == LidPolicy::Reassign {
        occupy(&mut space, &known.excluded);
    } else {
        // The map first, then reservations of ports without a demand, so that present LIDs do not
        // override them.
        let demanding: BTreeSet<PortGuid> = demands.iter().map(|d| d.guid).collect();
        let without_demand = |confirmed: bool| {
            let is_wanted = |guid: &PortGuid| {
                !demanding.contains(guid) && confirmed_lids.ports.contains(guid) == confirmed
            };
            let all = map.iter().map(|(guid, lids)| (*guid, *lids));
            all.filter(|(guid, _)| is_wanted(guid)).collect::<Vec<_>>()
        };
        let may_retain = |demand: &LidDemand, (lid, lmc): (Lid, Lmc)| {
            let is_in_use = demand.in_use && demand.current == lid;
            let is_known = policy == LidPolicy::Map
                || is_in_use
                || confirmed_lids.ports.contains(&demand.guid);
            // The additional LIDs of a higher LMC may belong to other ports.
            is_known && demand.lmc <= lmc
        };
        take_from_map(&mut space, &mut assigned, demands, map, may_retain);
        // Confirmed LIDs of ports without a demand stay reserved, even if another port has them
        // now.
        reserve(&mut space, &mut after, &without_demand(true));
        // Otherwise an Active port retains its LID, even if the map has it for an absent port: the
        // map may belong to another subnet, or be older than the assignment of another master.
        let misdirected = Misdirected::new(demands, known, is_map_of_other_subnet);
        for (slot, demand) in assigned.iter_mut().zip(demands) {
            let current = demand.current;
            if demand.in_use
                && slot.is_none()
                && current.is_unicast()
                && space.is_free(current, demand.count())
                && !misdirected.has_lid_of(demand)
            {
                space.take(current, demand.count());
                *slot = Some(current);
            }
        }
        take_from_map(&mut space, &mut assigned, demands, map, |_, _| true);
        // Entries of another subnet yield to the present LIDs of ports, except those that no SM
        // assigned to them.
        let (foreign, own): (Vec<_>, Vec<_>) = without_demand(false)
            .into_iter()
            .partition(|(guid, _)| is_map_of_other_subnet || confirmed_lids.foreign.contains(guid));
        reserve(&mut space, &mut after, &own);
        occupy(&mut space, &known.excluded);
        let may_be_assigned =
            |demand: &LidDemand| !demand.is_unused && !misdirected.has_lid_of(demand);
        for yields_to_foreign in [false, true] {
            for (i, (slot, demand)) in assigned.iter_mut().zip(demands).enumerate() {
                let current = demand.current;
                if slot.is_none()
                    && current.is_unicast()
                    && may_be_assigned(demand) != yields_to_foreign
                {
                    if space.is_free(current, demand.count()) {
                        space.take(current, demand.count());
                        *slot = Some(current);
                    } else if space.is_taken(current, demand.count()) {
                        conflicts.push(i);
                    }
                }
            }
            if !yields_to_foreign {
                reserve(&mut space, &mut after, &foreign);
            }
        }
    }
    take_deliverable(&mut space, &mut assigned, demands, known.highest);
    let mut absent = Reservations::new(&after, known);
    for (slot, demand) in assigned.iter_mut().zip(demands) {
        if slot.is_none() {
            let count = demand.count();
            let free_base = space.first_free(count);
            let lid = free_base.or_else(|| absent.release(&mut space, &mut after, count));
            if let Some(lid) = lid {
                space.take(lid, count);
                *slot = Some(lid);
            }
        }
        if let Some(lid) = *slot {
            after.insert(demand.guid, (lid, demand.lmc));
        }
    }
    AssignedLids {
        lids: assigned,
        conflicts,
        map: after,
        is_map_of_other_subnet,
    }
}

/// LIDs that ports got from Sets of this SM that were for other ports: a cable was exchanged. The
/// map was persisted before these Sets were sent, so that it precedes them.
struct Misdirected<'a> {
    /// This SM's LID, if Sets may have been misdirected.
    own_lid: Option<Lid>,
    known: &'a KnownLids<'a>,
}

impl<'a> Misdirected<'a> {
    fn new(demands: &[LidDemand], known: &'a KnownLids<'a>, is_map_of_other_subnet: bool) -> Self {
        let own = demands.iter().find(|demand| demand.is_own);
        let own_lid = own.and_then(|own| {
            let (lid, _) = *known.map.get(&own.guid)?;
            (own.current == lid && own.master == lid).then_some(lid)
        });
        // The masters of two subnets may have the same LID.
        let is_possible = !is_map_of_other_subnet || known.confirmed_lids.has_misdirected_sets();
        Self {
            own_lid: own_lid.filter(|_| is_possible),
            known,
        }
    }

    /// Whether this SM configured the port last, and assigned its LID to another one.
    fn has_lid_of(&self, demand: &LidDemand) -> bool {
        let KnownLids {
            map,
            confirmed_lids,
            ..
        } = self.known;
        let current = demand.current.0;
        let is_of_other = |(guid, (lid, lmc)): (&PortGuid, &(Lid, Lmc))| {
            *guid != demand.guid
                && (lid.0..=lid.0 + ((1 << lmc.0) - 1)).contains(&current)
                && !confirmed_lids.foreign.contains(guid)
        };
        self.own_lid == Some(demand.master) && map.iter().any(is_of_other)
    }
}

/// Assigns LIDs of the map that are free, where `may` allows it.
fn take_from_map(
    space: &mut LidSpace,
    assigned: &mut [Option<Lid>],
    demands: &[LidDemand],
    map: &LidMap,
    may: impl Fn(&LidDemand, (Lid, Lmc)) -> bool,
) {
    for (slot, demand) in assigned.iter_mut().zip(demands) {
        if let Some((lid, lmc)) = map.get(&demand.guid).copied()
            && slot.is_none()
            && may(demand, (lid, lmc))
            && space.is_free(lid, demand.count())
        {
            space.take(lid, demand.count());
            *slot = Some(lid);
        }
    }
}

/// Assigns the first free LIDs to ports whose switch cannot deliver all LIDs, the smallest LFT
/// first, after the SM port; only LIDs that the switch can deliver.
fn take_deliverable(
    space: &mut LidSpace,
    assigned: &mut [Option<Lid>],
    demands: &[LidDemand],
    highest: Lid,
) {
    let is_limited = |i: &usize| demands[*i].deliverable < highest;
    let mut limited: Vec<usize> = (0..demands.len())
        .filter(|i| assigned[*i].is_none() && is_limited(i))
        .collect();
    if limited.is_empty() {
        return;
    }
    limited.sort_by_key(|i| demands[*i].deliverable);
    let own = demands.iter().position(|d| d.is_own);
    let own = own.filter(|i| assigned[*i].is_none() && !is_limited(i));
    for i in own.into_iter().chain(limited) {
        let count = demands[i].count();
        if let Some(lid) = space.first_free(count)
            && usize::from(lid.0) + count <= usize::from(demands[i].deliverable.0) + 1
        {
            space.take(lid, count);
            assigned[i] = Some(lid);
        }
    }
}

/// Reserves the LIDs of ports without a demand, as far as they are free.
fn reserve(space: &mut LidSpace, map: &mut LidMap, entries: &[(PortGuid, (Lid, Lmc))]) {
    for (guid, (lid, lmc)) in entries {
        if space.is_free(*lid, 1 << lmc.0) {
            space.take(*lid, 1 << lmc.0);
            map.insert(*guid, (*lid, *lmc));
        }
    }
}

/// Takes LIDs that are in use by ports that get none.
fn occupy(space: &mut LidSpace, lids: &[(Lid, Lmc)]) {
    for (lid, lmc) in lids {
        space.take_range(*lid, 1 << lmc.0);
    }
}

/// Reservations of absent ports. If LIDs are exhausted, they are released, unconfirmed ones first.
struct Reservations<'a> {
    /// See [`KnownLids::excluded`].
    excluded: &'a [(Lid, Lmc)],
    /// By descending LID, unconfirmed ones before confirmed ones.
    by_lid: [Vec<(Lid, Lmc, PortGuid)>; 2],
}

impl<'a> Reservations<'a> {
    /// The reservations in `reserved`, which contains no other ports.
    fn new(reserved: &LidMap, known: &'a KnownLids<'_>) -> Self {
        let all = |confirmed: bool| {
            let absent = reserved
                .iter()
                .filter(|(guid, _)| !known.present.contains(*guid));
            let selected =
                absent.filter(|(guid, _)| known.confirmed_lids.ports.contains(*guid) == confirmed);
            let mut by_lid: Vec<_> = selected
                .map(|(guid, (lid, lmc))| (*lid, *lmc, *guid))
                .collect();
            by_lid.sort_unstable();
            by_lid.reverse();
            by_lid
        };
        Self {
            excluded: &known.excluded,
            by_lid: [all(false), all(true)],
        }
    }

    /// Releases reservations until `count` consecutive LIDs are free.
    fn release(&mut self, space: &mut LidSpace, map: &mut LidMap, count: usize) -> Option<Lid> {
        for reservations in &mut self.by_lid {
            while let Some((lid, lmc, guid)) = reservations.pop() {
                map.remove(&guid);
                space.release(lid, 1 << lmc.0);
                // An excluded port may use LIDs of the reservation.
                occupy(space, self.excluded);
                if let Some(lid) = space.first_free(count) {
                    return Some(lid);
                }
            }
        }
        None
    }
}

/// Allocation state of the LID space.
struct LidSpace {
    taken: Vec<bool>,
    next_free: usize,
}

impl LidSpace {
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

    /// Whether another port has the LID. A LID that is misaligned for a higher LMC, or too high,
    /// could not be retained in any case.
    fn is_taken(&self, base: Lid, count: usize) -> bool {
        let first = usize::from(base.0);
        first.is_multiple_of(count) && self.taken.get(first) == Some(&true)
    }

    fn take(&mut self, base: Lid, count: usize) {
        let first = usize::from(base.0);
        self.taken[first..first + count].fill(true);
    }

    /// Takes those LIDs of a range that can be assigned.
    fn take_range(&mut self, base: Lid, count: usize) {
        let first = usize::from(base.0);
        let range = self.taken.iter_mut().skip(first).take(count);
        range.for_each(|taken| *taken = true);
    }

    fn release(&mut self, base: Lid, count: usize) {
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
