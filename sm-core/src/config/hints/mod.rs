//! The operator's routing hints: from GUIDs in OpenSM input files to the graph of one routing run.
//!
//! [`GuidHints`] is independent of the fabric; [`resolve`] looks its GUIDs up in one fabric
//! ([`GuidIndex`]). An absent GUID, for example of a node that is switched off, is ignored with a
//! warning. This module reads no files; engines decide how they use a hint.

mod file_tables;
mod guid_index;
mod warning;

use core::hash::Hasher;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use ferrosm_routing::SwitchIdx;
use ferrosm_routing::hints::{Hints, TorusHint, TorusSeed};
use ferrosm_routing::vl_plan::SLS;
use fnv::FnvHasher;
use serde::{Deserialize, Serialize};

pub use guid_index::GuidIndex;
pub use warning::HintWarning;

/// The contents of the OpenSM input files, by GUID. The default is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidHints {
    /// `root_guid_file`: switches, by node GUID. The GUID of a CA selects the switch to which it is
    /// attached.
    pub roots: Vec<NodeGuid>,
    /// `cn_guid_file`: port GUIDs of compute nodes.
    pub compute_ports: Option<Vec<PortGuid>>,
    /// `io_guid_file`: port GUIDs of I/O nodes.
    pub io: Option<Vec<PortGuid>>,
    /// `ids_guid_file`: identifiers that order switches of equal rank.
    pub ids: Vec<(NodeGuid, u64)>,
    /// `guid_routing_order_file`: end ports that are routed first.
    pub routing_order: Vec<PortGuid>,
    /// `hop_weights_file`: switch, port, hops.
    pub hop_weights: Vec<(NodeGuid, PortNum, u8)>,
    /// `port_search_ordering_file`: switch, ports in search order.
    pub port_order: Vec<(NodeGuid, Vec<PortNum>)>,
    /// `port_prof_ignore_file`: switch ports excluded from load balancing.
    pub load_balance_ignored: Vec<(NodeGuid, PortNum)>,
    /// `torus-2QoS.conf`.
    pub torus: Option<GuidTorus>,
    /// `lfts_file`, with its SLtoVL tables and SLs.
    pub file: Option<Arc<GuidTables>>,
}

impl GuidHints {
    /// Whether there are no hints.
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
        // If another version formats hints differently, routes are computed once more.
        let mut digest = FnvHasher::default();
        digest.write(format!("{self:?}").as_bytes());
        digest.finish().max(1)
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

/// Tables of OpenSM dump files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuidTables {
    /// By switch: the port of each LID (index); [`PortNum::DROP`] for LIDs without a line.
    pub lfts: Vec<(NodeGuid, Box<[u8]>)>,
    /// The owner of each LID (index) when the dump was written.
    pub owners: Vec<Option<PortGuid>>,
    /// By switch (its node GUID, or that of its port 0): input port, output port, VLs of the 16
    /// SLs.
    pub sl2vl: Vec<(PortGuid, Vec<PairMap>)>,
    /// By source (node GUID or port GUID): the SL to each LID (index); [`Self::NO_SL`] for LIDs
    /// without a line.
    pub path_sl: Vec<(PortGuid, Arc<[u8]>)>,
}

/// Input port, output port, VLs of the 16 SLs.
pub type PairMap = (PortNum, PortNum, [u8; SLS]);

impl GuidTables {
    /// The entry of [`Self::path_sl`] for a LID without a line in the file.
    pub const NO_SL: u8 = 255;
}

/// GUIDs of one file that are absent from the fabric, for one warning.
struct AbsentGuids {
    file: &'static str,
    subject: &'static str,
    guids: Vec<u64>,
}

impl AbsentGuids {
    const fn new(file: &'static str, subject: &'static str) -> Self {
        Self {
            file,
            subject,
            guids: Vec::new(),
        }
    }

    /// Returns `value`; records the GUID as absent if it is `None`.
    fn record<T>(&mut self, guid: u64, value: Option<T>) -> Option<T> {
        if value.is_none() && !self.guids.contains(&guid) {
            self.guids.push(guid);
        }
        value
    }

    fn add_warning(self, warnings: &mut Vec<HintWarning>) {
        let Self {
            file,
            subject: what,
            guids,
        } = self;
        if !guids.is_empty() {
            warnings.push(HintWarning::AbsentGuids { file, what, guids });
        }
    }
}

/// Resolves hints in one fabric. Returns a warning for each hint that was ignored.
#[must_use]
pub fn resolve(guid_hints: &GuidHints, index: &GuidIndex) -> (Hints, Vec<HintWarning>) {
    let mut warnings = Vec::new();
    let hints = Hints {
        roots: roots(&guid_hints.roots, index, &mut warnings),
        compute_ports: guid_hints
            .compute_ports
            .as_ref()
            .map(|g| end_port_lids("cn_guid_file", g, index, &mut warnings)),
        io: guid_hints
            .io
            .as_ref()
            .map(|g| end_port_lids("io_guid_file", g, index, &mut warnings)),
        ids: resolve_entries(
            ("ids_guid_file", "switch"),
            &guid_hints.ids,
            index,
            &mut warnings,
            |at, (guid, id)| Some((at.switch(*guid)?.0, *id)),
        ),
        routing_order: end_port_lids(
            "guid_routing_order_file",
            &guid_hints.routing_order,
            index,
            &mut warnings,
        ),
        hop_weights: resolve_entries(
            ("hop_weights_file", "switch"),
            &guid_hints.hop_weights,
            index,
            &mut warnings,
            |at, &(guid, port, hops)| Some((at.switch_port(guid, port)?, port, hops)),
        ),
        port_order: resolve_entries(
            ("port_search_ordering_file", "switch"),
            &guid_hints.port_order,
            index,
            &mut warnings,
            port_order,
        ),
        load_balance_ignored: resolve_entries(
            ("port_prof_ignore_file", "switch"),
            &guid_hints.load_balance_ignored,
            index,
            &mut warnings,
            |at, &(guid, port)| Some((at.switch_port(guid, port)?, port)),
        ),
        torus: guid_hints
            .torus
            .as_ref()
            .map(|t| torus(t, index, &mut warnings)),
        file: guid_hints
            .file
            .as_ref()
            .map(|t| Arc::new(file_tables::resolve(t, index, &mut warnings))),
    };
    (hints, warnings)
}

fn roots(guids: &[NodeGuid], index: &GuidIndex, warnings: &mut Vec<HintWarning>) -> Vec<SwitchIdx> {
    let mut missing = AbsentGuids::new("root_guid_file", "switch");
    let mut results = Vec::new();
    for guid in guids {
        let switch = index.find_switch(guid.0).map(|(s, _)| s).or_else(|| {
            let attached = index.attached_switch(guid.0)?;
            warnings.push(HintWarning::RootNotASwitch(*guid));
            Some(attached)
        });
        if let Some(switch) = missing.record(guid.0, switch)
            && !results.contains(&switch)
        {
            results.push(switch);
        }
    }
    missing.add_warning(warnings);
    results
}

/// Resolves the entries of one file.
struct Lookup<'a> {
    file: &'static str,
    index: &'a GuidIndex,
    missing: AbsentGuids,
    warnings: &'a mut Vec<HintWarning>,
}

impl Lookup<'_> {
    /// The switch with this GUID and its number of ports; records the GUID if it is absent.
    fn switch(&mut self, guid: NodeGuid) -> Option<(SwitchIdx, u8)> {
        self.missing.record(guid.0, self.index.find_switch(guid.0))
    }

    /// The switch with this GUID; adds a warning if it has no such port.
    fn switch_port(&mut self, guid: NodeGuid, port: PortNum) -> Option<SwitchIdx> {
        let (switch, ports) = self.switch(guid)?;
        if port == PortNum::ZERO || port.raw() > ports {
            self.warnings.push(HintWarning::NoSuchPort {
                file: self.file,
                switch: guid,
                port,
                ports,
            });
            return None;
        }
        Some(switch)
    }
}

/// Resolves the entries of a file; adds a warning for those that are ignored.
fn resolve_entries<T, R>(
    (file, what): (&'static str, &'static str),
    entries: &[T],
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
    mut find: impl FnMut(&mut Lookup<'_>, &T) -> Option<R>,
) -> Vec<R> {
    let mut lookup = Lookup {
        file,
        index,
        missing: AbsentGuids::new(file, what),
        warnings,
    };
    let matches = entries.iter().filter_map(|item| find(&mut lookup, item));
    let matches = matches.collect();
    lookup.missing.add_warning(lookup.warnings);
    matches
}

fn end_port_lids(
    file: &'static str,
    guids: &[PortGuid],
    index: &GuidIndex,
    warnings: &mut Vec<HintWarning>,
) -> Vec<Lid> {
    resolve_entries(
        (file, "port with a LID"),
        guids,
        index,
        warnings,
        |at, g| at.missing.record(g.0, index.lid(*g)),
    )
}

/// A port that the switch does not have is ignored; the other ports of the line are used.
fn port_order(
    at: &mut Lookup<'_>,
    (guid, ports): &(NodeGuid, Vec<PortNum>),
) -> Option<(SwitchIdx, Vec<PortNum>)> {
    let port_pairs = ports
        .iter()
        .filter_map(|port| Some((at.switch_port(*guid, *port)?, *port)));
    let (switches, known_ports): (Vec<_>, Vec<_>) = port_pairs.unzip();
    Some((*switches.first()?, known_ports))
}

fn torus(torus: &GuidTorus, index: &GuidIndex, warnings: &mut Vec<HintWarning>) -> TorusHint {
    let mut missing = AbsentGuids::new("torus-2QoS.conf", "switch");
    let mut seeds = Vec::new();
    for seed in &torus.seeds {
        let mut links = [None; 6];
        for (resolved, link) in links.iter_mut().zip(&seed.links) {
            let Some((from, to)) = link else { continue };
            let from = missing.record(from.0, index.find_switch(from.0));
            let to = missing.record(to.0, index.find_switch(to.0));
            *resolved = from.zip(to).map(|((a, _), (b, _))| (a, b));
        }
        // A seed with an absent switch is not usable; the file may list further seeds for this
        // case.
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
    missing.add_warning(warnings);
    TorusHint {
        radix: torus.radix,
        wraps: torus.wraps,
        seeds,
        portgroup_max_ports: torus.portgroup_max_ports,
        port_order: torus.port_order.clone(),
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lmc;

    use super::*;

    pub(super) const A: NodeGuid = NodeGuid(0xA0);
    const B: NodeGuid = NodeGuid(0xB0);

    /// Switches A (LID 1, 4 ports) and B (LID 2, 2 ports); hosts 0x11 (LID 4 and 5) on A, 0x21 (LID
    /// 7) on B.
    pub(super) fn guid_index() -> GuidIndex {
        let mut p = GuidIndex::new();
        p.add_switch(SwitchIdx(0), 4, A, PortGuid(0xA1), (Lid(1), Lmc(0)));
        p.add_switch(SwitchIdx(1), 2, B, PortGuid(0xB0), (Lid(2), Lmc(0)));
        p.add_end_port(
            SwitchIdx(0),
            NodeGuid(0x10),
            PortGuid(0x11),
            (Lid(4), Lmc(1)),
        );
        p.add_end_port(
            SwitchIdx(1),
            NodeGuid(0x20),
            PortGuid(0x21),
            (Lid(7), Lmc(0)),
        );
        p
    }

    #[test]
    fn empty_hints_resolve_to_no_hints() {
        assert!(GuidHints::default().is_empty());
        let (hints, warnings) = resolve(&GuidHints::default(), &guid_index());
        assert_eq!((hints, warnings.len()), (Hints::default(), 0));
    }

    /// A root may be a switch, a CA (by node or port GUID), or absent.
    #[test]
    fn ca_guid_selects_its_switch_as_root() {
        let guid_hints = GuidHints {
            roots: vec![B, NodeGuid(0x10), NodeGuid(0x21), NodeGuid(0x99)],
            ..GuidHints::default()
        };
        let (hints, warnings) = resolve(&guid_hints, &guid_index());
        assert_eq!(hints.roots, [SwitchIdx(1), SwitchIdx(0)]);
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert_eq!(warnings[0], HintWarning::RootNotASwitch(NodeGuid(0x10)));
        assert_eq!(
            warnings[2].to_string(),
            "root_guid_file: no switch in this fabric has GUID 0x0000000000000099"
        );
    }

    #[test]
    fn end_ports_resolve_to_base_lids_in_file_order() {
        let guid_hints = GuidHints {
            compute_ports: Some(vec![PortGuid(0x21), PortGuid(0x11)]),
            io: Some(vec![PortGuid(0x77)]),
            routing_order: vec![PortGuid(0xA1), PortGuid(0x21)],
            ..GuidHints::default()
        };
        let (hints, warnings) = resolve(&guid_hints, &guid_index());
        assert_eq!(hints.compute_ports, Some(vec![Lid(7), Lid(4)]));
        assert_eq!(
            hints.io,
            Some(Vec::new()),
            "an empty list differs from an absent file"
        );
        assert_eq!(hints.routing_order, [Lid(1), Lid(7)]);
        let absent = HintWarning::AbsentGuids {
            file: "io_guid_file",
            what: "port with a LID",
            guids: vec![0x77],
        };
        assert_eq!(warnings, [absent]);
    }

    /// B has two ports, so entries for its port 3 are ignored with a warning.
    #[test]
    fn entries_for_absent_ports_are_ignored() {
        let guid_hints = GuidHints {
            ids: vec![(A, 5), (NodeGuid(0x99), 6)],
            hop_weights: vec![(A, PortNum(4), 3), (B, PortNum(3), 2)],
            port_order: vec![(B, vec![PortNum(3), PortNum(2)])],
            load_balance_ignored: vec![(B, PortNum(1)), (B, PortNum(0))],
            ..GuidHints::default()
        };
        let (hints, warnings) = resolve(&guid_hints, &guid_index());
        assert_eq!(hints.ids, [(SwitchIdx(0), 5)]);
        assert_eq!(hints.hop_weights, [(SwitchIdx(0), PortNum(4), 3)]);
        assert_eq!(hints.port_order, [(SwitchIdx(1), vec![PortNum(2)])]);
        assert_eq!(hints.load_balance_ignored, [(SwitchIdx(1), PortNum(1))]);
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert_eq!(
            warnings[1].to_string(),
            "hop_weights_file: switch 0x00000000000000b0 has ports 1 to 2, not port 3"
        );
    }

    #[test]
    fn seeds_with_absent_switches_are_ignored() {
        let seed = |to| GuidSeed {
            links: [Some((A, to)), None, None, None, None, None],
            dateline: [1, 0, 0],
        };
        let guid_hints = GuidHints {
            torus: Some(GuidTorus {
                radix: [4, 1, 1],
                wraps: [true; 3],
                seeds: vec![seed(NodeGuid(0x99)), seed(B)],
                portgroup_max_ports: 16,
                port_order: Vec::new(),
            }),
            ..GuidHints::default()
        };
        let (hints, warnings) = resolve(&guid_hints, &guid_index());
        let seeds = hints.torus.unwrap().seeds;
        assert_eq!(seeds.len(), 1);
        assert_eq!(seeds[0].links[0], Some((SwitchIdx(0), SwitchIdx(1))));
        assert_eq!(seeds[0].dateline, [1, 0, 0]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}
