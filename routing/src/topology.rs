//! The graph that engines see: switches, the cables between them, and who owns which LID.
//!
//! Built once per routing run by the subnet manager, immutable afterwards, shared by the engines
//! and the proof. It knows no GUIDs and no port states: a link that must not carry traffic is simply not
//! entered. Rates of links are there where somebody said them; nothing depends on them but figures of quality. Bad
//! input (a port that does not exist, a port cabled twice, a LID claimed twice) is never a panic here: the first
//! claim stands, the later one is left out.

use ferrosm_mad::ids::{Lid, PortNum};

/// Most data VLs that a port can have (VL15 is for management).
pub const DATA_VLS_MAX: u8 = 15;

/// A switch of one [`Topology`]: dense, in the order in which [`TopologyBuilder::switch`] was
/// called.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SwitchIdx(pub u32);

impl SwitchIdx {
    /// As an index into a per-switch array.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The switch at this place of a per-switch array.
    pub(crate) fn at(index: usize) -> Self {
        Self(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// One end of a cable between two different switches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Link {
    /// The port on this side.
    pub port: PortNum,
    /// The switch on the other side.
    pub peer: SwitchIdx,
    /// The port on the other side.
    pub peer_port: PortNum,
}

/// A CA or router port cabled to a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndPort {
    /// The switch port that it hangs on.
    pub port: PortNum,
    /// Its base LID.
    pub lid: Lid,
    /// How many consecutive LIDs it answers to (2^LMC).
    pub count: u16,
}

/// One LID that tables must lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The LID.
    pub lid: Lid,
    /// The switch where packets for it end, or leave towards the end port.
    pub switch: SwitchIdx,
    /// The port of that switch on which it lives: 0 is the switch itself.
    pub port: PortNum,
}

/// Collects switches, cables and end ports in any order.
#[derive(Debug, Default, Clone)]
pub struct TopologyBuilder {
    switches: Vec<SwitchSpec>,
    links: Vec<((SwitchIdx, PortNum), (SwitchIdx, PortNum))>,
    end_ports: Vec<(SwitchIdx, EndPort)>,
    vls: Vec<((SwitchIdx, PortNum), u8)>,
    rates: Vec<((SwitchIdx, PortNum), u32)>,
}

/// A cable between two switches that is slower than both of them can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegradedLink {
    /// One end.
    pub a: (SwitchIdx, PortNum),
    /// The other end.
    pub b: (SwitchIdx, PortNum),
    /// Its rate, in Mb/s.
    pub mbps: u32,
    /// The rate that a port of each of the two switches has, in Mb/s.
    pub could_mbps: u32,
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

    /// Adds a switch with this many external ports. `lid` is port 0's base LID; a switch without
    /// one (LID 0) forwards but is no destination.
    pub fn switch(&mut self, num_ports: u8, lid: Lid) -> SwitchIdx {
        self.switches.push(SwitchSpec {
            num_ports,
            lid,
            lids: 1,
        });
        SwitchIdx::at(self.switches.len() - 1)
    }

    /// Gives an enhanced port 0 `count` (2^LMC) LIDs instead of one.
    pub fn switch_lids(&mut self, s: SwitchIdx, count: u16) {
        if let Some(spec) = self.switches.get_mut(s.index()) {
            spec.lids = count;
        }
    }

    /// Adds a cable between two switches. A cable entered from both its ends counts once; a
    /// loopback plug (both ends on one switch) is accepted and carries nothing.
    pub fn link(&mut self, a: (SwitchIdx, PortNum), b: (SwitchIdx, PortNum)) {
        self.links.push((a, b));
    }

    /// Adds a CA or router port with `count` (2^LMC) LIDs from `lid`. One without a LID (0) is not
    /// routed to.
    pub fn end_port(&mut self, at: (SwitchIdx, PortNum), lid: Lid, count: u16) {
        self.end_ports.push((
            at.0,
            EndPort {
                port: at.1,
                lid,
                count,
            },
        ));
    }

    /// Says how many data VLs a switch port operates, 1 to 15. Ports of which nothing is said have 15. Both ends of a
    /// cable operate the lower number of the two.
    pub fn vls(&mut self, at: (SwitchIdx, PortNum), count: u8) {
        self.vls.push((at, count));
    }

    /// Says how fast the link at a switch port is, in Mb/s (active width times active speed). Of two rates that are said of
    /// a cable the lower one holds; 0 says nothing.
    pub fn rate(&mut self, at: (SwitchIdx, PortNum), mbps: u32) {
        self.rates.push((at, mbps));
    }

    /// Freezes the graph.
    #[must_use]
    pub fn build(self) -> Topology {
        let mut port_base = Vec::with_capacity(self.switches.len() + 1);
        let mut flat = 0usize;
        for spec in &self.switches {
            port_base.push(flat);
            flat += usize::from(spec.num_ports) + 1;
        }
        port_base.push(flat);
        let exists = |(s, p): (SwitchIdx, PortNum)| {
            let spec = self.switches.get(s.index())?;
            (p != PortNum::ZERO && p.raw() <= spec.num_ports)
                .then(|| port_base[s.index()] + p.index())
        };

        let mut peers: Vec<Option<(SwitchIdx, PortNum)>> = vec![None; flat];
        for &(a, b) in &self.links {
            let (Some(ia), Some(ib)) = (exists(a), exists(b)) else {
                continue;
            };
            if a.0 != b.0 && peers[ia].is_none() && peers[ib].is_none() {
                peers[ia] = Some(b);
                peers[ib] = Some(a);
            }
        }
        let mut vls = vec![DATA_VLS_MAX; flat];
        for &(at, count) in &self.vls {
            if let Some(i) = exists(at) {
                let far = peers[i].and_then(exists);
                for end in [Some(i), far].into_iter().flatten() {
                    vls[end] = vls[end].min(count.max(1));
                }
            }
        }
        let mut rates = vec![0; flat];
        for &(at, mbps) in self.rates.iter().filter(|(_, mbps)| *mbps > 0) {
            if let Some(i) = exists(at) {
                let far = peers[i].and_then(exists);
                for end in [Some(i), far].into_iter().flatten() {
                    rates[end] = if rates[end] == 0 {
                        mbps
                    } else {
                        mbps.min(rates[end])
                    };
                }
            }
        }
        let mut end_ports: Vec<(SwitchIdx, EndPort)> = self
            .end_ports
            .into_iter()
            .filter(|&(s, e)| exists((s, e.port)).is_some_and(|i| peers[i].is_none()))
            .collect();
        end_ports.sort_by_key(|&(s, e)| (s, e.port));
        end_ports.dedup_by_key(|&mut (s, e)| (s, e.port));

        let mut links = Vec::new();
        let mut link_base = vec![0];
        for (i, spec) in self.switches.iter().enumerate() {
            links.extend((1..=spec.num_ports).filter_map(|p| {
                let (peer, peer_port) = peers[port_base[i] + usize::from(p)]?;
                Some(Link {
                    port: PortNum(p),
                    peer,
                    peer_port,
                })
            }));
            link_base.push(links.len());
        }

        let claims = self
            .switches
            .iter()
            .enumerate()
            .map(|(i, spec)| (SwitchIdx::at(i), PortNum::ZERO, spec.lid, spec.lids))
            .chain(end_ports.iter().map(|&(s, e)| (s, e.port, e.lid, e.count)));
        let mut owner: Vec<Option<Destination>> = Vec::new();
        for (switch, port, base, count) in claims {
            for raw in (u32::from(base.raw())..).take(usize::from(count)) {
                let Some(lid) = u16::try_from(raw).ok().map(Lid).filter(|l| l.is_unicast()) else {
                    continue;
                };
                let at = usize::from(lid.raw());
                if owner.len() <= at {
                    owner.resize(at + 1, None);
                }
                owner[at].get_or_insert(Destination { lid, switch, port });
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
        Topology {
            switches: self.switches,
            port_base,
            peers,
            vls,
            rates,
            links,
            link_base,
            end_ports: end_ports.into_iter().map(|(_, e)| e).collect(),
            end_base,
            destinations,
            by_switch,
            dest_base,
            top_lid,
        }
    }
}

/// An immutable fabric of switches, in compressed rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    switches: Vec<SwitchSpec>,
    /// First flat port number of each switch (its port 0), and the total.
    port_base: Vec<usize>,
    peers: Vec<Option<(SwitchIdx, PortNum)>>,
    /// Data VLs by flat port number.
    vls: Vec<u8>,
    /// Mb/s by flat port number; 0 where it is not known.
    rates: Vec<u32>,
    links: Vec<Link>,
    link_base: Vec<usize>,
    end_ports: Vec<EndPort>,
    end_base: Vec<usize>,
    /// By LID.
    destinations: Vec<Destination>,
    /// By switch, port, LID.
    by_switch: Vec<Destination>,
    dest_base: Vec<usize>,
    top_lid: Lid,
}

impl Topology {
    /// How many switches there are.
    #[must_use]
    pub fn num_switches(&self) -> usize {
        self.switches.len()
    }

    /// All switches, in order.
    pub fn switches(&self) -> impl ExactSizeIterator<Item = SwitchIdx> + use<> {
        (0..self.switches.len()).map(SwitchIdx::at)
    }

    /// External ports of a switch: 1 to this number.
    #[must_use]
    pub fn num_ports(&self, s: SwitchIdx) -> u8 {
        self.switches[s.index()].num_ports
    }

    /// Base LID of a switch's port 0; [`Lid::NONE`] if it has none.
    #[must_use]
    pub fn lid(&self, s: SwitchIdx) -> Lid {
        self.switches[s.index()].lid
    }

    /// What tells a switch from others, whatever the order of discovery: its LID; of one without a LID what hangs on it, and
    /// the LIDs and ports of its neighbours.
    fn name(&self, s: SwitchIdx) -> (Lid, Lid, Vec<(Lid, PortNum)>) {
        let lid = self.lid(s);
        if lid != Lid::NONE {
            return (lid, Lid::NONE, Vec::new());
        }
        let host = self.end_ports(s).iter().map(|e| e.lid).min();
        let links = self.links(s).iter();
        let mut around: Vec<(Lid, PortNum)> =
            links.map(|l| (self.lid(l.peer), l.peer_port)).collect();
        around.sort_unstable();
        (lid, host.unwrap_or(Lid::NONE), around)
    }

    /// Switches by LID, those without one by what is around them: an order that does not change when the fabric is discovered in
    /// another order.
    pub(crate) fn by_lid(&self) -> Vec<SwitchIdx> {
        let mut all: Vec<SwitchIdx> = self.switches().collect();
        all.sort_by_cached_key(|&s| (self.name(s), s));
        all
    }

    /// How many LIDs port 0 answers to.
    #[must_use]
    pub fn lid_count(&self, s: SwitchIdx) -> u16 {
        self.switches[s.index()].lids
    }

    /// The switch port at the other end of the cable, if it leads to another switch.
    #[must_use]
    pub fn neighbor(&self, s: SwitchIdx, port: PortNum) -> Option<(SwitchIdx, PortNum)> {
        if port.raw() > self.num_ports(s) {
            return None;
        }
        self.peers[self.port_base[s.index()] + port.index()]
    }

    /// Cables of a switch to other switches, by port number.
    #[must_use]
    pub fn links(&self, s: SwitchIdx) -> &[Link] {
        &self.links[self.link_base[s.index()]..self.link_base[s.index() + 1]]
    }

    /// CA and router ports cabled to a switch, by port number.
    #[must_use]
    pub fn end_ports(&self, s: SwitchIdx) -> &[EndPort] {
        &self.end_ports[self.end_base[s.index()]..self.end_base[s.index() + 1]]
    }

    /// Every LID that has an owner, ascending.
    #[must_use]
    pub fn destinations(&self) -> &[Destination] {
        &self.destinations
    }

    /// The LIDs of a switch and of its end ports, by port number (port 0 first), then LID.
    #[must_use]
    pub fn destinations_on(&self, s: SwitchIdx) -> &[Destination] {
        &self.by_switch[self.dest_base[s.index()]..self.dest_base[s.index() + 1]]
    }

    /// The highest LID in use; [`Lid::NONE`] if there is none.
    #[must_use]
    pub fn top_lid(&self) -> Lid {
        self.top_lid
    }

    /// Data VLs that a port operates, 1 to 15.
    #[must_use]
    pub fn vls(&self, s: SwitchIdx, port: PortNum) -> u8 {
        if port.raw() > self.num_ports(s) {
            return 1;
        }
        self.vls[self.port_base[s.index()] + port.index()]
    }

    /// Data VLs that every channel between switches operates, 1 to 15.
    #[must_use]
    pub fn common_vls(&self) -> u8 {
        let of = |s: SwitchIdx| self.links(s).iter().map(move |l| self.vls(s, l.port));
        self.switches().flat_map(of).min().unwrap_or(DATA_VLS_MAX)
    }

    /// How fast the link at a port is, in Mb/s; `None` where nobody said it.
    #[must_use]
    pub fn rate(&self, s: SwitchIdx, port: PortNum) -> Option<u32> {
        if port.raw() > self.num_ports(s) {
            return None;
        }
        Some(self.rates[self.port_base[s.index()] + port.index()]).filter(|mbps| *mbps > 0)
    }

    /// Cables between switches that run slower than they could: both ends have another port that is faster. Where
    /// generations are mixed, a cable is as fast as its slower end, and that is not meant.
    #[must_use]
    pub fn degraded_links(&self) -> Vec<DegradedLink> {
        let best = |s: SwitchIdx| {
            let first = self.port_base[s.index()];
            let all = &self.rates[first..self.port_base[s.index() + 1]];
            all.iter().copied().max().unwrap_or(0)
        };
        let best: Vec<u32> = self.switches().map(best).collect();
        let cables = self
            .switches()
            .flat_map(|s| self.links(s).iter().map(move |l| (s, l)));
        cables
            .filter_map(|(s, l)| {
                let (a, b) = ((s, l.port), (l.peer, l.peer_port));
                let mbps = self.rate(s, l.port)?;
                let could_mbps = best[s.index()].min(best[l.peer.index()]);
                (a < b && mbps < could_mbps).then_some(DegradedLink {
                    a,
                    b,
                    mbps,
                    could_mbps,
                })
            })
            .collect()
    }

    /// Number of directed switch-to-switch channels.
    #[must_use]
    pub fn num_channels(&self) -> usize {
        self.links.len()
    }
}
