//! What an operator says about the structure of a fabric: from GUIDs, as side files have them, to the graph of one run.
//!
//! [`GuidHints`] is plain data that stays the same while devices come and go; [`resolve`] looks its GUIDs up in one
//! fabric ([`GuidIndex`]). A GUID that is not there is told and left out: it may be a node that is switched off. Nothing
//! here reads files, and nothing decides what an engine makes of a hint.

mod file_tables;
mod guid_index;

use core::fmt::Write;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use ferrosm_routing::SwitchIdx;
use ferrosm_routing::hints::{Hints, TorusHint, TorusSeed};
use ferrosm_routing::vl_plan::SLS;
use serde::{Deserialize, Serialize};

use crate::fnv::Fnv1a;
pub use guid_index::GuidIndex;

/// So many GUIDs a note names before it counts the rest.
const NAMED_MAX: usize = 4;

/// Everything that side files say, by GUID. The default says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidHints {
    /// `root_guid_file`: switches, by node GUID. The GUID of a CA stands for the switch that it hangs on.
    pub roots: Vec<NodeGuid>,
    /// `cn_guid_file`: port GUIDs of compute nodes.
    pub compute: Option<Vec<PortGuid>>,
    /// `io_guid_file`: port GUIDs of I/O nodes.
    pub io: Option<Vec<PortGuid>>,
    /// `ids_guid_file`: what tells switches of equal rank apart.
    pub ids: Vec<(NodeGuid, u64)>,
    /// `guid_routing_order_file`: end ports that are routed first.
    pub routing_order: Vec<PortGuid>,
    /// `hop_weights_file`: switch, port, hops.
    pub hop_weights: Vec<(NodeGuid, PortNum, u8)>,
    /// `port_search_ordering_file`: switch, ports in the order in which they are tried.
    pub port_order: Vec<(NodeGuid, Vec<PortNum>)>,
    /// `port_prof_ignore_file`: switch ports that carry no load that counts.
    pub not_counted: Vec<(NodeGuid, PortNum)>,
    /// `torus-2QoS.conf`.
    pub torus: Option<GuidTorus>,
    /// `lfts_file` and the lanes that go with it.
    pub file: Option<Arc<GuidTables>>,
}

impl GuidHints {
    /// Whether nothing is said at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// A digest of all hints; 0 without any. Takes time linear in the size of the input files.
    #[must_use]
    pub fn digest(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        let mut fnv = Fnv1a::default();
        // Nothing here can fail. A version that formats hints differently computes routes once more.
        let _written = write!(fnv, "{self:?}");
        fnv.value().max(1)
    }
}

/// `torus-2QoS.conf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidTorus {
    /// Radix of x, y, z.
    pub radix: [u16; 3],
    /// Whether each dimension wraps around.
    pub wraps: [bool; 3],
    /// In the order of the file.
    pub seeds: Vec<GuidSeed>,
    /// `portgroup_max_ports`.
    pub portgroup_max_ports: u16,
    /// `port_order`.
    pub port_order: Vec<PortNum>,
}

/// One seed of a torus.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidSeed {
    /// By direction: x+, x-, y+, y-, z+, z-; from, to.
    pub links: [Option<(NodeGuid, NodeGuid)>; 6],
    /// By dimension.
    pub dateline: [i16; 3],
}

/// Tables as dumps have them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidTables {
    /// By switch: the port of each LID (index), [`PortNum::DROP`] where there is no line.
    pub lfts: Vec<(NodeGuid, Box<[u8]>)>,
    /// Which port had each LID (index) when the dump was written.
    pub owners: Vec<Option<PortGuid>>,
    /// By switch (its node GUID, or that of its port 0): input port, output port, VLs of the 16 SLs.
    pub sl2vl: Vec<(PortGuid, Vec<PairMap>)>,
    /// By source (its node GUID or port GUID): the SL to each LID (index), [`Self::NO_SL`] where there is no line.
    pub path_sl: Vec<(PortGuid, Arc<[u8]>)>,
}

/// Input port, output port, VLs of the 16 SLs.
pub type PairMap = (PortNum, PortNum, [u8; SLS]);

impl GuidTables {
    /// What stands in [`Self::path_sl`] where the file says nothing.
    pub const NO_SL: u8 = 255;
}

/// GUIDs of one file that are not in the fabric, told in one sentence.
struct Missing {
    file: &'static str,
    what: &'static str,
    guids: Vec<u64>,
}

impl Missing {
    const fn new(file: &'static str, what: &'static str) -> Self {
        Self {
            file,
            what,
            guids: Vec::new(),
        }
    }

    /// `found`, or else the GUID is noted.
    fn note<T>(&mut self, guid: u64, found: Option<T>) -> Option<T> {
        if found.is_none() && !self.guids.contains(&guid) {
            self.guids.push(guid);
        }
        found
    }

    fn tell(self, notes: &mut Vec<String>) {
        if self.guids.is_empty() {
            return;
        }
        let named: Vec<String> = self.guids.iter().take(NAMED_MAX).map(|g| hex(*g)).collect();
        let rest = match self.guids.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        notes.push(format!(
            "{}: no {} in this fabric has the GUID {}{rest}",
            self.file,
            self.what,
            named.join(", ")
        ));
    }
}

fn hex(guid: u64) -> String {
    format!("{guid:#018x}")
}

/// Looks everything up. The notes say what could not be used, one sentence each.
#[must_use]
pub fn resolve(said: &GuidHints, places: &GuidIndex) -> (Hints, Vec<String>) {
    let mut notes = Vec::new();
    let hints = Hints {
        roots: roots(&said.roots, places, &mut notes),
        compute: said
            .compute
            .as_ref()
            .map(|g| ends("cn_guid_file", g, places, &mut notes)),
        io: said
            .io
            .as_ref()
            .map(|g| ends("io_guid_file", g, places, &mut notes)),
        ids: look_up(
            ("ids_guid_file", "switch"),
            &said.ids,
            places,
            &mut notes,
            |at, (guid, id)| Some((at.switch(*guid)?.0, *id)),
        ),
        routing_order: ends(
            "guid_routing_order_file",
            &said.routing_order,
            places,
            &mut notes,
        ),
        hop_weights: look_up(
            ("hop_weights_file", "switch"),
            &said.hop_weights,
            places,
            &mut notes,
            |at, &(guid, port, hops)| Some((at.switch_port(guid, port)?, port, hops)),
        ),
        port_order: look_up(
            ("port_search_ordering_file", "switch"),
            &said.port_order,
            places,
            &mut notes,
            port_order,
        ),
        not_counted: look_up(
            ("port_prof_ignore_file", "switch"),
            &said.not_counted,
            places,
            &mut notes,
            |at, &(guid, port)| Some((at.switch_port(guid, port)?, port)),
        ),
        torus: said.torus.as_ref().map(|t| torus(t, places, &mut notes)),
        file: said
            .file
            .as_ref()
            .map(|t| Arc::new(file_tables::resolve(t, places, &mut notes))),
    };
    (hints, notes)
}

fn roots(said: &[NodeGuid], places: &GuidIndex, notes: &mut Vec<String>) -> Vec<SwitchIdx> {
    let mut missing = Missing::new("root_guid_file", "switch");
    let mut found = Vec::new();
    for guid in said {
        let switch = places.find_switch(guid.0).map(|(s, _)| s).or_else(|| {
            let beside = places.beside(guid.0)?;
            notes.push(format!(
                "root_guid_file: {guid} is no switch, the switch that it hangs on is taken as a root"
            ));
            Some(beside)
        });
        if let Some(switch) = missing.note(guid.0, switch)
            && !found.contains(&switch)
        {
            found.push(switch);
        }
    }
    missing.tell(notes);
    found
}

/// Looks up what one file says, item by item.
struct Lookup<'a> {
    file: &'static str,
    places: &'a GuidIndex,
    missing: Missing,
    notes: &'a mut Vec<String>,
}

impl Lookup<'_> {
    /// The switch with this GUID, and how many ports it has; otherwise it is noted.
    fn switch(&mut self, guid: NodeGuid) -> Option<(SwitchIdx, u8)> {
        self.missing.note(guid.0, self.places.find_switch(guid.0))
    }

    /// The switch, if it has that port; otherwise it is noted.
    fn switch_port(&mut self, guid: NodeGuid, port: PortNum) -> Option<SwitchIdx> {
        let (switch, ports) = self.switch(guid)?;
        if port == PortNum::ZERO || port.raw() > ports {
            let file = self.file;
            self.notes.push(format!(
                "{file}: switch {guid} has ports 1 to {ports}, and no port {port}"
            ));
            return None;
        }
        Some(switch)
    }
}

/// What of a file was found; the rest is noted.
fn look_up<T, R>(
    (file, what): (&'static str, &'static str),
    said: &[T],
    places: &GuidIndex,
    notes: &mut Vec<String>,
    mut find: impl FnMut(&mut Lookup<'_>, &T) -> Option<R>,
) -> Vec<R> {
    let mut lookup = Lookup {
        file,
        places,
        missing: Missing::new(file, what),
        notes,
    };
    let found = said.iter().filter_map(|item| find(&mut lookup, item));
    let found = found.collect();
    lookup.missing.tell(lookup.notes);
    found
}

fn ends(
    file: &'static str,
    said: &[PortGuid],
    places: &GuidIndex,
    notes: &mut Vec<String>,
) -> Vec<Lid> {
    look_up((file, "port with a LID"), said, places, notes, |at, g| {
        at.missing.note(g.0, places.lid(*g))
    })
}

/// A port that the switch has not got is left out alone, not the whole line with it.
fn port_order(
    at: &mut Lookup<'_>,
    (guid, ports): &(NodeGuid, Vec<PortNum>),
) -> Option<(SwitchIdx, Vec<PortNum>)> {
    let found = ports
        .iter()
        .filter_map(|port| Some((at.switch_port(*guid, *port)?, *port)));
    let (switches, there): (Vec<_>, Vec<_>) = found.unzip();
    Some((*switches.first()?, there))
}

fn torus(said: &GuidTorus, places: &GuidIndex, notes: &mut Vec<String>) -> TorusHint {
    let mut missing = Missing::new("torus-2QoS.conf", "switch");
    let mut seeds = Vec::new();
    for seed in &said.seeds {
        let mut links = [None; 6];
        for (place, link) in links.iter_mut().zip(&seed.links) {
            let Some((from, to)) = link else { continue };
            let from = missing.note(from.0, places.find_switch(from.0));
            let to = missing.note(to.0, places.find_switch(to.0));
            *place = from.zip(to).map(|((a, _), (b, _))| (a, b));
        }
        // A seed with a switch that is gone is no seed: the next one is for that.
        if links
            .iter()
            .map(Option::is_some)
            .eq(seed.links.iter().map(Option::is_some))
        {
            seeds.push(TorusSeed {
                links,
                dateline: seed.dateline,
            });
        }
    }
    missing.tell(notes);
    TorusHint {
        radix: said.radix,
        wraps: said.wraps,
        seeds,
        portgroup_max_ports: said.portgroup_max_ports,
        port_order: said.port_order.clone(),
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lmc;

    use super::*;

    pub(super) const A: NodeGuid = NodeGuid(0xA0);
    const B: NodeGuid = NodeGuid(0xB0);

    /// Switches A (LID 1, 4 ports) and B (LID 2, 2 ports); hosts 0x11 (LID 4 and 5) on A, 0x21 (LID 7) on B.
    pub(super) fn places() -> GuidIndex {
        let mut p = GuidIndex::new();
        p.switch(SwitchIdx(0), 4, A, PortGuid(0xA1), (Lid(1), Lmc(0)));
        p.switch(SwitchIdx(1), 2, B, PortGuid(0xB0), (Lid(2), Lmc(0)));
        p.end_port(
            SwitchIdx(0),
            NodeGuid(0x10),
            PortGuid(0x11),
            (Lid(4), Lmc(1)),
        );
        p.end_port(
            SwitchIdx(1),
            NodeGuid(0x20),
            PortGuid(0x21),
            (Lid(7), Lmc(0)),
        );
        p
    }

    #[test]
    fn nothing_said_is_nothing_hinted() {
        assert!(GuidHints::default().is_empty());
        let (hints, notes) = resolve(&GuidHints::default(), &places());
        assert_eq!((hints, notes.len()), (Hints::default(), 0));
    }

    /// A root may be a switch, a CA (by node or port), or gone.
    #[test]
    fn roots_are_switches_and_a_ca_stands_for_its_switch() {
        let said = GuidHints {
            roots: vec![B, NodeGuid(0x10), NodeGuid(0x21), NodeGuid(0x99)],
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&said, &places());
        assert_eq!(hints.roots, [SwitchIdx(1), SwitchIdx(0)]);
        assert_eq!(notes.len(), 3, "{notes:?}");
        assert!(notes[0].contains("0x0000000000000010 is no switch"));
        assert_eq!(
            notes[2],
            "root_guid_file: no switch in this fabric has the GUID 0x0000000000000099"
        );
    }

    #[test]
    fn end_ports_become_base_lids_in_the_order_of_the_file() {
        let said = GuidHints {
            compute: Some(vec![PortGuid(0x21), PortGuid(0x11)]),
            io: Some(vec![PortGuid(0x77)]),
            routing_order: vec![PortGuid(0xA1), PortGuid(0x21)],
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&said, &places());
        assert_eq!(hints.compute, Some(vec![Lid(7), Lid(4)]));
        assert_eq!(hints.io, Some(Vec::new()), "an empty list is not no list");
        assert_eq!(hints.routing_order, [Lid(1), Lid(7)]);
        assert!(notes[0].starts_with("io_guid_file"), "{notes:?}");
    }

    /// B has two ports: a weight of its port 3, and port 3 in its order, are told and left out.
    #[test]
    fn ports_that_a_switch_has_not_got_are_left_out() {
        let said = GuidHints {
            ids: vec![(A, 5), (NodeGuid(0x99), 6)],
            hop_weights: vec![(A, PortNum(4), 3), (B, PortNum(3), 2)],
            port_order: vec![(B, vec![PortNum(3), PortNum(2)])],
            not_counted: vec![(B, PortNum(1)), (B, PortNum(0))],
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&said, &places());
        assert_eq!(hints.ids, [(SwitchIdx(0), 5)]);
        assert_eq!(hints.hop_weights, [(SwitchIdx(0), PortNum(4), 3)]);
        assert_eq!(hints.port_order, [(SwitchIdx(1), vec![PortNum(2)])]);
        assert_eq!(hints.not_counted, [(SwitchIdx(1), PortNum(1))]);
        assert_eq!(notes.len(), 4, "{notes:?}");
        assert_eq!(
            notes[1],
            "hop_weights_file: switch 0x00000000000000b0 has ports 1 to 2, and no port 3"
        );
    }

    #[test]
    fn a_seed_with_a_switch_that_is_gone_is_left_out() {
        let seed = |to| GuidSeed {
            links: [Some((A, to)), None, None, None, None, None],
            dateline: [1, 0, 0],
        };
        let said = GuidHints {
            torus: Some(GuidTorus {
                radix: [4, 1, 1],
                wraps: [true; 3],
                seeds: vec![seed(NodeGuid(0x99)), seed(B)],
                portgroup_max_ports: 16,
                port_order: Vec::new(),
            }),
            ..GuidHints::default()
        };
        let (hints, notes) = resolve(&said, &places());
        let seeds = hints.torus.unwrap().seeds;
        assert_eq!(seeds.len(), 1);
        assert_eq!(seeds[0].links[0], Some((SwitchIdx(0), SwitchIdx(1))));
        assert_eq!(seeds[0].dateline, [1, 0, 0]);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
}
