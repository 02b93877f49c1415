//! The dependencies of single channels, read from the tables when somebody asks.
//!
//! Where the VL of a packet depends on where it came from, all VLs are taken that a packet may have: more edges than there
//! are, never fewer.

use std::sync::atomic::AtomicBool;

use ferrosm_mad::ids::PortNum;

use super::{Edges, LanesOf, node_of};
use crate::channels::Channels;
use crate::lanes::SLS;
use crate::tables::Lft;
use crate::topology::Topology;

/// Tables in which edges are looked up.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    tables: &'a [&'a Lft],
    lanes: LanesOf<'a>,
    /// LIDs with the VL of their packets, if they have but one.
    lids: Vec<(usize, Option<u8>)>,
    /// Set when somebody wanted to look up more than may be.
    pub(super) short: &'a AtomicBool,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(
        topo: &Topology,
        tables: &'a [&'a Lft],
        lanes: LanesOf<'a>,
        short: &'a AtomicBool,
    ) -> Self {
        let lids = topo.destinations().iter();
        Self {
            tables,
            lanes,
            lids: lids
                .map(|d| (usize::from(d.lid.raw()), lanes.of_lid(d)))
                .collect(),
            short,
        }
    }

    /// Whether each packet has a VL that its LID alone says: then what is looked up is hardly more than there is.
    pub(crate) fn is_exact(&self) -> bool {
        self.lids.iter().all(|(_, vl)| vl.is_some())
    }

    pub(crate) fn vls(&self) -> usize {
        self.lanes.vls()
    }

    /// Adds the edges of all lanes of a channel.
    pub(super) fn edges_of(&self, channels: &Channels, channel: usize, edges: &mut Edges) {
        let (u, port) = channels.locate(channel);
        let Some((v, input)) = channels.far(channel) else {
            return;
        };
        let (own, then) = (self.tables[u].entries(), self.tables[v].entries());
        let vls = edges.vls;
        let mut wide = [false; 256];
        for &(lid, vl) in &self.lids {
            if own.get(lid) != Some(&port) {
                continue;
            }
            let Some(&out) = then.get(lid) else { continue };
            match vl {
                Some(vl) if channels.peer(v, out).is_some() => {
                    edges.put(node_of(channel, vl, vls), usize::from(out), usize::from(vl));
                }
                Some(_) => {}
                None => wide[usize::from(out)] = true,
            }
        }
        for (out, _) in (0..=PortNum::DROP.raw()).zip(wide).filter(|w| w.1) {
            if channels.peer(v, out).is_some() {
                self.all_lanes((channel, v, input), out, edges);
            }
        }
    }

    /// Adds the edges to all lanes of a channel.
    pub(super) fn edges_to(&self, channels: &Channels, channel: usize, edges: &mut Edges) {
        let (v, out) = channels.locate(channel);
        if channels.far(channel).is_none() {
            return;
        }
        let ports = u8::try_from(channels.ports(v) - 1).unwrap_or(PortNum::DROP.raw());
        // Channels that lead to the switch: number, port there, port by which they leave, table before.
        let mut into: Vec<(usize, u8, u8, &[u8], bool)> = (1..=ports)
            .filter_map(|input| {
                let (u, port) = channels.peer(v, input)?;
                let entries = self.tables[u].entries();
                Some((channels.at(u, port), input, port, entries, false))
            })
            .collect();
        let own = self.tables[v].entries();
        let vls = edges.vls;
        for &(lid, vl) in &self.lids {
            if own.get(lid) != Some(&out) {
                continue;
            }
            for (first, _, port, entries, wide) in &mut into {
                if entries.get(lid) == Some(port) {
                    match vl {
                        Some(vl) => {
                            edges.put(node_of(*first, vl, vls), usize::from(out), usize::from(vl));
                        }
                        None => *wide = true,
                    }
                }
            }
        }
        for (first, input, ..) in into.into_iter().filter(|i| i.4) {
            self.all_lanes((first, v, input), out, edges);
        }
    }

    /// Adds the edges from a channel, which comes to `v` by `input`, on whatever lanes packets may be.
    fn all_lanes(&self, (channel, v, input): (usize, usize, u8), out: u8, edges: &mut Edges) {
        let vls = edges.vls;
        for vl in (0u8..).take(vls) {
            let from = node_of(channel, vl, vls);
            if !self.lanes.by_ports() {
                edges.put(from, usize::from(out), usize::from(vl));
                continue;
            }
            for sl in (0u8..).take(SLS) {
                if let Some(then) = self.lanes.vl(v, input, out, sl) {
                    edges.put(from, usize::from(out), usize::from(then));
                }
            }
        }
    }
}
