//! The routing in force and its inputs, as one record ([`super::RecordKind::Routing`]).
//!
//! LFTs are not part of it: they are in the switches and in the persisted snapshot. The record
//! contains what no switch stores: the engine and its settings, the graph, the SLs of paths, the
//! order of switches, and the tree constraint that later reroutes and multicast groups depend on.
//! It names switches by GUID, so that another run or another SM can use it.
//!
//! [`RoutingRecord::new`] and [`RoutingRecord::to_verified_run`] convert from and to a
//! [`VerifiedRun`], [`RoutingRecord::encode`] and [`RoutingRecord::decode`] to and from bytes. All
//! are pure. No content of the bytes causes a panic.

use core::fmt;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};
use ferrosm_routing::vl_plan::{SLS, SlToVlMaps};
use ferrosm_routing::{
    AttachedEndPort, Describe, Diagnostic, ENGINE_NAMES, PathSl, RerouteCache, RerouteSummary,
    Routing, SlToVl, SwitchIdx, Tables, Topology, TopologyBuilder, TreeConstraint, VerifiedRun,
    VlPlan,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use ferrosm_fabric::routing_origin::{RoutingInputs, RoutingOrigin, SlToVlEpoch};
use ferrosm_fabric::snapshot::Snapshot;

/// Version of the record. A reader accepts only its own; without a record, routes are computed as
/// on a first start.
const VERSION: u8 = 5;

/// A routing, as persisted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingRecord {
    engine: String,
    origin: RoutingOrigin,
    baseline_max_load: u64,
    /// Kind and text of the engine's diagnostics.
    diagnostics: Vec<(String, String)>,
    reroute: Option<RerouteSummary>,
    switches: Vec<RoutedSwitch>,
    /// Both ends of each link.
    links: Vec<[(SwitchIdx, PortNum); 2]>,
    /// With the switch that each is attached to.
    end_ports: Vec<(SwitchIdx, AttachedEndPort)>,
    order: Option<Vec<u32>>,
    trees: TreeConstraint,
    vls: u8,
    path_sl: PathSl,
    /// `None` for [`SlToVl::Modulo`].
    sl_to_vl: Option<CompressedSlToVl>,
}

/// A switch of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RoutedSwitch {
    guid: NodeGuid,
    num_ports: u8,
    lid: Lid,
    lids: u16,
}

/// [`SlToVl::PerPorts`]: the distinct maps, and for each switch the index of the map of each pair
/// of input and output, run-length encoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct CompressedSlToVl {
    distinct_rows: Vec<[u8; SLS]>,
    runs: Vec<Vec<(u32, u32)>>,
}

/// Why a routing record cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutingRecordError {
    /// It was written by another version.
    Version,
    /// It cannot be decoded.
    Malformed(postcard::Error),
    /// Its parts contradict each other.
    Inconsistent,
}

impl fmt::Display for RoutingRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("routing record not usable: ")?;
        f.write_str(match self {
            Self::Version => "unknown version",
            Self::Malformed(_) => "malformed",
            Self::Inconsistent => "inconsistent",
        })
    }
}

impl core::error::Error for RoutingRecordError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Malformed(error) => Some(error),
            Self::Version | Self::Inconsistent => None,
        }
    }
}

fn to_u32(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

impl RoutingRecord {
    /// The routing in force according to a snapshot; `None` where nothing is routed or the snapshot
    /// itself was restored. Takes time linear in the number of links.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot) -> Option<Self> {
        let (run, origin) = snapshot.routing()?;
        Some(Self::new(run, &snapshot.routed_switches(), origin))
    }

    /// The record of a routing. `guids` are those of its switches, by index.
    #[must_use]
    pub fn new(run: &VerifiedRun, guids: &[NodeGuid], origin: &RoutingOrigin) -> Self {
        let (topo, routing) = (&run.topo, &run.routing);
        let switch = |(s, guid): (SwitchIdx, &NodeGuid)| RoutedSwitch {
            guid: *guid,
            num_ports: topo.num_ports(s),
            lid: topo.lid(s),
            lids: topo.lid_count(s),
        };
        let links = topo.switches().flat_map(|s| {
            let peers = topo.links(s).iter();
            let once = peers.filter(move |l| (s, l.port) < (l.peer, l.peer_port));
            once.map(move |l| [(s, l.port), (l.peer, l.peer_port)])
        });
        let end_ports = topo.switches().flat_map(|s| {
            let end_ports = topo.end_ports(s).iter();
            end_ports.map(move |end_port| (s, *end_port))
        });
        let all = || routing.diagnostics.iter();
        let reroute = all().find_map(Diagnostic::as_reroute);
        let diagnostics = all().filter(|diagnostic| diagnostic.as_reroute().is_none());
        let label = |s: SwitchIdx| guids.get(s.index()).map(ToString::to_string);
        let message = |diagnostic: &Diagnostic| {
            let text = diagnostic.describe(&|s| label(s).unwrap_or_default());
            (diagnostic.kind().to_owned(), text)
        };
        Self {
            engine: routing.engine.to_owned(),
            origin: origin.clone(),
            baseline_max_load: run.baseline_max_load,
            diagnostics: diagnostics.map(message).collect(),
            reroute: reroute.copied(),
            switches: topo.switches().zip(guids).map(switch).collect(),
            links: links.collect(),
            end_ports: end_ports.collect(),
            order: routing.order.clone(),
            trees: routing.trees.clone(),
            vls: routing.vl_plan.vls,
            path_sl: routing.vl_plan.path_sl.clone(),
            sl_to_vl: match &routing.vl_plan.sl_to_vl {
                SlToVl::Modulo => None,
                SlToVl::PerPorts(all) => Some(CompressedSlToVl::new(topo, all)),
            },
        }
    }

    /// The number of data VLs.
    #[must_use]
    pub const fn vls(&self) -> u8 {
        self.vls
    }

    /// The settings for which it was computed.
    #[must_use]
    pub const fn inputs(&self) -> &RoutingInputs {
        &self.origin.inputs
    }

    /// Whether a node did not accept all of its VL tables.
    #[must_use]
    pub fn has_incomplete_vl_tables(&self, node: NodeGuid) -> bool {
        self.origin.nodes_without_vl_tables.contains(&node)
    }

    /// The epoch of its SLtoVL tables.
    #[must_use]
    pub const fn sl_to_vl_epoch(&self) -> SlToVlEpoch {
        self.origin.sl_to_vl_epoch
    }

    /// Encodes the record.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // These structs cannot fail to encode.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// If it is malformed, inconsistent or of another version.
    pub fn decode(bytes: &[u8]) -> Result<Self, RoutingRecordError> {
        let Some((&VERSION, bytes)) = bytes.split_first() else {
            return Err(RoutingRecordError::Version);
        };
        let (this, remaining): (Self, _) =
            postcard::take_from_bytes(bytes).map_err(RoutingRecordError::Malformed)?;
        if !remaining.is_empty() || !this.is_consistent() {
            return Err(RoutingRecordError::Inconsistent);
        }
        Ok(this)
    }

    fn is_consistent(&self) -> bool {
        let n = self.switches.len();
        let covers_all = |len: usize| len == n;
        let is_switch = |s: &SwitchIdx| s.index() < n;
        ENGINE_NAMES.contains(&self.engine.as_str())
            && self
                .links
                .iter()
                .all(|ends| ends.iter().all(|(s, _)| is_switch(s)))
            && self.end_ports.iter().all(|(s, _)| is_switch(s))
            && self
                .order
                .as_ref()
                .is_none_or(|order| covers_all(order.len()))
            && match &self.trees {
                TreeConstraint::Search => true,
                TreeConstraint::Ordered(order) => covers_all(order.len()),
                TreeConstraint::Within { up, .. } => {
                    covers_all(up.len()) && !up.contains(&Some(PortNum::ZERO))
                }
            }
            && (1..=ferrosm_routing::DATA_VLS_MAX).contains(&self.vls)
            && match &self.path_sl {
                PathSl::Uniform(_) | PathSl::ByLid(_) => true,
                PathSl::BySwitches(rows) | PathSl::BySwitchAndLid(rows) => covers_all(rows.len()),
            }
            && self
                .sl_to_vl
                .as_ref()
                .is_none_or(|maps| covers_all(maps.runs.len()))
    }

    /// The routing for the switches `guids`, in this order, with the LFTs `tables`; baseline load
    /// and tree constraint are preserved. `None` if the switches are not those of the record.
    #[must_use]
    pub fn to_verified_run(&self, guids: &[NodeGuid], tables: Tables) -> Option<VerifiedRun> {
        let n = self.switches.len();
        if guids.len() != n || tables.len() != n {
            return None;
        }
        let index_of: FxHashMap<NodeGuid, usize> =
            guids.iter().enumerate().map(|(i, g)| (*g, i)).collect();
        // The index in `guids` of each switch of the record, and the reverse.
        let mut current = Vec::with_capacity(n);
        let mut recorded = vec![usize::MAX; n];
        for (i, switch) in self.switches.iter().enumerate() {
            let at = *index_of.get(&switch.guid)?;
            recorded[at] = i;
            current.push(at);
        }
        if recorded.contains(&usize::MAX) {
            return None;
        }
        let switch_order = SwitchOrder { current, recorded };
        let engine = ENGINE_NAMES.iter().find(|name| **name == self.engine)?;
        let topo = Arc::new(self.topology(&switch_order));
        let vl_plan = VlPlan {
            vls: self.vls,
            path_sl: match &self.path_sl {
                PathSl::BySwitches(rows) => {
                    let columns = |row: &Arc<[u8]>| switch_order.reorder(row).into();
                    PathSl::BySwitches(switch_order.reorder(rows).iter().map(columns).collect())
                }
                PathSl::BySwitchAndLid(rows) => PathSl::BySwitchAndLid(switch_order.reorder(rows)),
                by_lid @ (PathSl::Uniform(_) | PathSl::ByLid(_)) => by_lid.clone(),
            },
            sl_to_vl: match &self.sl_to_vl {
                None => SlToVl::Modulo,
                Some(maps) => SlToVl::PerPorts(maps.tables(&topo, &switch_order)),
            },
        };
        let trees = match &self.trees {
            TreeConstraint::Search => TreeConstraint::Search,
            TreeConstraint::Ordered(order) => TreeConstraint::Ordered(switch_order.reorder(order)),
            TreeConstraint::Within { up, sl } => TreeConstraint::Within {
                up: switch_order.reorder(up),
                sl: *sl,
            },
        };
        let diagnostics = self.diagnostics.iter().cloned();
        let restored = diagnostics.map(|(kind, text)| Diagnostic::Restored { kind, text });
        let reroute = self.reroute.map(Diagnostic::Rerouted);
        Some(VerifiedRun {
            routing: Routing {
                engine,
                tables,
                vl_plan,
                order: self.order.as_ref().map(|order| switch_order.reorder(order)),
                trees,
                diagnostics: restored.chain(reroute).collect(),
            },
            topo,
            baseline_max_load: self.baseline_max_load,
            cache: RerouteCache::new(),
        })
    }

    fn topology(&self, switch_order: &SwitchOrder) -> Topology {
        let mut builder = TopologyBuilder::new();
        let mut index = Vec::with_capacity(self.switches.len());
        for switch in switch_order
            .recorded
            .iter()
            .filter_map(|i| self.switches.get(*i))
        {
            let s = builder.switch(switch.num_ports, switch.lid);
            if switch.lids > 1 {
                builder.switch_lids(s, switch.lids);
            }
            index.push(s);
        }
        let current = |s: SwitchIdx| {
            let at = switch_order.current.get(s.index())?;
            index.get(*at).copied()
        };
        for [(a, from), (b, to)] in &self.links {
            if let Some((a, b)) = current(*a).zip(current(*b)) {
                builder.link((a, *from), (b, *to));
            }
        }
        for (s, end_port) in &self.end_ports {
            if let Some(s) = current(*s) {
                builder.end_port((s, end_port.port), end_port.lid, end_port.count);
            }
        }
        builder.build()
    }
}

/// The permutation between the switches of the record and the current ones.
struct SwitchOrder {
    /// The current index, by index in the record.
    current: Vec<usize>,
    /// The index in the record, by current index.
    recorded: Vec<usize>,
}

impl SwitchOrder {
    /// Reorders a row by the current indices. A row of another length is returned unchanged:
    /// readers check its length.
    fn reorder<T: Clone>(&self, row: &[T]) -> Vec<T> {
        if row.len() != self.recorded.len() {
            return row.to_vec();
        }
        self.recorded
            .iter()
            .filter_map(|i| row.get(*i).cloned())
            .collect()
    }
}

impl CompressedSlToVl {
    fn new(topo: &Topology, switches: &[SlToVlMaps]) -> Self {
        let mut distinct_rows: Vec<[u8; SLS]> = Vec::new();
        let mut index_of_row: FxHashMap<[u8; SLS], u32> = FxHashMap::default();
        let mut number = |map: [u8; SLS]| {
            *index_of_row.entry(map).or_insert_with(|| {
                distinct_rows.push(map);
                to_u32(distinct_rows.len() - 1)
            })
        };
        let runs = topo.switches().zip(switches).map(|(s, maps)| {
            let mut runs: Vec<(u32, u32)> = Vec::new();
            for (input, output) in pairs(topo.num_ports(s)) {
                let map = number(maps.get(input, output));
                match runs.last_mut() {
                    Some((last, count)) if *last == map => *count += 1,
                    _ => runs.push((map, 1)),
                }
            }
            runs
        });
        let runs = runs.collect();
        Self {
            distinct_rows,
            runs,
        }
    }

    /// The maps of all switches, by current index.
    fn tables(&self, topo: &Topology, switch_order: &SwitchOrder) -> Vec<SlToVlMaps> {
        let runs = switch_order.reorder(&self.runs);
        let switches = topo.switches().zip(&runs);
        let table = |(s, runs): (SwitchIdx, &Vec<(u32, u32)>)| {
            let num_ports = topo.num_ports(s);
            // Pairs of ports beyond the last run drop.
            let mut maps = SlToVlMaps::uniform(num_ports, [15; SLS]);
            let decoded = runs
                .iter()
                .flat_map(|(map, count)| core::iter::repeat_n(*map, *count as usize));
            for ((input, output), map) in pairs(num_ports).zip(decoded) {
                if let Some(map) = self.distinct_rows.get(map as usize) {
                    maps.set(input, output, *map);
                }
            }
            maps
        };
        switches.map(table).collect()
    }
}

/// All pairs of input and output of a switch.
fn pairs(num_ports: u8) -> impl Iterator<Item = (PortNum, PortNum)> {
    let all_ports = move || (0..=num_ports).map(PortNum);
    all_ports().flat_map(move |input| all_ports().map(move |output| (input, output)))
}

#[cfg(test)]
mod tests {
    use ferrosm_routing::{RoutingRequest, engine_by_name, verify};

    use super::*;
    use crate::config::SmConfig;
    use crate::config::hints::GuidHints;
    use ferrosm_mad::ids::PortGuid;

    /// A 4x4 torus with two hosts at each switch; `turn` selects the order of the switches.
    fn torus(turn: usize) -> (Topology, Vec<NodeGuid>) {
        let mut b = TopologyBuilder::new();
        let position = |i: usize| (i * 5 + turn) % 16;
        let mut guids = vec![NodeGuid(0); 16];
        let mut index = [None; 16];
        for (at, guid) in guids.iter_mut().enumerate() {
            let i = (0..16).find(|i| position(*i) == at).unwrap();
            let lid = u16::try_from(i + 1).unwrap();
            index[i] = Some(b.switch(6, Lid(lid)));
            *guid = NodeGuid(100 + i as u64);
        }
        for i in 0..16 {
            let s = |i: usize| index[i].unwrap();
            let (x, y) = (i % 4, i / 4);
            b.link((s(i), PortNum(1)), (s(y * 4 + (x + 1) % 4), PortNum(2)));
            b.link((s(i), PortNum(3)), (s((y + 1) % 4 * 4 + x), PortNum(4)));
            for host in 0..2u16 {
                let lid = Lid(20 + u16::try_from(i).unwrap() * 2 + host);
                let port = PortNum(5 + u8::try_from(host).unwrap());
                b.end_port((s(i), port), lid, 1);
            }
        }
        (b.build(), guids)
    }

    fn record_of(engine: &str) -> (VerifiedRun, Vec<NodeGuid>, RoutingRecord) {
        let (topo, guids) = torus(0);
        let mut routing = engine_by_name(engine)
            .unwrap()
            .route(&RoutingRequest::new(&topo))
            .unwrap();
        ferrosm_routing::multicast::resolve_trees(&topo, &mut routing, None);
        let run = VerifiedRun {
            topo: Arc::new(topo),
            routing,
            baseline_max_load: 77,
            cache: RerouteCache::new(),
        };
        let origin = RoutingOrigin {
            inputs: SmConfig::default().routing_inputs(),
            nodes_without_vl_tables: vec![NodeGuid(5)],
            sl_to_vl_epoch: SlToVlEpoch::NEVER.next(PortGuid(9)),
        };
        let record = RoutingRecord::new(&run, &guids, &origin);
        (run, guids, record)
    }

    /// The record, decoded for the same switches in another order, gives the same graph, and VLs
    /// with which the tables pass verification.
    #[test]
    fn routing_is_restored_for_any_order_of_switches() {
        for engine in ["updn", "dfsssp", "lash", "nue", "torus-2QoS", "dor"] {
            let (run, guids, record) = record_of(engine);
            let read = RoutingRecord::decode(&record.encode()).unwrap();
            assert_eq!(read, record, "{engine}");
            let same_order = read
                .to_verified_run(&guids, run.routing.tables.clone())
                .unwrap();
            assert_eq!(*same_order.topo, *run.topo, "{engine}");
            assert_eq!(same_order.routing.vl_plan, run.routing.vl_plan, "{engine}");
            assert_eq!(same_order.routing.trees, run.routing.trees, "{engine}");
            assert_eq!(same_order.routing.order, run.routing.order, "{engine}");
            assert_eq!(
                (same_order.routing.engine, same_order.baseline_max_load),
                (engine, 77)
            );
            let (topo, other_guids) = torus(7);
            let table = |guid: &NodeGuid| {
                let at = guids.iter().position(|g| g == guid).unwrap();
                Arc::clone(&run.routing.tables[at])
            };
            let other_order =
                read.to_verified_run(&other_guids, other_guids.iter().map(table).collect());
            let other_order = other_order.unwrap();
            assert_eq!(*other_order.topo, topo, "{engine}");
            let (a, b) = (&other_order.routing, &run.routing);
            let proof = verify(&topo, &a.tables, &a.vl_plan).unwrap();
            let before = verify(&run.topo, &b.tables, &b.vl_plan).unwrap();
            assert_eq!(proof.max_load, before.max_load, "{engine}");
            assert_eq!(proof.vl_channels, before.vl_channels, "{engine}");
        }
    }

    #[test]
    fn other_versions_are_rejected() {
        let (.., record) = record_of("dfsssp");
        let mut bytes = record.encode();
        assert_eq!(RoutingRecord::decode(&bytes), Ok(record));
        bytes[0] = VERSION + 1;
        assert!(RoutingRecord::decode(&bytes).is_err());
    }

    #[test]
    fn routing_of_other_switches_is_not_restored() {
        let (run, mut guids, record) = record_of("updn");
        let tables = run.routing.tables;
        guids[3] = NodeGuid(9999);
        assert!(record.to_verified_run(&guids, tables.clone()).is_none());
        guids.pop();
        assert!(record.to_verified_run(&guids, tables).is_none());
    }

    /// Truncated or corrupted bytes are rejected or give a routing, and never panic.
    #[test]
    fn malformed_records_do_not_panic() {
        let (run, guids, record) = record_of("torus-2QoS");
        let bytes = record.encode();
        let mut read = 0;
        for at in 0..bytes.len() {
            assert!(RoutingRecord::decode(&bytes[..at]).is_err(), "{at}");
            let mut corrupt = bytes.clone();
            corrupt[at] ^= 1 << (at % 8);
            if let Ok(record) = RoutingRecord::decode(&corrupt) {
                read += 1;
                let _run = record.to_verified_run(&guids, run.routing.tables.clone());
            }
        }
        assert!(read > 0);
    }

    #[test]
    fn routing_inputs_depend_on_the_settings() {
        let inputs = |change: &dyn Fn(&mut SmConfig)| {
            let mut cfg = SmConfig::default();
            change(&mut cfg);
            cfg.routing_inputs()
        };
        let plain = inputs(&|_| {});
        assert_eq!(plain.input_files_digest, 0);
        assert_ne!(plain, inputs(&|cfg| cfg.routing_vls = 2));
        assert_ne!(plain, inputs(&|cfg| cfg.engines = vec!["updn".to_owned()]));
        let roots = |guid| {
            inputs(&|cfg| {
                cfg.hints = Arc::new(GuidHints {
                    roots: vec![NodeGuid(guid)],
                    ..GuidHints::default()
                });
            })
        };
        assert_ne!(plain, roots(1));
        assert_ne!(roots(2), roots(1));
        assert_eq!(roots(1), roots(1));
    }
}
