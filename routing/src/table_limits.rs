//! Switches with less than others: an LFT that is too small for all LIDs in use, or links with few
//! VLs. They do not limit routes elsewhere.
//!
//! Engines, verification and reroute ignore the size of tables: they compute an entry for each LID.
//! Entries above the end of a table are not written ([`Lft::truncated`]), and the switch drops
//! these packets. Dropping packets adds no loop and no channel dependency. The functions here keep
//! the routes of *other* switches out of such a switch, as far as the graph allows it:
//! [`transit_lids`] finds the LIDs that lead through it, and [`without_transit`] removes links so
//! that none do.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::messages::Describe;
use crate::tables::{Lft, Tables};
use crate::topology::{Destination, SwitchIdx, SwitchLink, Topology};

/// A switch whose LFT ends below the highest LID in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitedSwitch {
    pub switch: SwitchIdx,
    /// Entries of its LFT: LID 0 to `entries - 1`.
    pub entries: u16,
}

impl LimitedSwitch {
    /// LIDs in use that its table cannot hold.
    fn lids<'t>(&self, topo: &'t Topology) -> &'t [Destination] {
        let all = topo.destinations();
        &all[all.partition_point(|d| d.lid.raw() < self.entries)..]
    }
}

/// Switches with few VLs may be this share of all, or one switch: otherwise the fabric has few VLs.
const NARROW_SHARE: usize = 16;

/// A switch whose links to other switches operate fewer VLs than all other links. It is routed as a
/// leaf, so that routes elsewhere use more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NarrowSwitch {
    pub switch: SwitchIdx,
    /// Data VLs of its links.
    pub vls: u8,
    /// Data VLs of all other links.
    pub others: u8,
}

impl Describe for NarrowSwitch {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        format!(
            "{} has links with {} data VLs and is routed as a leaf with one neighbour, so that other routes can use {}",
            label(self.switch),
            self.vls,
            self.others
        )
    }
}

/// The graph in which few switches do not limit the VLs of all: those whose links all have the
/// fewest VLs become leaves with one neighbour, and several VLs of a route share one on their
/// links. `None` if these are too many, if one of them alone connects parts of the fabric, or if
/// others have as few VLs.
#[must_use]
pub fn widened(topo: &Topology) -> Option<(Topology, Vec<NarrowSwitch>)> {
    let vls = topo.common_vls();
    let is_narrow = |s: &SwitchIdx| {
        let links = topo.links(*s);
        !links.is_empty() && links.iter().all(|l| topo.vls(*s, l.port) == vls)
    };
    let narrow: Vec<SwitchIdx> = topo.switches().filter(is_narrow).collect();
    if narrow.is_empty() || narrow.len() > (topo.num_switches() / NARROW_SHARE).max(1) {
        return None;
    }
    let pruned = without_transit(topo, &narrow);
    let is_leaf = |s: &SwitchIdx| {
        let links = pruned.links(*s);
        links.windows(2).all(|pair| pair[0].peer == pair[1].peer)
    };
    if !narrow.iter().all(is_leaf) {
        return None;
    }
    let wide = pruned.with_narrow_leaves(&narrow);
    let others = wide.common_vls();
    let switches = narrow.into_iter().map(|switch| NarrowSwitch {
        switch,
        vls,
        others,
    });
    (others > vls).then(|| (wide, switches.collect()))
}

/// LIDs that a limited switch drops although routes of other switches lead through it, because
/// there is no other way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DroppedTransit {
    pub limited: LimitedSwitch,
    /// Number of these LIDs.
    pub lids: usize,
    /// The first of them.
    pub first: Lid,
}

impl Describe for DroppedTransit {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        let lids = self.lids;
        let first = self.first;
        let LimitedSwitch { switch, entries } = self.limited;
        format!(
            "{lids} LIDs, e.g. {first}, are unreachable from a part of the fabric: only {} leads there, and its LFT has {entries} entries",
            label(switch)
        )
    }
}

/// LIDs of other switches that some neighbour routes through the switch although its table cannot
/// hold them, ascending. Routes to the LID of a switch count only if end ports use them.
#[must_use]
pub fn transit_lids(topo: &Topology, tables: &Tables, limited: LimitedSwitch) -> Vec<Lid> {
    let s = limited.switch;
    let links = topo.links(s);
    let port = |at: SwitchIdx, lid: Lid| tables.get(at.index()).map(|lft| lft.get(lid));
    let sources: Vec<SwitchIdx> = topo
        .switches()
        .filter(|&from| from != s && !topo.end_ports(from).is_empty())
        .collect();
    let crosses = |from: SwitchIdx, lid: Lid| {
        let next = |at: &SwitchIdx| Some(topo.neighbor(*at, port(*at, lid)?)?.0);
        let path = std::iter::successors(Some(from), next);
        path.take(topo.num_switches()).any(|at| at == s)
    };
    let is_routed_through = |d: &&Destination| {
        let is_entered = |l: &SwitchLink| port(l.peer, d.lid) == Some(l.peer_port);
        d.switch != s
            && links.iter().any(is_entered)
            && (d.port != PortNum::ZERO || sources.iter().any(|&from| crosses(from, d.lid)))
    };
    let transit = limited.lids(topo).iter().filter(is_routed_through);
    transit.map(|d| d.lid).collect()
}

/// The graph in which each of these switches has links to only one neighbour in each part of the
/// fabric that it connects: it forwards packets between others only where there is no other way.
/// The neighbour with the most links is retained, then the one with the lowest LID.
#[must_use]
pub fn without_transit(topo: &Topology, switches: &[SwitchIdx]) -> Topology {
    let mut pruned = topo.clone();
    for &s in switches {
        let part = parts_without(&pruned, s);
        let mut neighbours: BTreeMap<SwitchIdx, usize> = BTreeMap::new();
        for link in pruned.links(s) {
            *neighbours.entry(link.peer).or_default() += 1;
        }
        let mut retained: BTreeMap<usize, (Reverse<usize>, Lid, SwitchIdx)> = BTreeMap::new();
        for (peer, links) in neighbours {
            let key = (Reverse(links), pruned.lid(peer), peer);
            let best = retained.entry(part[peer.index()]).or_insert(key);
            *best = key.min(*best);
        }
        let is_retained = |peer: SwitchIdx| retained.values().any(|(.., r)| *r == peer);
        pruned = pruned.with_links(|at, link| {
            (at != s || is_retained(link.peer)) && (link.peer != s || is_retained(at))
        });
    }
    pruned
}

/// The graph without the links of these switches.
#[must_use]
pub fn without_links_of(topo: &Topology, switches: &[SwitchIdx]) -> Topology {
    topo.with_links(|at, link| !switches.contains(&at) && !switches.contains(&link.peer))
}

/// The connected part of each switch in the graph without `removed`.
fn parts_without(topo: &Topology, removed: SwitchIdx) -> Vec<usize> {
    let mut part = vec![usize::MAX; topo.num_switches()];
    for start in topo.switches().filter(|&s| s != removed) {
        if part[start.index()] != usize::MAX {
            continue;
        }
        part[start.index()] = start.index();
        let mut queue = vec![start];
        while let Some(s) = queue.pop() {
            for peer in topo.links(s).iter().map(|l| l.peer) {
                if peer != removed && part[peer.index()] == usize::MAX {
                    part[peer.index()] = start.index();
                    queue.push(peer);
                }
            }
        }
    }
    part
}

/// The tables as far as switches can hold them. Unlimited tables are shared.
#[must_use]
pub fn truncated_tables(tables: &Tables, limited: &[LimitedSwitch]) -> Tables {
    let mut truncated = tables.clone();
    for limit in limited {
        if let Some(lft) = truncated.get_mut(limit.switch.index()) {
            *lft = Arc::new(lft.truncated(limit.entries));
        }
    }
    truncated
}

/// Adds the entries that a limited switch cannot hold to a table that was read back, so that it can
/// be verified: own LIDs are delivered, others leave by any link to another switch.
#[must_use]
pub fn completed_table(topo: &Topology, lft: &Lft, limited: LimitedSwitch) -> Lft {
    let top = usize::from(topo.top_lid().raw());
    let mut entries = lft.truncated(limited.entries).entries().to_vec();
    entries.resize(top + 1, PortNum::DROP.raw());
    let links = topo.links(limited.switch);
    for d in limited.lids(topo) {
        let lid = usize::from(d.lid.raw());
        let port = if d.switch == limited.switch {
            Some(d.port)
        } else {
            links.get(lid % links.len().max(1)).map(|l| l.port)
        };
        entries[lid] = port.unwrap_or(PortNum::DROP).raw();
    }
    Lft::from_entries(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyBuilder;

    /// Switches in a ring, with one link between neighbours, switch `i` with LID `i + 1` and a host
    /// with LID `10 + i`.
    fn ring(n: usize) -> Topology {
        let mut builder = TopologyBuilder::new();
        let lid = |i: usize| Lid(u16::try_from(i).unwrap());
        let switches: Vec<SwitchIdx> = (0..n).map(|i| builder.switch(4, lid(i + 1))).collect();
        for (i, &s) in switches.iter().enumerate() {
            builder.link((s, PortNum(2)), (switches[(i + 1) % n], PortNum(1)));
            builder.end_port((s, PortNum(3)), lid(10 + i), 1);
        }
        builder.build()
    }

    /// A switch of a ring becomes the end of a line; in a line it stays, because it alone connects
    /// the two parts.
    #[test]
    fn transit_is_removed_where_there_is_another_way() {
        let ring = ring(5);
        let s = SwitchIdx::from_index(2);
        let line = without_transit(&ring, &[s]);
        assert_eq!(line.num_channels(), ring.num_channels() - 2);
        let peers: Vec<SwitchIdx> = line.links(s).iter().map(|l| l.peer).collect();
        assert_eq!(peers, [SwitchIdx::from_index(1)], "the lower LID");
        assert_eq!(line.destinations(), ring.destinations());
        let middle = SwitchIdx::from_index(0);
        assert_eq!(without_transit(&line, &[middle]), line);
    }

    /// Switch 1 of a ring of three forwards LID 12 for switch 0, and LID 2 is its own.
    #[test]
    fn lids_that_neighbours_route_through_a_switch_are_found() {
        let topo = ring(3);
        let to_next = |host: u16, own: u16| {
            let mut lft = Lft::drop_all(topo.top_lid());
            lft.set(Lid(host), PortNum(2));
            lft.set(Lid(own), PortNum(2));
            Arc::new(lft)
        };
        let tables = vec![to_next(12, 11), to_next(12, 12), to_next(10, 10)];
        let limited = |entries| LimitedSwitch {
            switch: SwitchIdx::from_index(1),
            entries,
        };
        assert_eq!(transit_lids(&topo, &tables, limited(8)), [Lid(12)]);
        assert_eq!(transit_lids(&topo, &tables, limited(13)), []);
        let short = truncated_tables(&tables, &[limited(8)]);
        assert_eq!(short[1].entries().len(), 8);
        assert!(Arc::ptr_eq(&short[0], &tables[0]));
        let full = completed_table(&topo, &short[1], limited(8));
        assert_eq!(full.get(Lid(11)), PortNum(3), "its host");
        assert!([PortNum(1), PortNum(2)].contains(&full.get(Lid(12))));
    }
}
