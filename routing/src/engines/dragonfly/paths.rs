//! Paths between the switches of a dragonfly whose groups are full meshes.
//!
//! A path has at most one local hop, one global hop and one local hop. Around a missing local link,
//! two local hops take its place (`local_detours`). If no global link leads to the group of the
//! destination, or none of which the path continues, all switches of the source group send through
//! a third group (`group_order`). Where several paths have the same number of hops, the least
//! loaded one is used.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::group_order::GroupOrder;
use super::groups::{GlobalChannel, GroupGraph};
use super::local_detours::LocalDetours;
use crate::messages::ShapeError;
use crate::paths::slot_routes::{SlotLoads, SlotRoutes};
use crate::topology::SwitchIdx;

/// The paths, and what the VLs of their hops depend on.
pub(super) struct GroupPaths {
    pub(super) routes: SlotRoutes,
    pub(super) detours: LocalDetours,
    /// `None` if no path has two global hops.
    pub(super) order: Option<GroupOrder>,
}

impl GroupPaths {
    /// # Errors
    /// Too many links are missing.
    pub(super) fn new(groups: &GroupGraph<'_>) -> Result<Self, ShapeError> {
        let mut search = GroupPathSearch {
            groups,
            detours: LocalDetours::new(groups),
            loads: SlotLoads::new(groups.graph),
            routes: SlotRoutes::new(groups.graph.len()),
            entering: groups
                .group_of
                .iter()
                .map(|&g| vec![0; groups.members[g].len()])
                .collect(),
        };
        let LinkedGroups {
            with_detours,
            indirect,
        } = search.connect_linked_groups()?;
        for (group, dest) in with_detours {
            let gateways = search.gateways(group, dest);
            search.connect_group(group, dest, &gateways)?;
        }
        search.connect_members()?;
        let pairs: BTreeSet<(usize, usize)> = indirect
            .iter()
            .map(|&(a, dest)| (a.min(groups.group_of[dest]), a.max(groups.group_of[dest])))
            .collect();
        let order = (!pairs.is_empty()).then(|| GroupOrder::new(groups, &pairs));
        if let Some(order) = &order {
            for &(group, dest) in &indirect {
                search.connect_through_third_group(order, group, dest)?;
            }
        }
        Ok(Self {
            routes: search.routes,
            detours: search.detours,
            order,
        })
    }
}

/// Groups and destinations that are connected later.
#[derive(Default)]
struct LinkedGroups {
    /// Not all switches of the group are neighbours of a gateway.
    with_detours: Vec<(usize, usize)>,
    /// No global link leads from the group to the destination, or not all switches reach it.
    indirect: Vec<(usize, usize)>,
}

struct GroupPathSearch<'a> {
    groups: &'a GroupGraph<'a>,
    detours: LocalDetours,
    loads: SlotLoads,
    routes: SlotRoutes,
    /// By switch, then index of the destination in the group: end ports of other groups whose
    /// packets enter the group there.
    entering: Vec<Vec<u64>>,
}

impl GroupPathSearch<'_> {
    /// Sets the routes from each group to the destinations that a global link of the group leads
    /// to, if they need no local detours. Returns the others.
    fn connect_linked_groups(&mut self) -> Result<LinkedGroups, ShapeError> {
        let groups = self.groups;
        let mut others = LinkedGroups::default();
        for to in 0..groups.len() {
            for &dest in &groups.members[to] {
                for from in (0..groups.len()).filter(|&from| from != to) {
                    let gateways = self.gateways(from, dest);
                    if !self.is_reachable(from, &gateways) {
                        others.indirect.push((from, dest));
                    } else if self.need_detours(from, &gateways) {
                        others.with_detours.push((from, dest));
                    } else {
                        self.connect_group(from, dest, &gateways)?;
                    }
                }
            }
        }
        Ok(others)
    }

    /// The best global channel of each switch of a group that has one to the group of the
    /// destination.
    fn gateways(&self, from: usize, dest: usize) -> Vec<GlobalChannel> {
        let groups = self.groups;
        let to = groups.group_of[dest];
        let mut best: Vec<(GlobalChannel, (u8, u64))> = Vec::new();
        for &channel in groups.global_channels(from, to) {
            let Some(hops) = self.hops_after(channel.to, dest) else {
                continue;
            };
            let load = self
                .loads
                .per_link(groups.channel(channel.from, channel.slot));
            match best.last_mut() {
                Some((last, key)) if last.from == channel.from => {
                    if (hops, load) < *key {
                        (*last, *key) = (channel, (hops, load));
                    }
                }
                Some(_) | None => best.push((channel, (hops, load))),
            }
        }
        best.into_iter().map(|(channel, _)| channel).collect()
    }

    /// Local hops from the switch where a packet enters the group of its destination; 0 if it
    /// enters a third group.
    fn hops_after(&self, entry: usize, dest: usize) -> Option<u8> {
        if entry == dest || self.groups.group_of[entry] != self.groups.group_of[dest] {
            Some(0)
        } else if self.groups.local_slot(entry, dest).is_some() {
            Some(1)
        } else {
            (!self.detours.after(entry, dest).is_empty()).then_some(2)
        }
    }

    /// Whether a switch of the group has no link to any of the gateways.
    fn need_detours(&self, group: usize, gateways: &[GlobalChannel]) -> bool {
        let groups = self.groups;
        !self.detours.is_empty()
            && groups.members[group].iter().any(|&v| {
                let is_near = |gateway: &GlobalChannel| {
                    gateway.from == v || groups.local_slot(v, gateway.from).is_some()
                };
                !gateways.iter().any(is_near)
            })
    }

    /// Sets the routes from all switches of a group to a destination in another group, through
    /// these channels.
    fn connect_group(
        &mut self,
        group: usize,
        dest: usize,
        gateways: &[GlobalChannel],
    ) -> Result<(), ShapeError> {
        let groups = self.groups;
        let mut remote = Vec::new();
        for &v in &groups.members[group] {
            if let Some(own) = gateways.iter().find(|gateway| gateway.from == v) {
                self.routes.set(v, dest, own.slot);
                self.enter(v, dest, own);
                continue;
            }
            let near = gateways.iter().filter_map(|gateway| {
                let slot = groups.local_slot(v, gateway.from)?;
                Some((gateway, slot))
            });
            let best = near.min_by_key(|&(gateway, slot)| {
                let local = self.loads.per_link(groups.channel(v, slot));
                let global = self
                    .loads
                    .per_link(groups.channel(gateway.from, gateway.slot));
                (self.hops_after(gateway.to, dest), local.max(global))
            });
            match best {
                Some((gateway, slot)) => {
                    self.routes.set(v, dest, slot);
                    self.loads.add(
                        groups.channel(v, slot),
                        groups.hosts(v) * groups.hosts(dest),
                    );
                    self.enter(v, dest, gateway);
                }
                None => remote.push(v),
            }
        }
        for v in remote {
            let gateway = self
                .detour_to_gateway(v, dest, gateways)
                .ok_or_else(|| no_detour(v, dest))?;
            self.enter(v, dest, &gateway);
        }
        Ok(())
    }

    /// Counts the routes from a switch over the global channel and the path onward, or remembers
    /// where they enter the group of the destination if its members are not connected yet.
    fn enter(&mut self, from: usize, dest: usize, gateway: &GlobalChannel) {
        let groups = self.groups;
        let hosts = groups.hosts(from);
        let routes = hosts * groups.hosts(dest);
        self.loads
            .add(groups.channel(gateway.from, gateway.slot), routes);
        let mut at = gateway.to;
        while let Some(slot) = self.routes.get(at, dest) {
            self.loads.add(groups.channel(at, slot), routes);
            at = groups.graph.slots(at)[slot].peer;
        }
        if at != dest {
            self.entering[at][groups.index_of(dest)] += hosts;
        }
    }

    /// Sets the route from a switch that is not a neighbour of any gateway.
    fn detour_to_gateway(
        &mut self,
        v: usize,
        dest: usize,
        gateways: &[GlobalChannel],
    ) -> Option<GlobalChannel> {
        let groups = self.groups;
        let (gateway, first, second) = gateways
            .iter()
            .flat_map(|gateway| {
                let through = self.detours.before(v, gateway.from);
                through.iter().map(move |&x| (gateway, x))
            })
            .filter_map(|(gateway, x)| {
                // The switch between must send to this gateway, not to another one.
                let second = groups.local_slot(x, gateway.from)?;
                let first = groups.local_slot(v, x)?;
                (self.routes.get(x, dest) == Some(second)).then_some((
                    gateway,
                    first,
                    groups.channel(x, second),
                ))
            })
            .min_by_key(|&(_, first, second)| {
                let first_load = self.loads.per_link(groups.channel(v, first));
                first_load.max(self.loads.per_link(second))
            })?;
        let routes = groups.hosts(v) * groups.hosts(dest);
        self.loads.add(groups.channel(v, first), routes);
        self.loads.add(second, routes);
        self.routes.set(v, dest, first);
        Some(*gateway)
    }

    /// Sets the routes within each group.
    fn connect_members(&mut self) -> Result<(), ShapeError> {
        let groups = self.groups;
        let pairs = || {
            groups.members.iter().flat_map(|members| {
                let of = move |&dest: &usize| members.iter().map(move |&v| (v, dest));
                members.iter().flat_map(of).filter(|(v, dest)| v != dest)
            })
        };
        let routes_between = |search: &Self, v: usize, dest: usize| {
            let entering = search.entering[v][groups.index_of(dest)];
            (groups.hosts(v) + entering) * groups.hosts(dest)
        };
        for (v, dest) in pairs() {
            if let Some(slot) = groups.local_slot(v, dest) {
                self.routes.set(v, dest, slot);
                let routes = routes_between(self, v, dest);
                self.loads.add(groups.channel(v, slot), routes);
            }
        }
        if self.detours.is_empty() {
            return Ok(());
        }
        let mut missing: Vec<(usize, usize)> = pairs()
            .filter(|&(v, dest)| groups.local_slot(v, dest).is_none())
            .collect();
        missing.sort_by_key(|&(v, dest)| Reverse(routes_between(self, v, dest)));
        for (v, dest) in missing {
            let after = self.detours.after(v, dest);
            // Without `after`, no packet enters the group here for this destination.
            let possible = if after.is_empty() {
                self.detours.before(v, dest)
            } else {
                after
            };
            let through = possible.iter().filter_map(|&x| {
                let first = groups.local_slot(v, x)?;
                Some((first, groups.local_channel(x, dest)?))
            });
            let (first, second) = through
                .min_by_key(|&(first, second)| {
                    let first_load = self.loads.per_link(groups.channel(v, first));
                    first_load.max(self.loads.per_link(second))
                })
                .ok_or_else(|| no_detour(v, dest))?;
            let routes = routes_between(self, v, dest);
            self.loads.add(groups.channel(v, first), routes);
            self.loads.add(second, routes);
            self.routes.set(v, dest, first);
        }
        Ok(())
    }

    /// Sets the routes from all switches of a group to a destination through groups above both
    /// groups: over the least loaded global channel, or several if not all switches reach one.
    fn connect_through_third_group(
        &mut self,
        order: &GroupOrder,
        group: usize,
        dest: usize,
    ) -> Result<(), ShapeError> {
        let groups = self.groups;
        let mut candidates: Vec<(bool, u64, GlobalChannel)> = Vec::new();
        for third in order.common(groups, group, groups.group_of[dest]) {
            for channel in groups.global_channels(group, third) {
                let Some(onward) = self.onward_channels(channel.to, dest) else {
                    continue;
                };
                let first = groups.channel(channel.from, channel.slot);
                let crossed = onward.into_iter().chain([first]);
                let load = crossed.map(|c| self.loads.per_link(c)).max().unwrap_or(0);
                let serves_all = self.is_reachable(group, std::slice::from_ref(channel));
                candidates.push((!serves_all, load, *channel));
            }
        }
        candidates.sort_by_key(|&(is_partial, load, _)| (is_partial, load));
        let mut gateways: Vec<GlobalChannel> = Vec::new();
        for (_, _, channel) in candidates {
            if gateways.iter().all(|gateway| gateway.from != channel.from) {
                gateways.push(channel);
            }
            if self.is_reachable(group, &gateways) {
                return self.connect_group(group, dest, &gateways);
            }
        }
        Err(no_detour(groups.members[group][0], dest))
    }

    /// The channels of the path from the switch where a packet enters the third group to the group
    /// of its destination. `None` if there is no direct path without a detour there: packets would
    /// return to the VL of the first local hop.
    fn onward_channels(&self, entry: usize, dest: usize) -> Option<Vec<usize>> {
        let groups = self.groups;
        let target = groups.group_of[dest];
        let mut channels = Vec::new();
        let mut at = entry;
        for _ in 0..2 {
            let slot = self.routes.get(at, dest)?;
            channels.push(groups.channel(at, slot));
            at = groups.graph.slots(at)[slot].peer;
            if groups.group_of[at] == target {
                return Some(channels);
            }
            if groups.group_of[at] != groups.group_of[entry] {
                return None;
            }
        }
        None
    }

    /// Whether each switch of a group reaches one of the gateways.
    fn is_reachable(&self, group: usize, gateways: &[GlobalChannel]) -> bool {
        self.groups.members[group].iter().all(|&v| {
            gateways.iter().any(|gateway| {
                v == gateway.from
                    || self.groups.local_slot(v, gateway.from).is_some()
                    || !self.detours.before(v, gateway.from).is_empty()
            })
        })
    }
}

fn no_detour(from: usize, to: usize) -> ShapeError {
    ShapeError::NoDetour {
        from: SwitchIdx::from_index(from),
        to: SwitchIdx::from_index(to),
    }
}
