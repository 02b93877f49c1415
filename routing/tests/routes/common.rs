//! Fabrics for the tests and benchmarks of this crate, described independently of the topology that
//! engines use.
//!
//! Generators take the next free port of a switch, so the description can be compared with the
//! topology.

#![allow(clippy::cast_possible_truncation, reason = "small numbers")]

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::{Lft, SwitchIdx, Topology, TopologyBuilder};

/// A link between two switches: (switch, port) twice.
pub(crate) type FabricLink = ((usize, u8), (usize, u8));

/// A fabric: ports per switch, links, and end ports as (switch, port, number of LIDs).
#[derive(Debug, Clone, Default)]
pub(crate) struct Fabric {
    pub(crate) ports: Vec<u8>,
    pub(crate) links: Vec<FabricLink>,
    pub(crate) hosts: Vec<(usize, u8, u16)>,
    used: Vec<u8>,
}

impl Fabric {
    pub(crate) fn switches(n: usize, ports: u8) -> Self {
        Self {
            ports: vec![ports; n],
            used: vec![0; n],
            ..Self::default()
        }
    }

    fn next_port(&mut self, s: usize) -> u8 {
        self.used[s] += 1;
        assert!(self.used[s] <= self.ports[s], "switch {s} has no port left");
        self.used[s]
    }

    pub(crate) fn free(&self, s: usize) -> u8 {
        self.ports[s] - self.used[s]
    }

    pub(crate) fn link(&mut self, a: usize, b: usize) {
        let (pa, pb) = (self.next_port(a), self.next_port(b));
        self.links.push(((a, pa), (b, pb)));
    }

    pub(crate) fn host(&mut self, s: usize, lids: u16) {
        let p = self.next_port(s);
        self.hosts.push((s, p, lids));
    }

    pub(crate) fn hosts_on(&mut self, switches: impl IntoIterator<Item = usize>, each: usize) {
        for s in switches {
            (0..each).for_each(|_| self.host(s, 1));
        }
    }

    /// Adds an aggregation node to every switch.
    pub(crate) fn with_sharp(mut self) -> Self {
        for s in 0..self.ports.len() {
            self.ports[s] += 1;
            self.host(s, 1);
        }
        self
    }

    pub(crate) fn without_link(&self, link: usize) -> Self {
        let mut reduced = self.clone();
        reduced.links.remove(link);
        reduced
    }

    /// Switch LIDs first, then end ports, each range aligned to its size.
    pub(crate) fn build(&self) -> Topology {
        let mut b = TopologyBuilder::new();
        let mut lid = 1u16;
        for &ports in &self.ports {
            b.switch(ports, Lid(lid));
            lid += 1;
        }
        for &(x, y) in &self.links {
            b.link(at(x), at(y));
        }
        for &(s, p, count) in &self.hosts {
            lid = lid.next_multiple_of(count);
            b.end_port(at((s, p)), Lid(lid), count);
            lid += count;
        }
        b.build()
    }

    /// The same LIDs and links in another order of discovery: switch `s` becomes number
    /// `(s + shift) % n`; links are added last first, from their other ends.
    pub(crate) fn build_renumbered(&self, shift: usize) -> Topology {
        let topo = self.build();
        let n = self.ports.len();
        let renumbered = |s: usize| SwitchIdx(((s + shift) % n) as u32);
        let mut b = TopologyBuilder::new();
        for number in 0..n {
            let s = (number + n - shift % n) % n;
            b.switch(self.ports[s], topo.lid(SwitchIdx(s as u32)));
        }
        for &((s, p), (t, q)) in self.links.iter().rev() {
            b.link((renumbered(t), PortNum(q)), (renumbered(s), PortNum(p)));
        }
        for s in topo.switches() {
            for e in topo.end_ports(s) {
                b.end_port((renumbered(s.index()), e.port), e.lid, e.count);
            }
        }
        b.build()
    }

    pub(crate) fn connected(&self) -> bool {
        let mut sets = petgraph::unionfind::UnionFind::<usize>::new(self.ports.len());
        for &((a, _), (b, _)) in &self.links {
            sets.union(a, b);
        }
        (1..self.ports.len()).all(|s| sets.equiv(0, s))
    }
}

fn at((s, p): (usize, u8)) -> (SwitchIdx, PortNum) {
    (SwitchIdx(s as u32), PortNum(p))
}

/// `leaves` leaf switches, then `spines`, with `parallel` links between each pair.
pub(crate) fn two_level(leaves: usize, spines: usize, hosts: usize, parallel: usize) -> Fabric {
    let ports = (hosts + spines * parallel).max(leaves * parallel) as u8;
    let mut f = Fabric::switches(leaves + spines, ports);
    f.hosts_on(0..leaves, hosts);
    for leaf in 0..leaves {
        for spine in 0..spines {
            (0..parallel).for_each(|_| f.link(leaf, leaves + spine));
        }
    }
    f
}

/// A full tree of switches with `2 * half` ports: leaves (by pod), middle switches (by pod), spines
/// (by column).
pub(crate) fn three_level(half: usize) -> Fabric {
    three_level_of(half, 2 * half, half)
}

/// As `three_level`, with fewer pods or hosts.
pub(crate) fn three_level_of(half: usize, pods: usize, hosts: usize) -> Fabric {
    let edge = pods * half;
    let mut f = Fabric::switches(2 * edge + half * half, (2 * half) as u8);
    f.hosts_on(0..edge, hosts);
    for pod in 0..pods {
        for column in 0..half {
            let middle = edge + pod * half + column;
            (0..half).for_each(|leaf| f.link(pod * half + leaf, middle));
            (0..half).for_each(|spine| f.link(middle, 2 * edge + column * half + spine));
        }
    }
    f
}

pub(crate) fn ring(n: usize, hosts: usize) -> Fabric {
    torus(&[n], hosts)
}

/// A torus; a side of 2 is one link, a side of 1 none.
pub(crate) fn torus(sides: &[usize], hosts: usize) -> Fabric {
    let n = sides.iter().product();
    let mut f = Fabric::switches(n, (2 * sides.len() + hosts) as u8);
    f.hosts_on(0..n, hosts);
    for s in 0..n {
        let mut stride = 1;
        for &side in sides {
            let x = s / stride % side;
            if side > 2 || (side == 2 && x == 0) {
                f.link(s, s - x * stride + (x + 1) % side * stride);
            }
            stride *= side;
        }
    }
    f
}

pub(crate) fn hypercube(dimensions: usize, hosts: usize) -> Fabric {
    torus(&vec![2; dimensions], hosts)
}

/// `groups` groups of `size` switches: full mesh within a group, one link between any two groups.
pub(crate) fn dragonfly(groups: usize, size: usize, hosts: usize) -> Fabric {
    let mut f = Fabric::switches(groups * size, (size + groups + hosts) as u8);
    f.hosts_on(0..groups * size, hosts);
    for g in 0..groups {
        for a in 0..size {
            (a + 1..size).for_each(|b| f.link(g * size + a, g * size + b));
        }
        for h in g + 1..groups {
            f.link(g * size + h % size, h * size + g % size);
        }
    }
    f
}

/// A dragonfly+: groups of leaves with hosts and spines with at most `global` links each to other
/// groups. Any two groups have the same number of links, the largest possible.
pub(crate) fn dragonfly_plus(
    groups: usize,
    leaves: usize,
    spines: usize,
    global: usize,
    hosts: usize,
) -> Fabric {
    let size = leaves + spines;
    let ports = (leaves + global).max(spines + hosts) as u8;
    let mut f = Fabric::switches(groups * size, ports);
    let mut used = vec![0; groups];
    for g in 0..groups {
        let leaf = g * size;
        f.hosts_on(leaf..leaf + leaves, hosts);
        for l in 0..leaves {
            (0..spines).for_each(|s| f.link(leaf + l, leaf + leaves + s));
        }
    }
    for g in 0..groups {
        for h in g + 1..groups {
            for _ in 0..spines * global / (groups - 1) {
                let [a, b] = [g, h].map(|x| x * size + leaves + used[x] % spines);
                f.link(a, b);
                used[g] += 1;
                used[h] += 1;
            }
        }
    }
    f
}

/// A small deterministic random number generator.
pub(crate) struct Lcg(pub u64);

impl Lcg {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// A connected multigraph: a random tree with more random links, loopback plugs, and hosts with LMC
/// 0 to 2 on any switch.
pub(crate) fn random(n: usize, extra: usize, hosts: usize, seed: u64) -> Fabric {
    let mut rng = Lcg(seed);
    let mut f = Fabric::switches(n, 250);
    for s in 1..n {
        let parent = rng.below(s);
        f.link(parent, s);
    }
    for _ in 0..extra {
        let (a, b) = (rng.below(n), rng.below(n));
        if f.free(a) > 2 && f.free(b) > 2 {
            f.link(a, b);
        }
    }
    for _ in 0..hosts {
        let (s, lids) = (rng.below(n), 1 << rng.below(3));
        if f.free(s) > 0 {
            f.host(s, lids);
        }
    }
    f
}

/// Writes one block of a table, with the content of another table.
pub(crate) fn write_block(table: &mut Arc<Lft>, to: &Lft, block: u16) {
    let mut entries = table.entries().to_vec();
    let from = usize::from(block) * 64;
    for (i, &port) in to.block(block).iter().enumerate() {
        if let Some(entry) = entries.get_mut(from + i) {
            *entry = port;
        }
    }
    *table = Arc::new(Lft::from_entries(entries));
}
