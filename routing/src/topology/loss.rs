//! The graph that remains after a loss.

use std::collections::BTreeSet;

use ferrosm_mad::ids::{Lid, PortNum};

use super::{Destination, SwitchIdx, SwitchLink, Topology, TopologyBuilder};

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

/// A graph of which switches were removed.
#[derive(Debug, Clone)]
pub struct RemainingTopology {
    pub topology: Topology,
    /// By switch of `topology`: the switch of the graph before.
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
        let remains = |s: &SwitchIdx| !loss.switches.contains(s) && is_reached(*s);
        let switches: Vec<SwitchIdx> = self.switches().filter(remains).collect();
        let mut builder = TopologyBuilder::new();
        for &s in &switches {
            let at = builder.switch(self.num_ports(s), self.lid(s));
            builder.switch_lids(at, self.lid_count(s));
        }
        let new_index = |s: &SwitchIdx| switches.binary_search(s).ok().map(SwitchIdx::from_index);
        for (at, &s) in switches.iter().enumerate() {
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
