//! Weighted path selection: each LID in turn gets the lightest tree of shortest paths and adds its
//! routes to the weight of the channels that it uses (Hoefler, Schneider, Lumsdaine: Optimized
//! Routing for Large-Scale InfiniBand Networks, HOTI 2009).
//!
//! Only paths with the fewest hops are considered, so Dijkstra's queue becomes a sweep over the
//! switches by distance. The links that lead nearer to a switch are computed once for all LIDs on
//! it, in parallel to weighing the LIDs of the previous switches. Weighing itself is sequential,
//! one LID after the other.

use rayon::prelude::*;

use super::lid_trees::LidTrees;
use super::switch_orders::{SuffixOrders, SwitchOrders};
use crate::channels::DependencySet;
use crate::paths::next_hops::cell::HopCell;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::request::{PreviousRouting, RoutingRequest};
use crate::topology::graph::Graph;
use crate::topology::{Destination, Topology, index_to_u32};
use crate::work::BudgetExceeded;
use ferrosm_mad::ids::{Lid, PortNum};

/// Number of switches whose shortest-path graphs are computed at a time.
const BATCH: usize = 32;

/// How far the trees of the LIDs on one switch may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Granularity {
    /// Each LID has its own tree: best balance.
    PerLid,
    /// All LIDs on a switch use the same switches and differ in parallel links only: fewest channel
    /// dependencies.
    PerSwitch,
}

/// Preference among shortest paths.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PathPreference<'a> {
    /// The lowest load.
    LeastLoad,
    /// The fewest channel dependencies that no earlier path has; then the lowest load.
    FewestDependencies,
    /// The first port: paths coincide where cabling is regular.
    FirstPort,
    /// The first of these orders that the path can follow; then the lowest load.
    Orders(&'a SwitchOrders),
}

/// Computes the trees of all LIDs. Installed next hops stay in use if they are still on a shortest
/// path, unless a link was added. The flag is `true` if no installed next hop was considered.
pub(crate) fn weigh_lids<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    matrix: &HopMatrix<C>,
    granularity: Granularity,
    preference: PathPreference<'_>,
) -> Result<(LidTrees, bool), BudgetExceeded> {
    let topo = request.topo;
    let links = LinkTable::new(request, graph);
    let search = || WeightedSearch::new(topo, graph, matrix, &links, granularity, preference);
    let weigh_anew = || search().weigh_all(request, None);
    let previous = request.previous;
    if previous.lfts.iter().all(Option::is_none) {
        return Ok((weigh_anew()?, true));
    }
    // If all entries stayed, a restored link would stay idle.
    let idle = links.idle_links(topo, previous);
    if !idle.is_empty() {
        let trees = weigh_anew()?;
        if links.any_used(&trees, &idle) {
            return Ok((trees, true));
        }
    }
    Ok((search().weigh_all(request, Some(previous))?, false))
}

/// Links by switch, in the order of preference.
struct LinkTable {
    first: Vec<usize>,
    peer: Vec<u32>,
    port: Vec<u8>,
    /// Channel of each link.
    channel: Vec<u32>,
    /// Weight of a route over the link: 0 or 1.
    counts: Vec<u64>,
    /// Link by switch and port.
    link_of_port: Vec<u32>,
}

impl LinkTable {
    const NONE: u32 = u32::MAX;

    fn new(request: &RoutingRequest<'_>, graph: &Graph) -> Self {
        let topo = request.topo;
        let hints = request.hints;
        let mut links = Self {
            first: vec![0],
            peer: Vec::new(),
            port: Vec::new(),
            channel: Vec::new(),
            counts: Vec::new(),
            link_of_port: vec![Self::NONE; topo.num_switches() * 256],
        };
        for s in topo.switches() {
            let requested = hints.port_order.iter().find(|(at, _)| *at == s);
            let mut ordered = topo.links(s).to_vec();
            if let Some((_, order)) = requested {
                ordered.sort_by_key(|l| {
                    order
                        .iter()
                        .position(|p| *p == l.port)
                        .unwrap_or(order.len())
                });
            }
            for link in ordered {
                links.link_of_port[s.index() * 256 + link.port.index()] =
                    index_to_u32(links.peer.len());
                links.peer.push(link.peer.0);
                links.port.push(link.port.raw());
                links
                    .channel
                    .push(graph.output_channel(s.index(), link.port.raw()));
                let ignored = hints.load_balance_ignored.contains(&(s, link.port));
                links.counts.push(u64::from(!ignored));
            }
            links.first.push(links.peer.len());
        }
        links
    }

    /// The link at a port.
    fn link_at(&self, v: usize, port: PortNum) -> Option<usize> {
        let link = self.link_of_port[v * 256 + port.index()];
        (link != Self::NONE).then_some(link as usize)
    }

    /// Ports (switch, port) of links between known switches that no installed table uses in either
    /// direction.
    fn idle_links(&self, topo: &Topology, previous: &PreviousRouting) -> Vec<(usize, u8)> {
        let used: Vec<Option<[bool; 256]>> = (0..topo.num_switches())
            .into_par_iter()
            .map(|v| {
                previous.table_of(v).map(|lft| {
                    let mut used = [false; 256];
                    for &port in lft.entries() {
                        used[usize::from(port)] = true;
                    }
                    used
                })
            })
            .collect();
        let is_idle = |v: usize, port: PortNum| used[v].is_some_and(|used| !used[port.index()]);
        topo.switches()
            .flat_map(|s| topo.links(s).iter().map(move |l| (s.index(), l)))
            .filter(|(v, l)| is_idle(*v, l.port) && is_idle(l.peer.index(), l.peer_port))
            .map(|(v, l)| (v, l.port.raw()))
            .collect()
    }

    fn any_used(&self, trees: &LidTrees, ports: &[(usize, u8)]) -> bool {
        trees
            .columns()
            .any(|column| ports.iter().any(|&(v, port)| column[v] == port))
    }
}

/// Links that lead one hop nearer to one switch.
struct ShortestPathDag {
    /// Switches by distance, without the switch itself.
    order: Vec<u32>,
    /// Index of the first link of each switch in `order`, and the total.
    first: Vec<u32>,
    /// Link, and the switch it leads to.
    links: Vec<(u32, u32)>,
}

impl ShortestPathDag {
    fn new<C: HopCell>(matrix: &HopMatrix<C>, links: &LinkTable, dest: usize) -> Self {
        // Links are bidirectional: the row of the destination equals its column.
        let row = matrix.row(dest);
        let max_hops = row.iter().map(|c| c.hops()).max().unwrap_or(0);
        let mut level_ends = vec![0u32; max_hops + 2];
        for c in row {
            level_ends[c.hops() + 1] += 1;
        }
        for i in 1..level_ends.len() {
            level_ends[i] += level_ends[i - 1];
        }
        let mut order = vec![0u32; row.len()];
        for (v, c) in (0u32..).zip(row) {
            order[level_ends[c.hops()] as usize] = v;
            level_ends[c.hops()] += 1;
        }
        order.remove(0);
        let mut first = Vec::with_capacity(order.len() + 1);
        let mut nearer = Vec::new();
        first.push(0);
        for &v in &order {
            let v = v as usize;
            let from = links.first[v];
            for (link, &peer) in (from..).zip(&links.peer[from..links.first[v + 1]]) {
                if row[peer as usize].farther() == row[v] {
                    nearer.push((index_to_u32(link), peer));
                }
            }
            first.push(index_to_u32(nearer.len()));
        }
        Self {
            order,
            first,
            links: nearer,
        }
    }

    /// Switches by distance, with their links.
    #[inline(always)]
    fn links_by_switch(&self) -> impl DoubleEndedIterator<Item = (usize, &[(u32, u32)])> {
        self.order
            .iter()
            .zip(self.first.windows(2))
            .map(|(&v, range)| {
                (
                    v as usize,
                    &self.links[range[0] as usize..range[1] as usize],
                )
            })
    }
}

/// LIDs on one switch that are weighed together.
struct DestinationJob {
    dest: usize,
    columns: Vec<usize>,
    /// The switch has no end ports: its LIDs carry management packets only, which are not counted
    /// as load.
    without_end_ports: bool,
}

/// State of the path selection.
struct WeightedSearch<'a, C> {
    topo: &'a Topology,
    graph: &'a Graph,
    matrix: &'a HopMatrix<C>,
    links: &'a LinkTable,
    granularity: Granularity,
    preference: PathPreference<'a>,
    trees: LidTrees,
    lids: Vec<Destination>,
    /// Routes between end ports over each link.
    load: Vec<u64>,
    /// Routes to switches without end ports over each link.
    switch_load: Vec<u64>,
    /// For the current LID, by switch: weight of the path, link, and routes that pass.
    weight: Vec<u64>,
    link: Vec<u32>,
    routes: Vec<u64>,
    /// For the current LID, by switch: dependencies of the path that no earlier path has.
    new_dependencies: Vec<u64>,
    /// For the current LID, by switch: orders that the path follows.
    suffix_orders: Vec<SuffixOrders>,
    /// Dependencies of all earlier paths, if the preference needs them.
    dependencies: Option<DependencySet>,
}

impl<'a, C: HopCell> WeightedSearch<'a, C> {
    fn new(
        topo: &'a Topology,
        graph: &'a Graph,
        matrix: &'a HopMatrix<C>,
        links: &'a LinkTable,
        granularity: Granularity,
        preference: PathPreference<'a>,
    ) -> Self {
        let n = topo.num_switches();
        let trees = LidTrees::new(topo);
        Self {
            lids: trees.destinations(topo).copied().collect(),
            topo,
            graph,
            matrix,
            links,
            granularity,
            preference,
            trees,
            load: vec![0; links.peer.len()],
            switch_load: vec![0; links.peer.len()],
            weight: vec![0; n],
            link: vec![LinkTable::NONE; n],
            routes: vec![0; n],
            new_dependencies: vec![0; n],
            suffix_orders: vec![(SwitchOrders::ALL, 0); n],
            dependencies: match preference {
                PathPreference::FewestDependencies => Some(DependencySet::empty(&graph.channels)),
                PathPreference::LeastLoad
                | PathPreference::FirstPort
                | PathPreference::Orders(_) => None,
            },
        }
    }

    /// Weighs all LIDs. LIDs whose installed trees stay complete come first, so that the others see
    /// that load.
    fn weigh_all(
        mut self,
        request: &RoutingRequest<'_>,
        installed: Option<&PreviousRouting>,
    ) -> Result<LidTrees, BudgetExceeded> {
        let mut jobs = self.jobs(request);
        if let Some(old) = installed {
            let mut deferred = Vec::new();
            for job in &mut jobs {
                let (legal, broken): (Vec<usize>, Vec<usize>) = std::mem::take(&mut job.columns)
                    .into_iter()
                    .partition(|&c| self.is_fully_kept(c, old));
                job.columns = legal;
                deferred.push(DestinationJob {
                    dest: job.dest,
                    columns: broken,
                    without_end_ports: job.without_end_ports,
                });
            }
            jobs.extend(deferred);
        }
        jobs.retain(|job| !job.columns.is_empty());
        let build_dags = |batch: &[DestinationJob], matrix, links| -> Vec<ShortestPathDag> {
            let batch = batch.par_iter();
            batch
                .map(|job| ShortestPathDag::new(matrix, links, job.dest))
                .collect()
        };
        let mut batches = jobs.chunks(BATCH);
        let mut current = batches
            .next()
            .map(|b| (b, build_dags(b, self.matrix, self.links)));
        while let Some((batch, dags)) = current.take() {
            let matrix = self.matrix;
            let links = self.links;
            let after = batches.next();
            let visits = |n: &ShortestPathDag| n.links.len() + 2 * n.order.len();
            let units = batch
                .iter()
                .zip(&dags)
                .map(|(job, dag)| (job.columns.len() + 1) * visits(dag));
            request.budget.spend_len(units.sum())?;
            let ((), next) = rayon::join(
                || {
                    for (job, dag) in batch.iter().zip(&dags) {
                        self.weigh_job(job, dag, installed);
                    }
                },
                || after.map(|b| (b, build_dags(b, matrix, links))),
            );
            current = next;
        }
        self.route_switch_lids(installed);
        Ok(self.trees)
    }

    /// LIDs in the order of weighing: first the order in the hints, then compute, I/O and other end
    /// ports, by switch within each class.
    fn jobs(&self, request: &RoutingRequest<'_>) -> Vec<DestinationJob> {
        let hints = request.hints;
        let class = |d: &Destination| {
            let listed = |lids: &Option<Vec<Lid>>| {
                lids.as_ref().is_some_and(|lids| {
                    let owner = self
                        .topo
                        .end_ports(d.switch)
                        .iter()
                        .find(|e| e.port == d.port);
                    owner.is_some_and(|e| lids.contains(&e.lid))
                })
            };
            if listed(&hints.compute_ports) {
                0
            } else if listed(&hints.io) {
                1
            } else {
                2usize
            }
        };
        let requested: Vec<Option<usize>> = if hints.routing_order.is_empty() {
            vec![None; self.lids.len()]
        } else {
            let at = |d: &Destination| hints.routing_order.iter().position(|lid| *lid == d.lid);
            self.lids.iter().map(at).collect()
        };
        let mut columns: Vec<(usize, usize, usize, usize)> = Vec::new();
        for (column, d) in self.lids.iter().enumerate() {
            let dest = d.switch.index();
            if d.port != PortNum::ZERO {
                let priority = requested[column].unwrap_or_else(|| usize::MAX - 3 + class(d));
                columns.push((priority, self.graph.lid_rank[dest], column, dest));
            }
        }
        columns.sort_unstable();
        let mut jobs: Vec<DestinationJob> = Vec::new();
        let mut last_priority = None;
        for (priority, _, column, dest) in columns {
            match jobs.last_mut() {
                Some(job) if job.dest == dest && last_priority == Some(priority) => {
                    job.columns.push(column);
                }
                Some(_) | None => jobs.push(DestinationJob {
                    dest,
                    columns: vec![column],
                    without_end_ports: false,
                }),
            }
            last_priority = Some(priority);
        }
        jobs.extend(
            self.graph
                .by_lid
                .iter()
                .copied()
                .filter(|&s| self.graph.hosts[s] == 0)
                .map(|dest| DestinationJob {
                    dest,
                    columns: self.trees.columns_on(dest).collect(),
                    without_end_ports: true,
                }),
        );
        jobs
    }

    /// The installed link for a LID, if it still leads one hop nearer.
    fn installed_link(
        &self,
        v: usize,
        lid: Lid,
        dest: usize,
        old: &PreviousRouting,
    ) -> Option<usize> {
        let link = self.links.link_at(v, old.table_of(v)?.get(lid))?;
        let row = self.matrix.row(dest);
        (row[self.links.peer[link] as usize].farther() == row[v]).then_some(link)
    }

    fn is_fully_kept(&self, column: usize, old: &PreviousRouting) -> bool {
        let d = self.lids[column];
        let dest = d.switch.index();
        (0..self.graph.len())
            .all(|v| v == dest || self.installed_link(v, d.lid, dest, old).is_some())
    }

    fn weigh_job(
        &mut self,
        job: &DestinationJob,
        dag: &ShortestPathDag,
        installed: Option<&PreviousRouting>,
    ) {
        let mut template: Option<usize> = None;
        for &column in &job.columns {
            self.choose_links(job, dag, column, template, installed);
            if self.granularity == Granularity::PerSwitch {
                template.get_or_insert(column);
            }
            let load = if job.without_end_ports {
                &mut self.switch_load
            } else {
                &mut self.load
            };
            for (routes, &hosts) in self.routes.iter_mut().zip(&self.graph.hosts) {
                *routes = u64::from(hosts);
            }
            for (v, _) in dag.links_by_switch().rev() {
                let link = self.link[v] as usize;
                let routes = self.routes[v];
                load[link] += routes * self.links.counts[link];
                self.routes[self.links.peer[link] as usize] += routes;
            }
        }
    }

    /// Chooses the lightest path of every switch to one LID; if `template` is set, through the
    /// switches that this column uses.
    fn choose_links(
        &mut self,
        job: &DestinationJob,
        dag: &ShortestPathDag,
        column: usize,
        template: Option<usize>,
        installed: Option<&PreviousRouting>,
    ) {
        let lid = self.lids[column].lid;
        self.weight[job.dest] = 0;
        self.suffix_orders[job.dest] = (SwitchOrders::ALL, 0);
        for (v, links) in dag.links_by_switch() {
            let load = if job.without_end_ports {
                &self.switch_load
            } else {
                &self.load
            };
            let lightest = |links: &mut dyn Iterator<Item = &(u32, u32)>| {
                let weigh = |&(c, peer): &(u32, u32)| self.weight[peer as usize] + load[c as usize];
                links
                    .map(|c| (weigh(c), c.0))
                    .min_by_key(|&(weight, _)| weight)
            };
            let installed_link =
                installed.and_then(|old| self.installed_link(v, lid, job.dest, old));
            let link = if let Some(link) = installed_link {
                let link = index_to_u32(link);
                lightest(&mut links.iter().filter(|c| c.0 == link))
            } else if let Some(template) = template {
                let port = PortNum(self.trees.column(template)[v]);
                let peer = self.links.link_at(v, port).map(|c| self.links.peer[c]);
                lightest(&mut links.iter().filter(|c| Some(c.1) == peer))
            } else {
                Some(self.preferred_link(job.dest, links, load))
            };
            // A link always exists on a connected graph.
            let (weight, link) =
                link.unwrap_or_else(|| (0, links.first().map_or(LinkTable::NONE, |c| c.0)));
            self.weight[v] = weight;
            self.link[v] = link;
            self.record_link(v, job.dest);
        }
        self.record_dependencies(dag, job.dest);
        let chosen = self.trees.column_mut(column);
        for &v in &dag.order {
            chosen[v as usize] = self.links.port[self.link[v as usize] as usize];
        }
    }

    /// Preferred link, with the weight of its path.
    #[inline(always)]
    fn preferred_link(&self, dest: usize, links: &[(u32, u32)], load: &[u64]) -> (u64, u32) {
        let weigh = |&(link, peer): &(u32, u32)| self.weight[peer as usize] + load[link as usize];
        let min_link = |key: &dyn Fn(&(u32, u32)) -> u64| {
            let keyed = links.iter().map(|c| ((key(c), weigh(c)), c.0));
            let best = keyed.min_by_key(|&(key, _)| key);
            best.map_or((0, LinkTable::NONE), |((_, weight), link)| (weight, link))
        };
        match self.preference {
            PathPreference::LeastLoad => {
                let mut best = (u64::MAX, LinkTable::NONE);
                for c in links {
                    let weight = weigh(c);
                    if weight < best.0 {
                        best = (weight, c.0);
                    }
                }
                best
            }
            PathPreference::FewestDependencies => {
                min_link(&|&(link, peer)| self.new_dependencies_over(dest, link, peer as usize))
            }
            PathPreference::FirstPort => links
                .first()
                .map_or((0, LinkTable::NONE), |c| (weigh(c), c.0)),
            PathPreference::Orders(orders) => min_link(&|&(link, peer)| {
                let suffix_orders = self.suffix_orders[peer as usize];
                let (followed, _) =
                    orders.prepend(self.links.channel[link as usize], suffix_orders);
                u64::from(followed.trailing_zeros())
            }),
        }
    }

    /// Number of dependencies of the path over this link that no earlier path has.
    fn new_dependencies_over(&self, dest: usize, link: u32, peer: usize) -> u64 {
        if peer == dest {
            return 0;
        }
        let x = link as usize;
        let y = self.link[peer] as usize;
        let dependency = (self.links.channel[x], self.links.channel[y]);
        let is_known =
            |dependencies: &DependencySet| dependencies.contains(&self.graph.channels, dependency);
        self.new_dependencies[peer] + u64::from(!self.dependencies.as_ref().is_some_and(is_known))
    }

    /// Updates the state of the preference for the chosen link.
    fn record_link(&mut self, v: usize, dest: usize) {
        let link = self.link[v];
        let peer = self.links.peer[link as usize] as usize;
        match self.preference {
            PathPreference::LeastLoad | PathPreference::FirstPort => {}
            PathPreference::FewestDependencies => {
                self.new_dependencies[v] = self.new_dependencies_over(dest, link, peer)
            }
            PathPreference::Orders(orders) => {
                self.suffix_orders[v] =
                    orders.prepend(self.links.channel[link as usize], self.suffix_orders[peer]);
            }
        }
    }

    /// Adds the dependencies of the current LID.
    fn record_dependencies(&mut self, dag: &ShortestPathDag, dest: usize) {
        let Some(dependencies) = &mut self.dependencies else {
            return;
        };
        for &v in &dag.order {
            let x = self.link[v as usize] as usize;
            let peer = self.links.peer[x] as usize;
            if peer != dest {
                let y = self.link[peer] as usize;
                let channel = &self.links.channel;
                dependencies.insert(&self.graph.channels, (channel[x], channel[y]));
            }
        }
    }

    /// Routes LIDs of switches with end ports along the tree of one of their end ports, which adds
    /// no dependency.
    fn route_switch_lids(&mut self, installed: Option<&PreviousRouting>) {
        for (rank, &dest) in self.graph.by_lid.iter().enumerate() {
            let columns = self.trees.columns_on(dest);
            let (own_lids, other_lids): (Vec<usize>, Vec<usize>) =
                columns.partition(|&c| self.lids[c].port == PortNum::ZERO);
            if other_lids.is_empty() {
                continue;
            }
            for column in own_lids {
                let template = self
                    .trees
                    .column(other_lids[rank % other_lids.len()])
                    .to_vec();
                let lid = self.lids[column].lid;
                for (v, port) in template.into_iter().enumerate().filter(|(v, _)| *v != dest) {
                    let installed_link =
                        installed.and_then(|old| self.installed_link(v, lid, dest, old));
                    let port = installed_link.map_or(port, |link| self.links.port[link]);
                    self.trees.column_mut(column)[v] = port;
                }
            }
        }
    }
}
