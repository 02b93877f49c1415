//! Dependencies of single channels, read from forwarding tables on demand.
//!
//! If the VL of a packet depends on its ports, all VLs that it might have are included: the result
//! may have too many dependencies, never too few.

use std::sync::atomic::AtomicBool;

use ferrosm_mad::ids::PortNum;

use super::graph::Dependencies;
use super::vls::{PlannedVls, VlChannelNumbers};
use crate::tables::Lft;
use crate::topology::Topology;
use crate::vl_plan::SLS;

/// Forwarding tables from which dependencies are read.
#[derive(Debug)]
pub(crate) struct Lookup<'a> {
    tables: &'a [&'a Lft],
    /// LIDs, with the VL of their packets if it depends on the LID alone.
    lids: Vec<(usize, Option<u8>)>,
    /// Set when a search exceeded its lookups.
    pub(super) exhausted: &'a AtomicBool,
}

impl<'a> Lookup<'a> {
    pub(crate) fn new(
        topo: &Topology,
        tables: &'a [&'a Lft],
        vls: PlannedVls<'_>,
        exhausted: &'a AtomicBool,
    ) -> Self {
        let lids = topo.destinations().iter();
        Self {
            tables,
            lids: lids
                .map(|d| (usize::from(d.lid.raw()), vls.vl_of_lid(d)))
                .collect(),
            exhausted,
        }
    }

    /// Whether the VL of each packet depends on its LID alone; lookups then find hardly any
    /// superfluous dependency.
    pub(crate) fn is_exact(&self) -> bool {
        self.lids.iter().all(|(_, vl)| vl.is_some())
    }

    /// Adds the dependencies of packets that leave over a channel, on all VLs.
    pub(super) fn add_from(
        &self,
        channels: &VlChannelNumbers<'_>,
        channel: usize,
        dependencies: &mut Dependencies,
    ) {
        let ports = channels.ports;
        let (u, port) = ports.locate(channel);
        let Some((v, input)) = ports.head(channel) else {
            return;
        };
        let entries = self.tables[u].entries();
        let next_entries = self.tables[v].entries();
        let mut any_vl = [false; 256];
        for &(lid, vl) in &self.lids {
            if entries.get(lid) != Some(&port) {
                continue;
            }
            let Some(&out) = next_entries.get(lid) else {
                continue;
            };
            match vl {
                Some(vl) if ports.peer(v, out).is_some() => {
                    let next = channels.on_vl(ports.output_channel(v, out), vl);
                    dependencies.insert(channels, (channels.on_vl(channel, vl), next));
                }
                Some(_) => {}
                None => any_vl[usize::from(out)] = true,
            }
        }
        for (out, _) in (0..=PortNum::DROP.raw()).zip(any_vl).filter(|w| w.1) {
            if ports.peer(v, out).is_some() {
                self.add_on_all_vls(channels, channel, v, input, out, dependencies);
            }
        }
    }

    /// Adds the dependencies of packets that arrive over another channel and leave over this one,
    /// on all VLs.
    pub(super) fn add_to(
        &self,
        channels: &VlChannelNumbers<'_>,
        channel: usize,
        dependencies: &mut Dependencies,
    ) {
        let ports = channels.ports;
        let (v, out) = ports.locate(channel);
        if ports.head(channel).is_none() {
            return;
        }
        let last = u8::try_from(ports.ports(v) - 1).unwrap_or(PortNum::DROP.raw());
        // Channels that lead to the switch: number, input port, output port of the peer, its table,
        // whether some packet takes this path on a VL that depends on more than the LID.
        let mut into: Vec<(usize, u8, u8, &[u8], bool)> = (1..=last)
            .filter_map(|input| {
                let (u, port) = ports.peer(v, input)?;
                let entries = self.tables[u].entries();
                Some((ports.output_channel(u, port), input, port, entries, false))
            })
            .collect();
        let entries = self.tables[v].entries();
        for &(lid, vl) in &self.lids {
            if entries.get(lid) != Some(&out) {
                continue;
            }
            for (first, _, port, entries, any_vl) in &mut into {
                if entries.get(lid) == Some(port) {
                    match vl {
                        Some(vl) => {
                            let next = channels.on_vl(channel, vl);
                            dependencies.insert(channels, (channels.on_vl(*first, vl), next));
                        }
                        None => *any_vl = true,
                    }
                }
            }
        }
        for (first, input, ..) in into.into_iter().filter(|i| i.4) {
            self.add_on_all_vls(channels, first, v, input, out, dependencies);
        }
    }

    /// Adds the dependencies from a channel that enters `v` through `input`, on all VLs that
    /// packets may have.
    fn add_on_all_vls(
        &self,
        channels: &VlChannelNumbers<'_>,
        channel: usize,
        v: usize,
        input: u8,
        out: u8,
        dependencies: &mut Dependencies,
    ) {
        let next = channels.ports.output_channel(v, out);
        for vl in (0u8..).take(channels.packets.num_vls()) {
            let from = channels.on_vl(channel, vl);
            if !channels.packets.depend_on_ports() {
                dependencies.insert(channels, (from, channels.on_vl(next, vl)));
                continue;
            }
            for sl in (0u8..).take(SLS) {
                if let Some(next_vl) = channels.packets.vl(v, input, out, sl) {
                    dependencies.insert(channels, (from, channels.on_vl(next, next_vl)));
                }
            }
        }
    }
}
