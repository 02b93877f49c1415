//! The graph that remains after a loss.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};

use super::{DATA_VLS_MAX, Destination, SwitchIdx, SwitchLink, Topology, TopologyBuilder};

/// Links and switches that are lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loss {
    /// Switches, with all their links and the end ports that are attached to them.
    pub switches: BTreeSet<SwitchIdx>,
    /// Links, by the switch port at one of their ends. The link of an end port is named by the
    /// switch port that it is attached to.
    pub links: BTreeSet<(SwitchIdx, PortNum)>,
}

impl Loss {
    /// Whether nothing is lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.links.is_empty()
    }

    /// Whether a link between two switches is lost.
    pub(crate) fn includes(&self, s: SwitchIdx, link: &SwitchLink) -> bool {
        [s, link.peer].iter().any(|s| self.switches.contains(s))
            || self.links.contains(&(s, link.port))
            || self.links.contains(&(link.peer, link.peer_port))
    }

    /// Whether the end port at a switch port is lost.
    #[must_use]
    pub fn includes_end_port(&self, s: SwitchIdx, port: PortNum) -> bool {
        self.switches.contains(&s) || self.links.contains(&(s, port))
    }
}

/// Switches, links and end ports that are added to a graph. The numbers of added switches follow
/// those of the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Additions {
    pub switches: Vec<AddedSwitch>,
    /// Both ends of each link.
    pub links: Vec<[(SwitchIdx, PortNum); 2]>,
    pub end_ports: Vec<AddedEndPort>,
}

/// A switch that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedSwitch {
    pub num_ports: u8,
    pub lid: Lid,
}

/// An end port that is added, or that is attached to another switch port than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddedEndPort {
    pub at: (SwitchIdx, PortNum),
    pub lid: Lid,
    /// Number of its consecutive LIDs.
    pub count: u16,
}

impl Additions {
    /// Whether nothing is added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.switches.is_empty() && self.links.is_empty() && self.end_ports.is_empty()
    }
}

/// A graph of which switches were removed, and to which others were added.
#[derive(Debug, Clone)]
pub struct RemainingTopology {
    pub topology: Topology,
    /// By switch of `topology`: the switch of the graph before, ascending. Added switches follow
    /// those of that graph.
    pub switches: Vec<SwitchIdx>,
}

impl RemainingTopology {
    /// The switch with this index in the graph before; `None` if it was removed.
    #[must_use]
    pub fn find(&self, before: SwitchIdx) -> Option<SwitchIdx> {
        let at = self.switches.binary_search(&before).ok()?;
        Some(SwitchIdx::from_index(at))
    }
}

impl Topology {
    /// The graph without what is lost and without the switches for which `is_reached` does not
    /// hold. The switches that remain keep their order.
    #[must_use]
    pub fn after_loss(
        &self,
        loss: &Loss,
        is_reached: impl Fn(SwitchIdx) -> bool,
    ) -> RemainingTopology {
        self.after_change(loss, &Additions::default(), is_reached)
    }

    /// As [`Self::after_loss`], with what is added after the loss. Added links have the highest
    /// rate of the graph, and operate as many VLs as all of its links.
    #[must_use]
    pub fn after_change(
        &self,
        loss: &Loss,
        additions: &Additions,
        is_reached: impl Fn(SwitchIdx) -> bool,
    ) -> RemainingTopology {
        let remains = |s: &SwitchIdx| !loss.switches.contains(s) && is_reached(*s);
        let before: Vec<SwitchIdx> = self.switches().filter(remains).collect();
        let mut switches = before.clone();
        let mut builder = TopologyBuilder::new();
        for (n, added) in additions.switches.iter().enumerate() {
            let s = SwitchIdx::from_index(self.num_switches() + n);
            if is_reached(s) {
                switches.push(s);
            }
            debug_assert!(added.num_ports > 0, "an added switch has ports");
        }
        for &s in &switches {
            if let Some(added) = s
                .index()
                .checked_sub(self.num_switches())
                .and_then(|n| additions.switches.get(n))
            {
                builder.switch(added.num_ports, added.lid);
                continue;
            }
            let at = builder.switch(self.num_ports(s), self.lid(s));
            builder.switch_lids(at, self.lid_count(s));
        }
        let new_index = |s: &SwitchIdx| switches.binary_search(s).ok().map(SwitchIdx::from_index);
        for (at, &s) in before.iter().enumerate() {
            let at = SwitchIdx::from_index(at);
            for link in self.links(s).iter().filter(|link| !loss.includes(s, link)) {
                if let Some(peer) = new_index(&link.peer) {
                    builder.link((at, link.port), (peer, link.peer_port));
                }
            }
            let end_ports = self.end_ports(s).iter();
            for end in end_ports.filter(|end| !loss.includes_end_port(s, end.port)) {
                builder.end_port((at, end.port), end.lid, end.count);
            }
            for port in (1..=self.num_ports(s)).map(PortNum) {
                builder.vls((at, port), self.operated_vls(s, port));
                builder.rate((at, port), self.rate(s, port).unwrap_or(0));
            }
        }
        let of_all_links = self.switches().flat_map(|s| {
            let links = self.links(s).iter();
            links.map(move |link| (self.operated_vls(s, link.port), self.rate(s, link.port)))
        });
        let (vls, mbps) = of_all_links.fold((DATA_VLS_MAX, 0), |(vls, mbps), (v, rate)| {
            (vls.min(v), mbps.max(rate.unwrap_or(0)))
        });
        for link in &additions.links {
            let [Some(a), Some(b)] = link.map(|(s, port)| Some((new_index(&s)?, port))) else {
                continue;
            };
            builder.link(a, b);
            builder.vls(a, vls);
            builder.rate(a, mbps);
        }
        for end in &additions.end_ports {
            if let Some(s) = new_index(&end.at.0) {
                builder.end_port((s, end.at.1), end.lid, end.count);
            }
        }
        RemainingTopology {
            topology: builder.build(),
            switches,
        }
    }

    /// The location of a LID.
    #[must_use]
    pub fn destination(&self, lid: Lid) -> Option<&Destination> {
        let at = self.destinations.binary_search_by_key(&lid, |d| d.lid);
        Some(&self.destinations[at.ok()?])
    }
}
