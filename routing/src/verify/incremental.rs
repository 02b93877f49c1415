//! Incremental verification: only the LIDs whose routes changed since the last verification are
//! walked again. Dependencies are counted, so that those of old routes can be removed.
//!
//! Verdict and figures always equal those of [`super::verify()`]. A full verification runs if a
//! change affects all LIDs, if switches map VLs by ports, if replies on the SL of their request
//! need a separate check, or if the state would be too large.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use super::channels::Channels;
use super::context::WalkContext;
use super::counts::{CountChanges, CountSink, DependencyCounts, NullSink};
use super::error::VerifyError;
use super::inject::{SourceSls, single_vl};
use super::order::NodeOrder;
use super::route_changes::{RouteChange, TablesView};
use super::walk::WalkResult;
use super::{Proof, inject, proof, route_changes, verify, walk};
use crate::tables::{BLOCK_LIDS, Tables};
use crate::topology::{Destination, SwitchIdx, Topology, index_to_u32};
use crate::vl_plan::{SlToVl, VlPlan};

/// A full verification runs if more than one of this number of (switch, LID) entries changed.
const ENTRIES_PER_CHANGE: usize = 32;

/// A full verification runs if more than one of this number of switches has gained or lost end
/// ports.
const SWITCHES_PER_RESIZED: usize = 32;

/// All switches are walked for a LID if more than one of this number of switches changed its entry.
const SWITCHES_PER_CHANGE: usize = 4;

/// The state of the last verification. A value with cheap clones, which continue independently.
#[derive(Debug, Clone, Default)]
pub struct IncrementalVerifier {
    last: Option<Arc<State>>,
}

#[derive(Debug, Clone)]
struct State {
    topo: Topology,
    tables: Tables,
    vl_plan: VlPlan,
    counts: DependencyCounts,
    order: NodeOrder,
    totals: WalkResult,
}

impl IncrementalVerifier {
    /// A verifier without a previous verification.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`super::verify()`].
    ///
    /// # Errors
    /// As [`super::verify()`]; the state is discarded.
    pub fn verify(
        &mut self,
        topo: &Topology,
        tables: &Tables,
        vl_plan: &VlPlan,
    ) -> Result<Proof, VerifyError> {
        let last = self.last.take();
        let has_narrow_links = vl_plan.vls == 0 || vl_plan.vls > topo.common_vls();
        let replies_checked = last
            .as_ref()
            .is_some_and(|l| l.vl_plan == *vl_plan && l.topo.destinations() == topo.destinations());
        let needs_reply_check =
            || !replies_checked && SourceSls::new(topo, vl_plan).with_replies(topo).is_some();
        if has_narrow_links || vl_plan.sl_to_vl != SlToVl::Modulo || needs_reply_check() {
            return verify(topo, tables, vl_plan);
        }
        let differs = last.and_then(|last| {
            let changed = last.changed(topo, tables, vl_plan)?;
            Some((last, changed))
        });
        let next = match differs {
            Some((last, changed)) => last.update(topo, tables, vl_plan, &changed),
            None => State::new(topo, tables, vl_plan),
        };
        match next {
            Some(state) => {
                let proof = state.proof();
                self.last = Some(Arc::new(state));
                Ok(proof)
            }
            // The full verification returns the error, if there is one.
            None => verify(topo, tables, vl_plan),
        }
    }

    /// Whether the last verification was of these tables, possibly without links that no route may
    /// use, as those of a drained switch.
    pub(crate) fn has_verified(&self, topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> bool {
        self.last.as_ref().is_some_and(|state| {
            state.tables == *tables && state.vl_plan == *vl_plan && topo.extends(&state.topo)
        })
    }

    /// Whether the verified dependencies stay acyclic with these added (channel, next channel, VL
    /// of both). A channel is the flat number of its port over all switches, port 0 included. False
    /// without a previous verification.
    pub(crate) fn stays_acyclic_with(&self, dependencies: &[(usize, usize, u8)]) -> bool {
        let Some(state) = &self.last else {
            return false;
        };
        let channels = Channels::new(&state.topo);
        let mut counts = state.counts.clone();
        let mut added = CountChanges::default();
        for &(first, second, vl) in dependencies {
            let head = channels.heads[first];
            if head.switch == Channels::NOWHERE || usize::from(vl) >= counts.num_vls {
                return false;
            }
            let port = second.checked_sub(channels.base[head.switch as usize]);
            let Some(port) = port.and_then(|port| u8::try_from(port).ok()) else {
                return false;
            };
            added
                .dependencies
                .push(counts.dependency(first, second, port, usize::from(vl)));
        }
        let new_dependencies = counts.apply(&CountChanges::default(), &added);
        let mut order = state.order.clone();
        order.add(&counts.graph(&channels), &new_dependencies)
    }

    /// Memory use, in bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.last.as_ref().map_or(0, |state| {
            let loads = state.totals.load.len() * 8 + state.totals.used.len() * 2;
            state.counts.memory() + state.order.memory() + loads
        })
    }
}

/// Differences from the last verification.
#[derive(Debug, Default)]
struct Changed {
    /// LIDs with changed next hops, and the switches of these.
    entries: Vec<(Lid, u32)>,
    /// By LID: whether it must be walked on all switches.
    full_walk: Vec<bool>,
    /// Switches with another number of end ports, and by how many it is greater.
    resized: Vec<(usize, i64)>,
}

impl State {
    /// Verifies everything; `None` if the tables fail or the state is too large.
    fn new(topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> Option<Self> {
        let channels = Channels::new(topo);
        let mut counts = DependencyCounts::new(topo, &channels, vl_plan)?;
        let (single_vl_lids, other_lids): (Vec<Destination>, Vec<Destination>) = topo
            .destinations()
            .iter()
            .partition(|d| single_vl(vl_plan, d).is_some());
        let context = WalkContext::new(topo, tables, vl_plan, &channels);
        let source_sls = SourceSls::new(topo, vl_plan);
        let (walked, _) = walk::walk(&context, &source_sls, &single_vl_lids, &NullSink);
        if !is_valid(&walked) {
            return None;
        }
        counts.add_rows(
            tables,
            &channels,
            &inject::single_vl_lids(vl_plan, &single_vl_lids),
        );
        let (counts, totals, _) = count_walk(&context, counts, &other_lids, true);
        let order = NodeOrder::new(&counts.graph(&channels))?;
        is_valid(&totals).then(|| Self {
            topo: topo.clone(),
            tables: tables.clone(),
            vl_plan: vl_plan.clone(),
            counts,
            order,
            totals: walked.add(&totals),
        })
    }

    /// Differences from these tables; `None` if a full verification is needed.
    fn changed(&self, topo: &Topology, tables: &Tables, vl_plan: &VlPlan) -> Option<Changed> {
        // Channels, and switches without end ports, which send nothing.
        let size = |t: &Topology, s| (t.num_ports(s), t.end_ports(s).is_empty());
        let has_same_size = topo.num_switches() == self.topo.num_switches()
            && tables.len() == self.tables.len()
            && vl_plan.vls == self.vl_plan.vls
            && topo
                .switches()
                .all(|s| size(topo, s) == size(&self.topo, s));
        if !has_same_size {
            return None;
        }
        let end_ports = |t: &Topology, s| i64::from(index_to_u32(t.end_ports(s).len()));
        let growth = |s: SwitchIdx| end_ports(topo, s) - end_ports(&self.topo, s);
        let resized: Vec<(usize, i64)> = topo
            .switches()
            .map(|s| (s.index(), growth(s)))
            .filter(|(_, growth)| *growth != 0)
            .collect();
        if resized.len() > 1 + topo.num_switches() / SWITCHES_PER_RESIZED {
            return None;
        }
        let top = usize::from(topo.top_lid().max(self.topo.top_lid()).raw());
        let mut full_walk = vec![false; top + 1];
        let destinations = self.topo.destinations();
        let max_entries =
            topo.num_switches() * destinations.len() / ENTRIES_PER_CHANGE + BLOCK_LIDS;
        let mut entries = Vec::new();
        for s in topo.switches() {
            let i = s.index();
            let mut rewired = [false; 256];
            let mut has_change = false;
            if topo.links(s) != self.topo.links(s) {
                for port in (1..=topo.num_ports(s)).map(PortNum) {
                    let differs = topo.neighbor(s, port) != self.topo.neighbor(s, port);
                    rewired[port.index()] = differs;
                    has_change |= differs;
                }
            }
            let is_same = self.tables.get(i) == tables.get(i);
            if is_same && !has_change {
                continue;
            }
            let row = |tables: &Tables, lid: usize| {
                let row = tables.get(i).map_or(&[][..], |t| t.entries());
                row.get(lid).copied().unwrap_or(PortNum::DROP.raw())
            };
            for d in destinations {
                let lid = usize::from(d.lid.raw());
                let a = row(&self.tables, lid);
                let b = row(tables, lid);
                if a != b || rewired[usize::from(a)] {
                    entries.push((d.lid, s.0));
                }
            }
            if entries.len() > max_entries {
                return None;
            }
        }
        entries.sort_unstable();
        if self.topo.destinations() != topo.destinations() {
            let owner = |t: &Topology| {
                let mut owner = vec![None; top + 1];
                for d in t.destinations() {
                    owner[usize::from(d.lid.raw())] = Some(*d);
                }
                owner
            };
            let pairs = owner(&self.topo).into_iter().zip(owner(topo));
            for (full_walk, (a, b)) in full_walk.iter_mut().zip(pairs) {
                *full_walk |= a != b;
            }
        }
        if self.vl_plan.path_sl != vl_plan.path_sl {
            for d in topo.destinations() {
                let differs = |s| self.vl_plan.sl(s, d) != vl_plan.sl(s, d);
                full_walk[usize::from(d.lid.raw())] |= topo.switches().any(differs);
            }
        }
        Some(Changed {
            entries,
            full_walk,
            resized,
        })
    }

    /// Verifies what changed; `None` if the tables fail.
    fn update(
        &self,
        topo: &Topology,
        tables: &Tables,
        vl_plan: &VlPlan,
        changed: &Changed,
    ) -> Option<Self> {
        let old = Channels::new(&self.topo);
        let channels = Channels::new(topo);
        if !self.counts.has_room(topo, &channels) {
            return Self::new(topo, tables, vl_plan);
        }
        let switches: Vec<u32> = changed.entries.iter().map(|e| e.1).collect();
        let mut full_walk = changed.full_walk.clone();
        let mut route_changes = Vec::new();
        let mut at = 0;
        for changes in changed.entries.chunk_by(|a, b| a.0 == b.0) {
            let changed_switches = &switches[at..at + changes.len()];
            at += changes.len();
            let lid = changes.first()?.0;
            let raw = usize::from(lid.raw());
            let destinations = topo.destinations();
            let index = destinations.binary_search_by_key(&lid, |d| d.lid).ok();
            let has_few_changes = changed.resized.is_empty()
                && changed_switches.len() * SWITCHES_PER_CHANGE <= topo.num_switches();
            let single = index.map(|i| destinations[i]).and_then(|d| {
                let vl = single_vl(vl_plan, &d).filter(|_| has_few_changes && !full_walk[raw])?;
                Some((d, usize::from(vl)))
            });
            match single {
                Some((dest, vl)) => route_changes.push(RouteChange {
                    dest,
                    vl,
                    changed: changed_switches,
                }),
                None => full_walk[raw] = true,
            }
        }
        let before = TablesView::new(&self.topo, &old, &self.tables);
        let after = TablesView::new(topo, &channels, tables);
        let deltas = route_changes::evaluate(before, after, &self.counts, &route_changes)?;
        let mut counts = self.counts.clone();
        let mut totals = self.totals.clone();
        let mut new_dependencies = Vec::new();
        for delta in &deltas {
            new_dependencies.extend(counts.apply(&delta.removed, &delta.added));
            totals.move_routes(delta);
        }
        let lids_of = |topo: &Topology| -> Vec<Destination> {
            topo.destinations()
                .iter()
                .filter(|d| full_walk[usize::from(d.lid.raw())])
                .copied()
                .collect()
        };
        let before = lids_of(&self.topo);
        let after = lids_of(topo);
        if !before.is_empty() || !after.is_empty() {
            let context = WalkContext::new(&self.topo, &self.tables, &self.vl_plan, &old);
            let (remaining, removed, _) = count_walk(&context, counts, &before, false);
            let context = WalkContext::new(topo, tables, vl_plan, &channels);
            let (all_counts, added, new) = count_walk(&context, remaining, &after, true);
            if !is_valid(&added) {
                return None;
            }
            totals.replace(&removed, &added);
            new_dependencies.extend(new);
            counts = all_counts;
        }
        // The dependencies of the other routes do not depend on how many end ports send over them.
        for &(from, growth) in &changed.resized {
            let ends = topo.destinations().iter();
            for dest in ends.filter(|d| !full_walk[usize::from(d.lid.raw())]) {
                totals.resize_route(tables, &channels, dest, from, growth);
            }
        }
        new_dependencies.sort_unstable();
        new_dependencies.dedup();
        let mut order = self.order.clone();
        if !order.add(&counts.graph(&channels), &new_dependencies) {
            return None;
        }
        Some(Self {
            topo: topo.clone(),
            tables: tables.clone(),
            vl_plan: vl_plan.clone(),
            counts,
            order,
            totals,
        })
    }

    fn proof(&self) -> Proof {
        let used = (0..16).map(|vl| self.counts.channels_with(vl)).collect();
        proof(
            &self.topo,
            self.totals.clone(),
            used,
            self.counts.dependencies(),
            true,
        )
    }
}

fn is_valid(walked: &WalkResult) -> bool {
    walked.unreachable.count == 0 && walked.loops.count == 0 && walked.dropped == 0
}

/// Walks these LIDs and adds their dependencies to the counts, or removes them. Returns the new
/// dependencies.
fn count_walk(
    context: &WalkContext<'_>,
    counts: DependencyCounts,
    lids: &[Destination],
    is_added: bool,
) -> (DependencyCounts, WalkResult, Vec<(u32, u32)>) {
    let source_sls = SourceSls::new(context.topo, context.vl_plan);
    let counts = counts.into_shared();
    let sink = CountSink {
        counts: &counts,
        is_added,
        new_dependencies: Vec::new(),
    };
    let (walked, sinks) = walk::walk(context, &source_sls, lids, &sink);
    let new_dependencies: Vec<(u32, u32)> =
        sinks.into_iter().flat_map(|s| s.new_dependencies).collect();
    drop(sink);
    (counts.into_counts(), walked, new_dependencies)
}
