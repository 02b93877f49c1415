//! How many switches a sweep accepts that were not in the subnet before.
//!
//! A device can report a switch with a new GUID behind each of its ports, without end. As master,
//! the SM accepts [`UNCOUNTED_MAX`] new switch ports behind a port of a known node. What exceeds
//! them is excluded behind that port until a survey ([`crate::discovery::survey`]) has counted it;
//! the rest of the fabric is configured meanwhile. Before it is master, the SM knows no node yet,
//! and it must find every other SM: it discovers everything, except behind a port that alone leads
//! to more switch ports than a fabric has.

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{ExclusionReason, NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::{NodeInfo, NodeType};

use super::Discovery;
use super::endless::{Endless, Links, WITHOUT_HOST_MAX, find_endless};
use crate::ctx::Ctx;
use crate::discovery::exclusion::{discard_node, exclude_port};
use crate::effect::Effect;

/// Most nodes of a subnet: each end port needs a unicast LID.
const NODES_MAX: usize = 0xBFFF;

/// New switch ports that a master accepts behind a port of a known node before they are counted:
/// some 60 switches.
pub(crate) const UNCOUNTED_MAX: u32 = 2_560;

/// What a sweep accepts behind a port whose new switches were, or are to be, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Allowance {
    /// New switches with this many ports.
    SwitchPorts(u32),
    /// No new switch.
    NoSwitch(ExclusionReason),
}

/// Which nodes limits apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BudgetScope {
    /// The new nodes behind each port of a known node: the SM is master.
    PerPort,
    /// The fabric: the SM is not master yet.
    WholeFabric,
}

/// New nodes of a sweep, and the limits on them.
#[derive(Debug)]
pub(crate) struct Budget {
    scope: BudgetScope,
    /// `sweep.new-port-budget`.
    max: u32,
    allowances: BTreeMap<PortRef, Allowance>,
    /// New nodes, with the port of a known node that they were first found behind; of the whole
    /// fabric, only switches.
    new_nodes: BTreeMap<NodeIdx, PortRef>,
    /// Ports of new switches behind each port of a known node; of the whole fabric, behind
    /// [`Self::WHOLE`].
    switch_ports: BTreeMap<Option<PortRef>, u32>,
    /// The number of new switch ports at which the fabric is searched for endless switches next.
    next_search: u32,
}

impl Budget {
    const WHOLE: Option<PortRef> = None;

    /// The limits of a sweep that begins.
    pub(crate) const fn new(
        scope: BudgetScope,
        max: u32,
        allowances: BTreeMap<PortRef, Allowance>,
    ) -> Self {
        Self {
            scope,
            max,
            allowances,
            new_nodes: BTreeMap::new(),
            switch_ports: BTreeMap::new(),
            next_search: if max < WITHOUT_HOST_MAX {
                max
            } else {
                WITHOUT_HOST_MAX
            },
        }
    }

    /// The port of a known node that `from` is, or is behind.
    fn entry(&self, from: PortRef) -> PortRef {
        self.new_nodes.get(&from.node).copied().unwrap_or(from)
    }

    fn record(&mut self, idx: NodeIdx, from: PortRef, info: &NodeInfo) {
        let is_switch = info.node_type == NodeType::Switch;
        let entry = self.entry(from);
        let key = match self.scope {
            BudgetScope::PerPort => {
                // A host at a known port is not behind any new switch.
                if is_switch || entry != from {
                    self.new_nodes.insert(idx, entry);
                }
                Some(entry)
            }
            BudgetScope::WholeFabric => {
                if is_switch {
                    self.new_nodes.insert(idx, entry);
                }
                Self::WHOLE
            }
        };
        if is_switch {
            *self.switch_ports.entry(key).or_default() += u32::from(info.num_ports);
        }
    }
}

impl Discovery {
    /// Whether a node that is not in the subnet may be added. `had_lid`: it had a LID before, so
    /// that it is not new.
    pub(super) fn admits(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: PortRef,
        info: &NodeInfo,
        had_lid: bool,
    ) -> bool {
        if ctx.fabric.node_count() >= NODES_MAX && !had_lid {
            exclude_port(ctx, from, ExclusionReason::SubnetFull);
            return false;
        }
        if had_lid || info.node_type != NodeType::Switch {
            return true;
        }
        if let Some(Allowance::NoSwitch(reason)) = self.budget.allowances.get(&from).copied() {
            exclude_port(ctx, from, reason);
            ctx.effects.push(Effect::SwitchesUncounted(from, reason));
            return false;
        }
        match self.budget.scope {
            BudgetScope::PerPort => self.admits_behind(ctx, from, info),
            BudgetScope::WholeFabric => {
                self.search_endless_switches(ctx);
                ctx.fabric.port(from).is_some_and(|p| p.exclusion.is_none())
            }
        }
    }

    /// A new node was added. The one behind the SM's own port leads to all others.
    pub(super) fn record_new_node(
        &mut self,
        fabric: &ObservedFabric,
        idx: NodeIdx,
        from: PortRef,
        had_lid: bool,
    ) {
        let info = fabric.get(idx).map(|node| &node.info);
        if let Some(info) = info.filter(|_| !had_lid && fabric.local() != Some(from)) {
            self.budget.record(idx, from, info);
        }
    }

    /// Whether the new switches behind a port of a known node may become one more; if not, all of
    /// them are excluded.
    fn admits_behind(&mut self, ctx: &mut Ctx<'_>, from: PortRef, info: &NodeInfo) -> bool {
        let entry = self.budget.entry(from);
        let max = match self.budget.allowances.get(&entry) {
            Some(Allowance::SwitchPorts(counted)) => *counted,
            Some(Allowance::NoSwitch(_)) | None => UNCOUNTED_MAX.min(self.budget.max),
        };
        let found = self.budget.switch_ports.get(&Some(entry));
        if found.copied().unwrap_or(0) + u32::from(info.num_ports) <= max {
            return true;
        }
        let behind = self.budget.new_nodes.iter();
        let behind: Vec<NodeIdx> = behind
            .filter(|(_, port)| **port == entry)
            .map(|(node, _)| *node)
            .collect();
        self.budget.switch_ports.remove(&Some(entry));
        self.exclude_behind(ctx, entry, behind, ExclusionReason::Uncounted(max));
        false
    }

    /// Whenever the number of new switch ports has doubled: excludes what is behind a port that
    /// alone leads to more of them than a fabric has.
    fn search_endless_switches(&mut self, ctx: &mut Ctx<'_>) {
        let total = self.budget.switch_ports.get(&Budget::WHOLE);
        if total.is_none_or(|total| *total < self.budget.next_search) {
            return;
        }
        let max = self.budget.max;
        while let Some(found) = self.find_endless(ctx.fabric) {
            let reason = if found.has_host || max < WITHOUT_HOST_MAX {
                ExclusionReason::TooManySwitchPorts(max)
            } else {
                ExclusionReason::EndlessSwitches(WITHOUT_HOST_MAX)
            };
            self.exclude_behind(ctx, found.port, found.nodes, reason);
        }
        let nodes = self.budget.new_nodes.keys();
        let ports = nodes.filter_map(|n| Some(u32::from(ctx.fabric.get(*n)?.info.num_ports)));
        let total = ports.sum();
        self.budget.switch_ports.insert(Budget::WHOLE, total);
        self.budget.next_search = (2 * total).max(WITHOUT_HOST_MAX.min(max));
    }

    fn find_endless(&self, fabric: &ObservedFabric) -> Option<Endless> {
        let links = Links {
            fabric,
            neighbours: &self.neighbours,
        };
        find_endless(links, &self.budget.new_nodes, self.budget.max)
    }

    /// Excludes new nodes behind a port. They are not reported one by one, because they were not
    /// reported as added.
    fn exclude_behind(
        &mut self,
        ctx: &mut Ctx<'_>,
        port: PortRef,
        nodes: impl IntoIterator<Item = NodeIdx>,
        reason: ExclusionReason,
    ) {
        exclude_port(ctx, port, reason);
        for n in nodes {
            self.added.remove(&n);
            self.budget.new_nodes.remove(&n);
            discard_node(ctx, n);
        }
        self.has_unscanned_nodes &= !self.added.is_empty();
        let fabric = &*ctx.fabric;
        let is_present = |p: &PortRef| fabric.get(p.node).is_some();
        self.neighbours
            .retain(|from, to| is_present(from) && is_present(to));
        self.contested.retain(|(from, _)| is_present(from));
        self.conflicts
            .retain(|(from, to), _| is_present(from) && is_present(to));
        let closed = Allowance::NoSwitch(reason);
        self.budget.allowances.insert(port, closed);
        ctx.effects.push(Effect::SwitchesUncounted(port, reason));
    }
}
