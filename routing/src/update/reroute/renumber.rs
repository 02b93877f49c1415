//! The last routing and the new graph with the same switch numbers, if switches were lost or are
//! new.
//!
//! Lost switches are numbered after the others, without links in the new graph. New switches have
//! no links and no LIDs in the old graph. A reroute then handles both like lost and new links.

use std::sync::Arc;

use crate::request::{EarlierRun, RoutingRequest, VerifiedRun};
use crate::reroute_cache::RerouteCache;
use crate::routing::{Routing, TreeConstraint};
use crate::tables::{Lft, Tables};
use crate::topology::{SwitchIdx, Topology, TopologyBuilder};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};
use ferrosm_mad::ids::{Lid, PortNum};

/// A routing and a graph of the same switches.
pub(super) struct Renumbered {
    pub(super) last: Arc<VerifiedRun>,
    pub(super) topo: Topology,
    /// Number of switches of the real graph; `None` if the numbers have not changed.
    switches: Option<usize>,
}

/// The routing that the request starts from. `None` if there is none, or if a switch has another
/// number of ports than before.
pub(super) fn renumber(request: &RoutingRequest<'_>) -> Option<Renumbered> {
    let topo = usable_links(request)?;
    if let Some(last) = &request.previous.last_run {
        return Some(Renumbered {
            last: Arc::clone(last),
            topo,
            switches: None,
        });
    }
    let EarlierRun { run, switches } = request.previous.earlier_run.as_ref()?;
    let numbers = Numbers::new(&run.topo, switches, &topo);
    Some(Renumbered {
        last: Arc::new(numbers.run(run, &topo)?),
        topo: numbers.extended(&topo, &run.topo),
        switches: Some(topo.num_switches()),
    })
}

/// The graph without links that operate too few VLs for the VL plan.
fn usable_links(request: &RoutingRequest<'_>) -> Option<Topology> {
    let vls = request.previous.run()?.routing.vl_plan.vls;
    let topo = request.topo;
    if vls > request.vls {
        return None;
    }
    if vls <= topo.common_vls() {
        return Some(topo.clone());
    }
    Some(copy(topo, |s, port| topo.vls(s, port) >= vls).build())
}

/// The switches, links and end ports of a graph.
fn copy(topo: &Topology, includes: impl Fn(SwitchIdx, PortNum) -> bool) -> TopologyBuilder {
    let mut b = TopologyBuilder::new();
    for s in topo.switches() {
        b.switch(topo.num_ports(s), topo.lid(s));
        b.switch_lids(s, topo.lid_count(s));
    }
    for s in topo.switches() {
        for link in topo.links(s).iter().filter(|l| includes(s, l.port)) {
            b.link((s, link.port), (link.peer, link.peer_port));
        }
        for e in topo.end_ports(s) {
            b.end_port((s, e.port), e.lid, e.count);
        }
    }
    b
}

impl Renumbered {
    /// The rerouted routing with the numbers of the real graph.
    pub(super) fn restore(&self, mut routing: Routing) -> Routing {
        let Some(n) = self.switches else {
            return routing;
        };
        routing.tables.truncate(n);
        let vl_plan = &mut routing.vl_plan;
        match &mut vl_plan.path_sl {
            PathSl::Uniform(_) | PathSl::ByLid(_) => {}
            PathSl::BySwitches(rows) => {
                rows.truncate(n);
                for row in rows {
                    *row = row.iter().copied().take(n).collect();
                }
            }
            PathSl::BySwitchAndLid(rows) => rows.truncate(n),
        }
        if let SlToVl::PerPorts(maps) = &mut vl_plan.sl_to_vl {
            maps.truncate(n);
        }
        if let Some(order) = &mut routing.order {
            order.truncate(n);
        }
        match &mut routing.trees {
            TreeConstraint::Search => {}
            TreeConstraint::Ordered(order) => order.truncate(n),
            TreeConstraint::Within { up, .. } => up.truncate(n),
        }
        routing
    }
}

/// The common numbers of switches: those of the new graph, then lost switches.
struct Numbers {
    /// By common number: the number in the old graph.
    old: Vec<Option<usize>>,
    /// By number in the old graph: the common number.
    of_old: Vec<usize>,
    /// By common number: the switch of the old graph whose SLs the switch uses.
    represented_by: Vec<Option<usize>>,
}

impl Numbers {
    fn new(old_topo: &Topology, switches: &[Option<SwitchIdx>], topo: &Topology) -> Self {
        let n = topo.num_switches();
        let mut old: Vec<Option<usize>> = (0..n)
            .map(|s| switches.get(s).copied().flatten().map(SwitchIdx::index))
            .collect();
        let mut of_old = vec![usize::MAX; old_topo.num_switches()];
        for (number, old) in old.iter().enumerate() {
            if let Some(number_of) = old.and_then(|old| of_old.get_mut(old)) {
                *number_of = number;
            }
        }
        for (lost, number) in of_old.iter_mut().enumerate() {
            if *number == usize::MAX {
                *number = old.len();
                old.push(Some(lost));
            }
        }
        // New switches use the SLs of the nearest old one.
        let mut represented_by = old.clone();
        let mut queue: Vec<usize> = (0..n).filter(|s| old[*s].is_some()).collect();
        let mut at = 0;
        while let Some(&s) = queue.get(at) {
            at += 1;
            for link in topo.links(SwitchIdx::from_index(s)) {
                let peer = link.peer.index();
                if represented_by[peer].is_none() {
                    represented_by[peer] = represented_by[s];
                    queue.push(peer);
                }
            }
        }
        Self {
            old,
            of_old,
            represented_by,
        }
    }

    /// The new graph with the lost switches.
    fn extended(&self, topo: &Topology, old_topo: &Topology) -> Topology {
        if self.old.len() == topo.num_switches() {
            return topo.clone();
        }
        let mut b = copy(topo, |_, _| true);
        for old in self.old.iter().skip(topo.num_switches()).flatten() {
            let num_ports = old_topo.num_ports(SwitchIdx::from_index(*old));
            b.switch(num_ports, Lid::NONE);
        }
        b.build()
    }

    /// The old routing with the common numbers. `None` if a switch has another number of ports than
    /// before.
    fn run(&self, run: &VerifiedRun, topo: &Topology) -> Option<VerifiedRun> {
        let old_topo = &run.topo;
        let mut b = TopologyBuilder::new();
        for (number, old) in self.old.iter().enumerate() {
            let new_ports = (number < topo.num_switches())
                .then(|| topo.num_ports(SwitchIdx::from_index(number)));
            let Some(old) = old.map(SwitchIdx::from_index) else {
                b.switch(new_ports?, Lid::NONE);
                continue;
            };
            if new_ports.is_some_and(|ports| ports != old_topo.num_ports(old)) {
                return None;
            }
            let s = b.switch(old_topo.num_ports(old), old_topo.lid(old));
            b.switch_lids(s, old_topo.lid_count(old));
        }
        let number = |s: SwitchIdx| SwitchIdx::from_index(self.of_old[s.index()]);
        for s in old_topo.switches() {
            for link in old_topo.links(s) {
                b.link((number(s), link.port), (number(link.peer), link.peer_port));
            }
            for e in old_topo.end_ports(s) {
                b.end_port((number(s), e.port), e.lid, e.count);
            }
        }
        let routing = &run.routing;
        let table = |old: &Option<usize>| match old {
            Some(old) => routing.tables.get(*old).cloned(),
            None => Some(Arc::new(Lft::from_entries(Vec::new()))),
        };
        let tables: Option<Tables> = self.old.iter().map(table).collect();
        let has_new_switches = self.old.iter().any(Option::is_none);
        let positions = |order: &Vec<u32>| -> Option<Vec<u32>> {
            let mut next = order.iter().max().map_or(0, |last| last + 1);
            let position = |old: &Option<usize>| match old {
                Some(old) => order.get(*old).copied(),
                None => {
                    next += 1;
                    Some(next - 1)
                }
            };
            self.old.iter().map(position).collect()
        };
        let order = match &routing.order {
            Some(order) => Some(positions(order)?),
            None => None,
        };
        let trees = match &routing.trees {
            TreeConstraint::Ordered(order) => TreeConstraint::Ordered(positions(order)?),
            TreeConstraint::Within { up, sl } if !has_new_switches => TreeConstraint::Within {
                up: self
                    .old
                    .iter()
                    .map(|old| up.get((*old)?).copied().flatten())
                    .collect(),
                sl: *sl,
            },
            TreeConstraint::Within { .. } | TreeConstraint::Search => TreeConstraint::Search,
        };
        Some(VerifiedRun {
            topo: Arc::new(b.build()),
            routing: Routing {
                engine: routing.engine,
                tables: tables?,
                vl_plan: self.vl_plan(&routing.vl_plan, topo)?,
                order,
                trees,
                // They name switches by number.
                diagnostics: Vec::new(),
            },
            baseline_max_load: run.baseline_max_load,
            cache: RerouteCache::new(),
        })
    }

    fn vl_plan(&self, vl_plan: &VlPlan, topo: &Topology) -> Option<VlPlan> {
        let represented_by = || self.represented_by.iter().copied();
        let path_sl = match &vl_plan.path_sl {
            PathSl::Uniform(sl) => PathSl::Uniform(*sl),
            PathSl::ByLid(sls) => PathSl::ByLid(Arc::clone(sls)),
            PathSl::BySwitches(rows) => {
                let row = |from: Option<usize>| -> Option<Arc<[u8]>> {
                    let row = rows.get(from?)?;
                    represented_by().map(|to| row.get(to?).copied()).collect()
                };
                PathSl::BySwitches(represented_by().map(row).collect::<Option<_>>()?)
            }
            PathSl::BySwitchAndLid(rows) => {
                let row = |from: Option<usize>| rows.get(from?).cloned();
                PathSl::BySwitchAndLid(represented_by().map(row).collect::<Option<_>>()?)
            }
        };
        let sl_to_vl = match &vl_plan.sl_to_vl {
            SlToVl::Modulo => SlToVl::Modulo,
            SlToVl::PerPorts(maps) => {
                let vls = vl_plan.vls.max(1);
                let map_of = |(number, old): (usize, &Option<usize>)| match old {
                    Some(old) => maps.get(*old).cloned(),
                    None => {
                        let ports = topo.num_ports(SwitchIdx::from_index(number));
                        let mut map = [0; SLS];
                        for (sl, vl) in (0u8..).zip(map.iter_mut()) {
                            *vl = sl % vls;
                        }
                        Some(SlToVlMaps::uniform(ports, map))
                    }
                };
                let maps = self.old.iter().enumerate().map(map_of);
                SlToVl::PerPorts(maps.collect::<Option<_>>()?)
            }
        };
        Some(VlPlan {
            vls: vl_plan.vls,
            path_sl,
            sl_to_vl,
        })
    }
}
