//! The routing in force with what it was made from, by names that mean the same to another run and on another machine.
//!
//! Tables are not in it: they are in the switches, and in the view that is kept. What is in no switch is here: which engine it was
//! and for which settings, the graph that it was made for, SLs of paths, the order of switches and the promise of trees that repairs
//! and groups go by. One record, [`super::RecordKind::Routing`].
//!
//! [`RoutingRecord::of`] and [`RoutingRecord::run`] are the two ways between it and a [`LastRun`], [`RoutingRecord::encode`] and
//! [`RoutingRecord::decode`] those between it and bytes. All are pure. Nothing that is in the bytes can make anything panic.

use core::fmt;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use ferrosm_routing::vl_plan::{SLS, SlToVlMaps};
use ferrosm_routing::{
    Diagnostic, ENGINE_NAMES, LastRun, PathSl, RerouteCache, RerouteSummary, Routing, SlToVl,
    SwitchIdx, Tables, Topology, TopologyBuilder, TreeConstraint, VlPlan,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::routing_origin::{RoutingInputs, RoutingOrigin, SlToVlEpoch};
use crate::sa::View;

/// Version of the record. A reader takes its own only; without a record, routes are computed as on a first start.
const VERSION: u8 = 3;

/// The fields of [`RerouteSummary`], in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct RepairCounts([usize; 5]);

impl RepairCounts {
    const fn of(repair: RerouteSummary) -> Self {
        Self([
            repair.lost_links,
            repair.removed_lids,
            repair.added_lids,
            repair.changed_entries,
            repair.changed_lids,
        ])
    }

    const fn repair(self) -> RerouteSummary {
        let Self(
            [
                lost_links,
                removed_lids,
                added_lids,
                changed_entries,
                changed_lids,
            ],
        ) = self;
        RerouteSummary {
            lost_links,
            removed_lids,
            added_lids,
            changed_entries,
            changed_lids,
        }
    }
}

/// A routing, to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingRecord {
    engine: String,
    inputs: RoutingInputs,
    without_lanes: Vec<u64>,
    busiest: u64,
    notes: Vec<String>,
    repair: Option<RepairCounts>,
    switches: Vec<Switch>,
    /// Switch and port, twice.
    links: Vec<(u32, u8, u32, u8)>,
    /// Switch, port, first LID, number of LIDs.
    ends: Vec<(u32, u8, u16, u16)>,
    order: Option<Vec<u32>>,
    trees: Promise,
    vls: u8,
    path_sl: Levels,
    maps: Option<Maps>,
    /// [`SlToVlEpoch`]: its number, and the port GUID of who wrote it.
    sl_to_vl_epoch: (u64, u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Switch {
    guid: u64,
    num_ports: u8,
    lid: u16,
    lids: u16,
}

/// [`TreeConstraint`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Promise {
    Search,
    Ordered(Vec<u32>),
    /// Ports towards the root, 0 for the root; SL.
    Within(Vec<u8>, u8),
}

/// [`PathSl`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Levels {
    Uniform(u8),
    ByLid(Vec<u8>),
    BySwitches(Vec<Vec<u8>>),
    BySwitchAndLid(Vec<Vec<u8>>),
}

/// [`SlToVl::PerPorts`]: the different maps that there are, and for each switch, input and output by output, which it is, as runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Maps {
    all: Vec<[u8; SLS]>,
    runs: Vec<Vec<(u32, u32)>>,
}

/// Why bytes are no routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutingRecordError {
    /// They were written by another version.
    Version,
    /// They cannot be decoded.
    Torn(postcard::Error),
    /// Their parts contradict each other.
    Inconsistent,
}

impl fmt::Display for RoutingRecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the record of the routing cannot be read: ")?;
        f.write_str(match self {
            Self::Version => "it is of another version",
            Self::Torn(_) => "it is torn",
            Self::Inconsistent => "it does not fit together",
        })
    }
}

impl core::error::Error for RoutingRecordError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Torn(error) => Some(error),
            Self::Version | Self::Inconsistent => None,
        }
    }
}

fn to_u32(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

impl RoutingRecord {
    /// The routing in force according to a view; `None` where nothing is routed or the view itself was restored. Takes time linear
    /// in the number of links.
    #[must_use]
    pub fn of_view(view: &View) -> Option<Self> {
        let (run, origin) = view.routing()?;
        Some(Self::of(run, &view.routed_switches(), origin))
    }

    /// Of a routing, and the GUID of each of its switches.
    #[must_use]
    pub fn of(run: &LastRun, guids: &[NodeGuid], origin: &RoutingOrigin) -> Self {
        let (topo, routing) = (&run.topo, &run.routing);
        let switch = |(s, guid): (SwitchIdx, &NodeGuid)| Switch {
            guid: guid.0,
            num_ports: topo.num_ports(s),
            lid: topo.lid(s).0,
            lids: topo.lid_count(s),
        };
        let links = topo.switches().flat_map(|s| {
            let far = topo.links(s).iter();
            let once = far.filter(move |l| (s, l.port) < (l.peer, l.peer_port));
            once.map(move |l| {
                let (a, b) = (to_u32(s.index()), to_u32(l.peer.index()));
                (a, l.port.0, b, l.peer_port.0)
            })
        });
        let ends = topo.switches().flat_map(|s| {
            let ends = topo.end_ports(s).iter();
            ends.map(move |e| (to_u32(s.index()), e.port.0, e.lid.0, e.count))
        });
        let rows = |rows: &[Arc<[u8]>]| rows.iter().map(|row| row.to_vec()).collect();
        let notes = || routing.diagnostics.iter();
        let repair = notes().find_map(Diagnostic::as_reroute);
        let notes = notes().filter(|note| note.as_reroute().is_none());
        Self {
            engine: routing.engine.to_owned(),
            inputs: origin.inputs.clone(),
            without_lanes: origin.nodes_without_vl_tables.iter().map(|g| g.0).collect(),
            busiest: run.baseline_max_load,
            notes: notes.map(Diagnostic::to_string).collect(),
            repair: repair.copied().map(RepairCounts::of),
            switches: topo.switches().zip(guids).map(switch).collect(),
            links: links.collect(),
            ends: ends.collect(),
            order: routing.order.clone(),
            trees: match &routing.trees {
                TreeConstraint::Search => Promise::Search,
                TreeConstraint::Ordered(order) => Promise::Ordered(order.clone()),
                TreeConstraint::Within { up, sl } => {
                    Promise::Within(up.iter().map(|p| p.map_or(0, |p| p.0)).collect(), *sl)
                }
            },
            vls: routing.vl_plan.vls,
            path_sl: match &routing.vl_plan.path_sl {
                PathSl::Uniform(sl) => Levels::Uniform(*sl),
                PathSl::ByLid(row) => Levels::ByLid(row.to_vec()),
                PathSl::BySwitches(all) => Levels::BySwitches(rows(all)),
                PathSl::BySwitchAndLid(all) => Levels::BySwitchAndLid(rows(all)),
            },
            maps: match &routing.vl_plan.sl2vl {
                SlToVl::Modulo => None,
                SlToVl::PerPorts(all) => Some(Maps::of(topo, all)),
            },
            sl_to_vl_epoch: (
                origin.sl_to_vl_epoch.number,
                origin.sl_to_vl_epoch.sm_port.0,
            ),
        }
    }

    /// The settings that it was made for.
    #[must_use]
    pub const fn inputs(&self) -> &RoutingInputs {
        &self.inputs
    }

    /// Whether a node has not taken all of its tables of lanes.
    #[must_use]
    pub fn is_without_lanes(&self, node: NodeGuid) -> bool {
        self.without_lanes.contains(&node.0)
    }

    /// The state that its tables of lanes were left in.
    #[must_use]
    pub const fn sl_to_vl_epoch(&self) -> SlToVlEpoch {
        let (number, sm_port) = self.sl_to_vl_epoch;
        let sm_port = PortGuid(sm_port);
        SlToVlEpoch { number, sm_port }
    }

    /// The record's value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        // Nothing in these structs can fail to be written.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }

    /// The routing that a record's value holds.
    ///
    /// # Errors
    /// It is none, or of a version that is not known here, or does not fit together.
    pub fn decode(bytes: &[u8]) -> Result<Self, RoutingRecordError> {
        let Some((&VERSION, bytes)) = bytes.split_first() else {
            return Err(RoutingRecordError::Version);
        };
        let (this, rest): (Self, _) =
            postcard::take_from_bytes(bytes).map_err(RoutingRecordError::Torn)?;
        if !rest.is_empty() || !this.fits() {
            return Err(RoutingRecordError::Inconsistent);
        }
        Ok(this)
    }

    fn fits(&self) -> bool {
        let n = self.switches.len();
        let of_all = |len: usize| len == n;
        let there = |s: u32| usize::try_from(s).is_ok_and(|s| s < n);
        let rows = |rows: &[Vec<u8>]| of_all(rows.len());
        ENGINE_NAMES.contains(&self.engine.as_str())
            && self.links.iter().all(|(a, _, b, _)| there(*a) && there(*b))
            && self.ends.iter().all(|(s, ..)| there(*s))
            && self.order.as_ref().is_none_or(|order| of_all(order.len()))
            && match &self.trees {
                Promise::Search => true,
                Promise::Ordered(order) => of_all(order.len()),
                Promise::Within(up, _) => of_all(up.len()),
            }
            && (1..=ferrosm_routing::DATA_VLS_MAX).contains(&self.vls)
            && match &self.path_sl {
                Levels::Uniform(_) | Levels::ByLid(_) => true,
                Levels::BySwitches(all) | Levels::BySwitchAndLid(all) => rows(all),
            }
            && self.maps.as_ref().is_none_or(|m| of_all(m.runs.len()))
    }

    /// The run again, for these switches in this order with these tables; `busiest` and all promises as they were. `None` if the
    /// switches are not those that it was made for.
    #[must_use]
    pub fn run(&self, guids: &[NodeGuid], tables: Tables) -> Option<LastRun> {
        let n = self.switches.len();
        if guids.len() != n || tables.len() != n {
            return None;
        }
        let places: FxHashMap<u64, usize> =
            guids.iter().enumerate().map(|(i, g)| (g.0, i)).collect();
        // Where each switch of then is now, and the other way round.
        let mut now = Vec::with_capacity(n);
        let mut then = vec![usize::MAX; n];
        for (i, switch) in self.switches.iter().enumerate() {
            let at = *places.get(&switch.guid)?;
            then[at] = i;
            now.push(at);
        }
        if then.contains(&usize::MAX) {
            return None;
        }
        let places = Places { now, then };
        let engine = ENGINE_NAMES.iter().find(|name| **name == self.engine)?;
        let topo = Arc::new(self.topology(&places));
        let lanes = VlPlan {
            vls: self.vls,
            path_sl: match &self.path_sl {
                Levels::Uniform(sl) => PathSl::Uniform(*sl),
                Levels::ByLid(row) => PathSl::ByLid(row.as_slice().into()),
                Levels::BySwitches(rows) => {
                    let columns = |row: &Vec<u8>| places.turned(row).into();
                    PathSl::BySwitches(places.turned(rows).iter().map(columns).collect())
                }
                Levels::BySwitchAndLid(rows) => {
                    let row = |row: &Vec<u8>| row.as_slice().into();
                    PathSl::BySwitchAndLid(places.turned(rows).iter().map(row).collect())
                }
            },
            sl2vl: match &self.maps {
                None => SlToVl::Modulo,
                Some(maps) => SlToVl::PerPorts(maps.tables(&topo, &places)),
            },
        };
        let trees = match &self.trees {
            Promise::Search => TreeConstraint::Search,
            Promise::Ordered(order) => TreeConstraint::Ordered(places.turned(order)),
            Promise::Within(up, sl) => {
                let up = places.turned(up).into_iter().map(PortNum);
                TreeConstraint::Within {
                    up: up
                        .map(|p| Some(p).filter(|p| *p != PortNum::ZERO))
                        .collect(),
                    sl: *sl,
                }
            }
        };
        let notes = self.notes.iter().cloned().map(Diagnostic::Restored);
        let repair = self
            .repair
            .map(|counts| Diagnostic::Rerouted(counts.repair()));
        Some(LastRun {
            routing: Routing {
                engine,
                tables,
                vl_plan: lanes,
                order: self.order.as_ref().map(|order| places.turned(order)),
                trees,
                diagnostics: notes.chain(repair).collect(),
            },
            topo,
            baseline_max_load: self.busiest,
            cache: RerouteCache::new(),
        })
    }

    fn topology(&self, places: &Places) -> Topology {
        let mut builder = TopologyBuilder::new();
        let mut index = Vec::with_capacity(self.switches.len());
        for switch in places.then.iter().filter_map(|i| self.switches.get(*i)) {
            let s = builder.switch(switch.num_ports, Lid(switch.lid));
            if switch.lids > 1 {
                builder.switch_lids(s, switch.lids);
            }
            index.push(s);
        }
        let at = |s: u32| {
            places
                .now
                .get(s as usize)
                .and_then(|i| index.get(*i).copied())
        };
        for (a, from, b, to) in &self.links {
            if let Some((a, b)) = at(*a).zip(at(*b)) {
                builder.link((a, PortNum(*from)), (b, PortNum(*to)));
            }
        }
        for (s, port, lid, count) in &self.ends {
            if let Some(s) = at(*s) {
                builder.end_port((s, PortNum(*port)), Lid(*lid), *count);
            }
        }
        builder.build()
    }
}

/// Indices of switches then and now.
struct Places {
    /// By index of then.
    now: Vec<usize>,
    /// By index of now.
    then: Vec<usize>,
}

impl Places {
    /// What was by index of then, by index of now. Rows that are too short are left as they are: nobody looks beyond their end.
    fn turned<T: Clone>(&self, row: &[T]) -> Vec<T> {
        if row.len() != self.then.len() {
            return row.to_vec();
        }
        self.then
            .iter()
            .filter_map(|i| row.get(*i).cloned())
            .collect()
    }
}

impl Maps {
    fn of(topo: &Topology, switches: &[SlToVlMaps]) -> Self {
        let mut all: Vec<[u8; SLS]> = Vec::new();
        let mut known: FxHashMap<[u8; SLS], u32> = FxHashMap::default();
        let mut number = |map: [u8; SLS]| {
            *known.entry(map).or_insert_with(|| {
                all.push(map);
                to_u32(all.len() - 1)
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
        Self { all, runs }
    }

    /// By index of now.
    fn tables(&self, topo: &Topology, places: &Places) -> Vec<SlToVlMaps> {
        let runs = places.turned(&self.runs);
        let switches = topo.switches().zip(&runs);
        let table = |(s, runs): (SwitchIdx, &Vec<(u32, u32)>)| {
            let num_ports = topo.num_ports(s);
            // What is said of no pair of ports drops.
            let mut maps = SlToVlMaps::uniform(num_ports, [15; SLS]);
            let each = runs
                .iter()
                .flat_map(|(map, count)| core::iter::repeat_n(*map, *count as usize));
            for ((input, output), map) in pairs(num_ports).zip(each) {
                if let Some(map) = self.all.get(map as usize) {
                    maps.set(input, output, *map);
                }
            }
            maps
        };
        switches.map(table).collect()
    }
}

/// All inputs and outputs of a switch.
fn pairs(num_ports: u8) -> impl Iterator<Item = (PortNum, PortNum)> {
    let all = move || (0..=num_ports).map(PortNum);
    all().flat_map(move |input| all().map(move |output| (input, output)))
}

#[cfg(test)]
mod tests {
    use ferrosm_routing::{Request, engine_by_name, verify};

    use super::*;
    use crate::config::SmConfig;
    use crate::plan::routing_hints::GuidHints;

    /// A torus of 4 by 4 with two hosts on each switch, the switches in an order of their own.
    fn torus(turn: usize) -> (Topology, Vec<NodeGuid>) {
        let mut b = TopologyBuilder::new();
        let place = |i: usize| (i * 5 + turn) % 16;
        let mut guids = vec![NodeGuid(0); 16];
        let mut index = [None; 16];
        for (at, guid) in guids.iter_mut().enumerate() {
            let i = (0..16).find(|i| place(*i) == at).unwrap();
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

    fn kept(engine: &str) -> (LastRun, Vec<NodeGuid>, RoutingRecord) {
        let (topo, guids) = torus(0);
        let mut routing = engine_by_name(engine)
            .unwrap()
            .route(&Request::new(&topo))
            .unwrap();
        ferrosm_routing::multicast::resolve_trees(&topo, &mut routing, None);
        let run = LastRun {
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
        let kept = RoutingRecord::of(&run, &guids, &origin);
        (run, guids, kept)
    }

    /// Written, read, and put together for the same switches in another order: the same graph, and lanes that the tables pass the
    /// proof with.
    #[test]
    fn a_routing_comes_back_wherever_its_switches_stand() {
        for engine in ["updn", "dfsssp", "lash", "nue", "torus-2QoS", "dor"] {
            let (run, guids, kept) = kept(engine);
            let read = RoutingRecord::decode(&kept.encode()).unwrap();
            assert_eq!(read, kept, "{engine}");
            let same = read.run(&guids, run.routing.tables.clone()).unwrap();
            assert_eq!(*same.topo, *run.topo, "{engine}");
            assert_eq!(same.routing.vl_plan, run.routing.vl_plan, "{engine}");
            assert_eq!(same.routing.trees, run.routing.trees, "{engine}");
            assert_eq!(same.routing.order, run.routing.order, "{engine}");
            assert_eq!((same.routing.engine, same.baseline_max_load), (engine, 77));
            let (topo, others) = torus(7);
            let table = |guid: &NodeGuid| {
                let at = guids.iter().position(|g| g == guid).unwrap();
                Arc::clone(&run.routing.tables[at])
            };
            let turned = read.run(&others, others.iter().map(table).collect());
            let turned = turned.unwrap();
            assert_eq!(*turned.topo, topo, "{engine}");
            let (a, b) = (&turned.routing, &run.routing);
            let proof = verify(&topo, &a.tables, &a.vl_plan).unwrap();
            let before = verify(&run.topo, &b.tables, &b.vl_plan).unwrap();
            assert_eq!(proof.max_load, before.max_load, "{engine}");
            assert_eq!(proof.vl_channels, before.vl_channels, "{engine}");
        }
    }

    #[test]
    fn another_version_is_not_read() {
        let (.., kept) = kept("dfsssp");
        let mut bytes = kept.encode();
        assert_eq!(RoutingRecord::decode(&bytes), Ok(kept));
        bytes[0] = VERSION + 1;
        assert!(RoutingRecord::decode(&bytes).is_err());
    }

    #[test]
    fn other_switches_have_no_run() {
        let (run, mut guids, kept) = kept("updn");
        let tables = run.routing.tables;
        guids[3] = NodeGuid(9999);
        assert!(kept.run(&guids, tables.clone()).is_none());
        guids.pop();
        assert!(kept.run(&guids, tables).is_none());
    }

    /// Bytes that were cut or flipped give a routing or none, and never panic.
    #[test]
    fn torn_bytes_do_no_harm() {
        let (run, guids, kept) = kept("torus-2QoS");
        let bytes = kept.encode();
        let mut read = 0;
        for at in 0..bytes.len() {
            assert!(RoutingRecord::decode(&bytes[..at]).is_err(), "{at}");
            let mut torn = bytes.clone();
            torn[at] ^= 1 << (at % 8);
            if let Ok(torn) = RoutingRecord::decode(&torn) {
                read += 1;
                let _run = torn.run(&guids, run.routing.tables.clone());
            }
        }
        assert!(read > 0);
    }

    #[test]
    fn other_settings_are_other_inputs() {
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
