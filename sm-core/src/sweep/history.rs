//! What outlives a sweep: its number, its report, and what the next one reports as news.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::event::{Event, NoLinkReason};
use crate::outbox::Outbox;
use crate::pkeys::absent_members::absent_members;
use crate::ports::link_rates::LinkRates;
use crate::report::SweepReport;
use crate::report::absent_member::AbsentMember;

/// State that outlives a sweep.
#[derive(Debug, Default)]
pub(crate) struct SweepHistory {
    /// The number of the sweep that began last.
    pub(crate) number: u32,
    /// The report of the last complete sweep.
    pub(crate) report: Option<SweepReport>,
    /// Requests enqueued when the last phase began, or when the last sweep ended.
    pub(crate) enqueued_total: u64,
    /// The last sweep found the port at the other end of the SM's own link.
    pub(crate) found_local_peer: bool,
    /// Nodes that were added since a sweep was complete, and are not reported yet.
    pub(crate) added_nodes: BTreeSet<NodeIdx>,
    /// The same for links; the lower port comes first.
    pub(crate) added_links: BTreeSet<(PortRef, PortRef)>,
    /// Links whose ports have other links since then.
    pub(crate) replaced_links: BTreeSet<(PortRef, PortRef)>,
    /// When a table that a device keeps is written again.
    pub(crate) next_table_retry: Option<Instant>,
    /// Links whose rates were checked at the end of sweeps.
    pub(crate) link_rates: LinkRates,
    /// Partition members whose ports were absent from the subnet in the last sweep as master.
    absent_members: Vec<AbsentMember>,
    /// Light sweeps in a row in which no device responded.
    isolated_light_sweeps: u8,
    /// Why the SM's own port cannot be used, as reported last; `None` if it is reported as usable.
    pub(crate) no_link: Option<NoLinkReason>,
}

impl SweepHistory {
    /// Reports what was added to the fabric since a sweep was complete, and links that others
    /// replaced. By the end of discovery, the names of new nodes are known.
    pub(crate) fn report_additions(&mut self, fabric: &ObservedFabric, outbox: &mut Outbox) {
        for (a, b) in core::mem::take(&mut self.replaced_links) {
            let are_present = [a, b].iter().all(|p| fabric.get(p.node).is_some());
            if are_present && fabric.peer(a) != Some(b) {
                outbox.emit(Event::LinkDown(fabric.port_name(a), fabric.port_name(b)));
            }
        }
        let added_nodes = core::mem::take(&mut self.added_nodes);
        for &n in &added_nodes {
            if let Some(node) = fabric.get(n) {
                let ports = node.physical_ports().map(|p| PortRef::new(n, p));
                let links = ports.filter(|p| fabric.peer(*p).is_some()).count();
                outbox.emit(Event::NodeAdded(node.name(), links));
            }
        }
        for (a, b) in core::mem::take(&mut self.added_links) {
            let is_of_added_node = [a, b].iter().any(|p| added_nodes.contains(&p.node));
            if !is_of_added_node && fabric.peer(a) == Some(b) {
                outbox.emit(Event::LinkUp(fabric.port_name(a), fabric.port_name(b)));
            }
        }
    }

    /// Reports members of partitions that were not absent in the last sweep.
    pub(crate) fn report_absent_members(&mut self, ctx: &mut Ctx<'_>) {
        let absent = absent_members(&ctx.cfg.partitions, ctx.fabric);
        let last = core::mem::replace(&mut self.absent_members, absent);
        // Both are in order of GUID; a partition file can have many members.
        let is_new = |member: &&AbsentMember| {
            let found = last.binary_search_by_key(&member.guid, |m| m.guid);
            found.map_or(true, |at| last[at] != **member)
        };
        let new: Vec<AbsentMember> = self.absent_members.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            ctx.outbox.emit(Event::PartitionMembersAbsent(new));
        }
    }

    /// A light sweep is complete, in which devices responded or not. Returns how many in a row had
    /// no response.
    pub(crate) const fn count_isolated(&mut self, is_isolated: bool) -> u8 {
        // saturates: two are enough.
        self.isolated_light_sweeps = if is_isolated {
            self.isolated_light_sweeps.saturating_add(1)
        } else {
            0
        };
        self.isolated_light_sweeps
    }

    /// Reports why the SM's own port is unusable; returns whether the reason is new.
    pub(crate) fn report_no_link(&mut self, reason: NoLinkReason, outbox: &mut Outbox) -> bool {
        let is_new = self.no_link.replace(reason) != Some(reason);
        if is_new {
            outbox.emit(Event::LocalPortUnusable(reason));
        }
        is_new
    }
}
