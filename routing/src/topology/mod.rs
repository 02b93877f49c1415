//! The graph for engines and verification: switches, links, end ports, and the owner of each LID.
//!
//! The subnet manager builds it once per routing run; it is immutable afterwards. It has no GUIDs
//! and no port states: the caller omits links that must not carry traffic. Link rates are optional
//! and affect quality figures only. Invalid input (a nonexistent port, a port with two links, a LID
//! with two owners) never panics: the first entry is valid, later ones are ignored.

mod channel_index;
pub(crate) mod graph;
mod loss;
mod port_channels;
mod port_set;

pub(crate) use channel_index::{
    ChannelIndex, ChannelNumbering, NONE, index_to_u8, index_to_u16, index_to_u32,
};
pub use loss::{AddedEndPort, AddedSwitch, Additions, Loss, RemainingTopology};
pub(crate) use port_channels::PortChannels;
pub use port_set::PortSet;

use graph::Graph;
use port_channels::SwitchPort;

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use serde::{Deserialize, Serialize};

/// Maximum number of data VLs of a port (VL15 is for management).
pub const DATA_VLS_MAX: u8 = 15;

/// Index of a switch in one [`Topology`], in the order of the calls of [`TopologyBuilder::switch`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct SwitchIdx(pub u32);

impl SwitchIdx {
    /// As an index into a per-switch array.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The switch at an index of a per-switch array.
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self(index_to_u32(index))
    }
}

/// A link between two different switches, from one side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwitchLink {
    /// The port on this side.
    pub port: PortNum,
    /// The switch on the other side.
    pub peer: SwitchIdx,
    /// The port on the other side.
    pub peer_port: PortNum,
}

/// A CA or router port that is attached to a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AttachedEndPort {
    /// The switch port.
    pub port: PortNum,
    /// Its base LID.
    pub lid: Lid,
    /// Number of its consecutive LIDs (2^LMC).
    pub count: u16,
}

/// A LID with its location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    pub lid: Lid,
    /// The switch that owns the LID, or to which the end port is attached.
    pub switch: SwitchIdx,
    /// The port of that switch; 0: the switch itself.
    pub port: PortNum,
}

/// Builds a [`Topology`] from switches, links and end ports in any order.
#[derive(Debug, Default, Clone)]
pub struct TopologyBuilder {
    switches: Vec<SwitchSpec>,
    links: Vec<(SwitchPort, SwitchPort)>,
    end_ports: Vec<(SwitchIdx, AttachedEndPort)>,
    vls: Vec<((SwitchIdx, PortNum), u8)>,
    rates: Vec<((SwitchIdx, PortNum), u32)>,
}

/// A link between two switches that runs below the rate that both support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegradedLink {
    /// One end.
    pub a: (SwitchIdx, PortNum),
    /// The other end.
    pub b: (SwitchIdx, PortNum),
    /// Its rate, in Mb/s.
    pub mbps: u32,
    /// The highest rate that both switches have on some port, in Mb/s.
    pub supported_mbps: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SwitchSpec {
    num_ports: u8,
    lid: Lid,
    lids: u16,
}

impl TopologyBuilder {
    /// An empty fabric.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a switch with `num_ports` external ports. `lid` is the base LID of port 0; a switch
    /// with LID 0 forwards packets but is not a destination.
    pub fn switch(&mut self, num_ports: u8, lid: Lid) -> SwitchIdx {
        self.switches.push(SwitchSpec {
            num_ports,
            lid,
            lids: 1,
        });
        SwitchIdx::from_index(self.switches.len() - 1)
    }

    /// Sets the number of LIDs (2^LMC) of an enhanced port 0; 1 by default.
    pub fn switch_lids(&mut self, s: SwitchIdx, count: u16) {
        if let Some(spec) = self.switches.get_mut(s.index()) {
            spec.lids = count;
        }
    }

    /// Adds a link between two switches. A link that is added from both ends counts once. A
    /// loopback link (both ends on one switch) is accepted and carries no traffic.
    pub fn link(&mut self, a: (SwitchIdx, PortNum), b: (SwitchIdx, PortNum)) {
        self.links.push((a, b));
    }

    /// Adds a CA or router port with `count` (2^LMC) LIDs from `lid`. A port with LID 0 is not a
    /// destination.
    pub fn end_port(&mut self, at: (SwitchIdx, PortNum), lid: Lid, count: u16) {
        self.end_ports.push((
            at.0,
            AttachedEndPort {
                port: at.1,
                lid,
                count,
            },
        ));
    }

    /// Sets the number of data VLs that a switch port operates, 1 to 15; 15 by default. Both ends
    /// of a link operate the lower of their two numbers.
    pub fn vls(&mut self, at: (SwitchIdx, PortNum), count: u8) {
        self.vls.push((at, count));
    }

    /// Sets the rate of the link at a switch port, in Mb/s (active width times active speed); 0:
    /// unknown. If the two ends of a link have different rates, the lower one applies.
    pub fn rate(&mut self, at: (SwitchIdx, PortNum), mbps: u32) {
        self.rates.push((at, mbps));
    }

    /// Builds the graph.
    #[must_use]
    pub fn build(self) -> Topology {
        let num_ports = self.switches.iter().map(|spec| spec.num_ports);
        let ports = PortChannels::new(num_ports, &self.links);
        let external_port =
            |(s, port): SwitchPort| ports.port(s, port).filter(|_| port != PortNum::ZERO);
        let both_ends = |port: usize| {
            let peer = ports.head(port).map(|(v, p)| ports.output_channel(v, p));
            std::iter::once(port).chain(peer)
        };
        let mut vls = vec![DATA_VLS_MAX; ports.len()];
        for &(at, count) in &self.vls {
            if let Some(i) = external_port(at) {
                for port in both_ends(i) {
                    vls[port] = vls[port].min(count.max(1));
                }
            }
        }
        let vls: Arc<[u8]> = vls.into();
        let mut rates = vec![0; ports.len()];
        for &(at, mbps) in self.rates.iter().filter(|(_, mbps)| *mbps > 0) {
            if let Some(i) = external_port(at) {
                for port in both_ends(i) {
                    rates[port] = if rates[port] == 0 {
                        mbps
                    } else {
                        mbps.min(rates[port])
                    };
                }
            }
        }
        let mut end_ports: Vec<(SwitchIdx, AttachedEndPort)> = self
            .end_ports
            .into_iter()
            .filter(|&(s, e)| external_port((s, e.port)).is_some_and(|i| ports.head(i).is_none()))
            .collect();
        end_ports.sort_by_key(|&(s, e)| (s, e.port));
        end_ports.dedup_by_key(|&mut (s, e)| (s, e.port));

        let mut links = Vec::new();
        let mut link_base = vec![0];
        for (i, spec) in self.switches.iter().enumerate() {
            links.extend((1..=spec.num_ports).filter_map(|p| {
                let (peer, peer_port) = ports.peer(i, p)?;
                Some(SwitchLink {
                    port: PortNum(p),
                    peer: SwitchIdx::from_index(peer),
                    peer_port: PortNum(peer_port),
                })
            }));
            link_base.push(links.len());
        }

        let owners = self
            .switches
            .iter()
            .enumerate()
            .map(|(i, spec)| (SwitchIdx::from_index(i), PortNum::ZERO, spec.lid, spec.lids))
            .chain(end_ports.iter().map(|&(s, e)| (s, e.port, e.lid, e.count)));
        let mut owner: Vec<Option<Destination>> = Vec::new();
        for (switch, port, base, count) in owners {
            for raw in (u32::from(base.raw())..).take(usize::from(count)) {
                let Some(lid) = u16::try_from(raw).ok().map(Lid).filter(|l| l.is_unicast()) else {
                    continue;
                };
                let index = usize::from(lid.raw());
                if owner.len() <= index {
                    owner.resize(index + 1, None);
                }
                owner[index].get_or_insert(Destination { lid, switch, port });
            }
        }
        let top_lid = Lid(u16::try_from(owner.len().saturating_sub(1)).unwrap_or(0));
        let destinations: Vec<Destination> = owner.into_iter().flatten().collect();

        let mut by_switch = destinations.clone();
        by_switch.sort_by_key(|d| (d.switch, d.port, d.lid));
        let mut dest_base = vec![0];
        for i in 0..self.switches.len() {
            dest_base.push(by_switch.partition_point(|d| d.switch.index() <= i));
        }
        let mut end_base = vec![0];
        for i in 0..self.switches.len() {
            end_base.push(end_ports.partition_point(|(s, _)| s.index() <= i));
        }
        let mut topo = Topology {
            switches: self.switches.into(),
            ports: Arc::new(ports),
            operated_vls: Arc::clone(&vls),
            vls,
            rates: rates.into(),
            links: links.into(),
            link_base: link_base.into(),
            end_ports: end_ports.into_iter().map(|(_, e)| e).collect(),
            end_base: end_base.into(),
            destinations: destinations.into(),
            by_switch: by_switch.into(),
            dest_base: dest_base.into(),
            top_lid,
            graph: Arc::default(),
        };
        topo.graph = Arc::new(Graph::new(&topo));
        topo
    }
}

/// An immutable graph of switches, in compressed sparse rows. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    switches: Arc<[SwitchSpec]>,
    /// Numbers of all ports, and their links.
    ports: Arc<PortChannels>,
    /// Data VLs that routes may use, by port number.
    vls: Arc<[u8]>,
    /// Data VLs that ports operate, by port number; fewer than `vls` only at leaves
    /// ([`Self::with_narrow_leaves`]).
    operated_vls: Arc<[u8]>,
    /// Mb/s by port number; 0: unknown.
    rates: Arc<[u32]>,
    links: Arc<[SwitchLink]>,
    link_base: Arc<[usize]>,
    end_ports: Arc<[AttachedEndPort]>,
    end_base: Arc<[usize]>,
    /// By LID.
    destinations: Arc<[Destination]>,
    /// By switch, port, LID.
    by_switch: Arc<[Destination]>,
    dest_base: Arc<[usize]>,
    top_lid: Lid,
    /// Neighbours, derived from the links.
    graph: Arc<Graph>,
}

impl Topology {
    /// Ports of all switches by number, with their links.
    pub(crate) fn port_channels(&self) -> &Arc<PortChannels> {
        &self.ports
    }

    /// The neighbours of switches and the channels between them.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    fn first_port(&self, s: SwitchIdx) -> usize {
        self.ports.output_channel(s.index(), 0)
    }

    /// Number of switches.
    #[must_use]
    pub fn num_switches(&self) -> usize {
        self.switches.len()
    }

    /// All switches, in order.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = SwitchIdx> + use<> {
        (0..self.switches.len()).map(SwitchIdx::from_index)
    }

    /// Number of external ports of a switch.
    #[must_use]
    pub fn num_ports(&self, s: SwitchIdx) -> u8 {
        self.switches[s.index()].num_ports
    }

    /// Base LID of port 0; [`Lid::NONE`] if it has none.
    #[must_use]
    pub fn lid(&self, s: SwitchIdx) -> Lid {
        self.switches[s.index()].lid
    }

    /// Identifies a switch independently of the discovery order: by its LID, or, without a LID, by
    /// its lowest end-port LID and the LIDs and ports of its neighbours.
    fn stable_key(&self, s: SwitchIdx) -> (Lid, Lid, Vec<(Lid, PortNum)>) {
        let lid = self.lid(s);
        if lid != Lid::NONE {
            return (lid, Lid::NONE, Vec::new());
        }
        let host = self.end_ports(s).iter().map(|e| e.lid).min();
        let mut neighbours: Vec<(Lid, PortNum)> = self
            .links(s)
            .iter()
            .map(|l| (self.lid(l.peer), l.peer_port))
            .collect();
        neighbours.sort_unstable();
        (lid, host.unwrap_or(Lid::NONE), neighbours)
    }

    /// Switches by LID, or by their neighbours if they have none: an order that does not depend on
    /// the discovery order.
    pub(crate) fn by_lid(&self) -> Vec<SwitchIdx> {
        let mut switches: Vec<SwitchIdx> = self.switches().collect();
        switches.sort_by_cached_key(|&s| (self.stable_key(s), s));
        switches
    }

    /// Number of LIDs of port 0.
    #[must_use]
    pub fn lid_count(&self, s: SwitchIdx) -> u16 {
        self.switches[s.index()].lids
    }

    /// The switch port at the other end of the link, if there is a link to another switch.
    #[must_use]
    pub fn neighbor(&self, s: SwitchIdx, port: PortNum) -> Option<(SwitchIdx, PortNum)> {
        let (peer, peer_port) = self.ports.peer(s.index(), port.raw())?;
        Some((SwitchIdx::from_index(peer), PortNum(peer_port)))
    }

    /// Whether it has the switches and LIDs of another graph, and all of its links.
    pub(crate) fn extends(&self, other: &Self) -> bool {
        let has_all = |s| {
            let mut links = other.links(s).iter();
            links.all(|l| self.neighbor(s, l.port) == Some((l.peer, l.peer_port)))
        };
        self.switches == other.switches
            && self.destinations == other.destinations
            && self.end_ports == other.end_ports
            && self.switches().all(has_all)
    }

    /// Links of a switch to other switches, by port number.
    #[must_use]
    pub fn links(&self, s: SwitchIdx) -> &[SwitchLink] {
        &self.links[self.link_base[s.index()]..self.link_base[s.index() + 1]]
    }

    /// CA and router ports attached to a switch, with their LIDs, by number of the switch port;
    /// port 0 is not included.
    #[must_use]
    pub fn end_ports(&self, s: SwitchIdx) -> &[AttachedEndPort] {
        &self.end_ports[self.end_base[s.index()]..self.end_base[s.index() + 1]]
    }

    /// All LIDs in use, ascending.
    #[must_use]
    pub fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    /// LIDs of a switch and of its end ports, by port number (port 0 first), then LID.
    #[must_use]
    pub fn destinations_on(&self, s: SwitchIdx) -> &[Destination] {
        &self.by_switch[self.dest_base[s.index()]..self.dest_base[s.index() + 1]]
    }

    /// Highest LID in use; [`Lid::NONE`] if there is none.
    #[must_use]
    pub fn top_lid(&self) -> Lid {
        self.top_lid
    }

    /// Data VLs that routes may use on the channel of a port, 1 to 15: those that it operates,
    /// except at a narrow leaf.
    #[must_use]
    pub fn vls(&self, s: SwitchIdx, port: PortNum) -> u8 {
        self.ports.port(s, port).map_or(1, |i| self.vls[i])
    }

    /// Data VLs that a port operates, 1 to 15.
    #[must_use]
    pub fn operated_vls(&self, s: SwitchIdx, port: PortNum) -> u8 {
        self.ports.port(s, port).map_or(1, |i| self.operated_vls[i])
    }

    /// The graph in which routes may use all VLs on the links of these switches, each of which has
    /// one neighbour. A link that operates fewer VLs carries several of them on one
    /// ([`crate::VlPlan::map`]). That adds no credit loop: nothing enters the channels of such a
    /// switch from another channel, and nothing leaves it to one.
    #[must_use]
    pub(crate) fn with_narrow_leaves(&self, leaves: &[SwitchIdx]) -> Self {
        let mut vls = self.vls.to_vec();
        for &s in leaves {
            for l in self.links(s) {
                let ends = [(s, l.port), (l.peer, l.peer_port)];
                for i in ends
                    .iter()
                    .filter_map(|&(s, port)| self.ports.port(s, port))
                {
                    vls[i] = DATA_VLS_MAX;
                }
            }
        }
        Self {
            vls: vls.into(),
            ..self.clone()
        }
    }

    /// Data VLs that routes may use on every channel between switches, 1 to 15.
    #[must_use]
    pub fn common_vls(&self) -> u8 {
        let vls_of_links = |s: SwitchIdx| self.links(s).iter().map(move |l| self.vls(s, l.port));
        self.switches()
            .flat_map(vls_of_links)
            .min()
            .unwrap_or(DATA_VLS_MAX)
    }

    /// Rate of the link at a port, in Mb/s; `None` if unknown.
    #[must_use]
    pub fn rate(&self, s: SwitchIdx, port: PortNum) -> Option<u32> {
        let mbps = self.rates[self.ports.port(s, port)?];
        (mbps > 0).then_some(mbps)
    }

    /// Links between switches that run below their possible rate: both switches have a faster port.
    /// A link between switches of different generations, at the rate of the slower one, is not
    /// degraded.
    #[must_use]
    pub fn degraded_links(&self) -> Vec<DegradedLink> {
        let best_rate = |s: SwitchIdx| {
            let ports = self.ports.ports(s.index());
            let rates = &self.rates[self.first_port(s)..][..ports];
            rates.iter().copied().max().unwrap_or(0)
        };
        let best: Vec<u32> = self.switches().map(best_rate).collect();
        let links = self
            .switches()
            .flat_map(|s| self.links(s).iter().map(move |l| (s, l)));
        links
            .filter_map(|(s, l)| {
                let a = (s, l.port);
                let b = (l.peer, l.peer_port);
                let mbps = self.rate(s, l.port)?;
                let supported_mbps = best[s.index()].min(best[l.peer.index()]);
                (a < b && mbps < supported_mbps).then_some(DegradedLink {
                    a,
                    b,
                    mbps,
                    supported_mbps,
                })
            })
            .collect()
    }

    /// A copy with some switches reduced to the link at one port.
    #[must_use]
    pub fn with_limited(&self, limited: &BTreeMap<SwitchIdx, Option<PortNum>>) -> Self {
        self.with_links(|s, link| {
            let only = limited.get(&s);
            only.is_none_or(|only| *only == Some(link.port))
        })
    }

    /// The graph with those links for which `is_retained` holds at both ends.
    #[must_use]
    pub(crate) fn with_links(&self, is_retained: impl Fn(SwitchIdx, &SwitchLink) -> bool) -> Self {
        let mut builder = TopologyBuilder {
            switches: self.switches.to_vec(),
            ..TopologyBuilder::default()
        };
        for s in self.switches() {
            for l in self.links(s) {
                let reverse = SwitchLink {
                    port: l.peer_port,
                    peer: s,
                    peer_port: l.port,
                };
                if is_retained(s, l) && is_retained(l.peer, &reverse) {
                    builder.link((s, l.port), (l.peer, l.peer_port));
                }
            }
            builder
                .end_ports
                .extend(self.end_ports(s).iter().map(|e| (s, *e)));
            for port in (1..=self.num_ports(s)).map(PortNum) {
                builder.vls((s, port), self.operated_vls(s, port));
                builder.rate((s, port), self.rate(s, port).unwrap_or(0));
            }
        }
        Self {
            vls: Arc::clone(&self.vls),
            ..builder.build()
        }
    }

    /// Number of directed switch-to-switch channels.
    #[must_use]
    pub fn num_channels(&self) -> usize {
        self.links.len()
    }
}
