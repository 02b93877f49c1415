//! The path of packets, from the tables that the switches have.

use ferrosm_api::answer::ApiError;
use ferrosm_api::path::{Hop, Path, PathQuery};
use ferrosm_fabric::snapshot::{EndPortIdx, PortIdx, Snapshot, SnapshotLink};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{LinkRate, MtuCode};
use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::lookup;
use super::names::{end_port_name, link_end};
use super::published::FabricState;

/// Most switches on a path; more are a loop.
const HOPS_MAX: usize = 64;

/// A path, and the slots of the switches of its hops.
pub(super) struct FoundPath {
    pub(super) path: Path,
    pub(super) slots: Vec<u32>,
}

/// The path between two ports.
pub(super) fn path(fabric: &FabricState, query: &PathQuery) -> Result<FoundPath, ApiError> {
    let snapshot = &*fabric.snapshot;
    let from = lookup::end_port(fabric, &query.from)?;
    let to = lookup::end_port(fabric, &query.to)?;
    let lid = snapshot.end_port(to).lid;
    let (sl, _) = snapshot.path_sl(from, lid);
    let mut walk = Walk {
        snapshot,
        lid,
        sl,
        hops: Vec::new(),
        slots: Vec::new(),
        mtu: MtuCode::Mtu4096,
        narrowest_mbps: u32::MAX,
    };
    let dropped = walk.follow(from, to).err();
    let p_keys: Option<Vec<String>> =
        match (&snapshot.end_port(from).pkeys, &snapshot.end_port(to).pkeys) {
            (Some(own), Some(peer)) => {
                // Limited members do not reach each other.
                let shared = own.as_slice().iter().filter(|key| peer.accepts(**key));
                Some(shared.map(ToString::to_string).collect())
            }
            _ => None,
        };
    let is_separated = p_keys.as_ref().is_some_and(Vec::is_empty);
    let dropped = dropped.or_else(|| {
        let reason = "the ports share no partition of which one is a full member";
        is_separated.then(|| reason.to_owned())
    });
    let Walk {
        hops,
        slots,
        mtu,
        narrowest_mbps,
        ..
    } = walk;
    let path = Path {
        from: end_port_name(snapshot, from),
        to: end_port_name(snapshot, to),
        lid: lid.0,
        sl: sl.0,
        hops,
        dropped,
        mtu: mtu.bytes().unwrap_or(0),
        narrowest_mbps: if narrowest_mbps == u32::MAX {
            0
        } else {
            narrowest_mbps
        },
        p_keys: p_keys.unwrap_or_default(),
    };
    Ok(FoundPath { path, slots })
}

struct Walk<'s> {
    snapshot: &'s Snapshot,
    lid: Lid,
    sl: Sl,
    hops: Vec<Hop>,
    /// The slot of each hop's switch.
    slots: Vec<u32>,
    mtu: MtuCode,
    narrowest_mbps: u32,
}

impl Walk<'_> {
    /// Follows a packet. The error says where it is dropped, and why.
    fn follow(&mut self, from: EndPortIdx, to: EndPortIdx) -> Result<(), String> {
        let snapshot = self.snapshot;
        if !self.lid.is_unicast() {
            return Err("the receiver has no LID".to_owned());
        }
        let target = snapshot.end_port(to).port;
        let start = snapshot.end_port(from).port;
        if start == target {
            return Ok(());
        }
        let mut at = if snapshot.is_switch(start.node()) {
            start
        } else {
            self.cross(start)?
        };
        while at != target {
            if !snapshot.is_switch(at.node()) {
                let end = link_end(snapshot, at).location();
                return Err(format!("they arrive at {end}, which is another port"));
            }
            if self.hops.len() >= HOPS_MAX {
                return Err(format!("they loop: {HOPS_MAX} switches"));
            }
            at = self.forward(at)?;
        }
        Ok(())
    }

    /// Forwards through the switch that a packet enters at `at`; returns where it arrives.
    fn forward(&mut self, at: PortIdx) -> Result<PortIdx, String> {
        let node = self.snapshot.node(at.node());
        let name = node.name();
        let Some(out) = self.snapshot.output_port(at.node(), self.lid) else {
            return Err(format!("the table of {name} is unknown"));
        };
        if out == PortNum::DROP {
            return Err(format!("{name} has no entry for LID {}", self.lid));
        }
        self.slots.push(at.node());
        self.hops.push(Hop {
            guid: node.guid.to_string(),
            name,
            in_port: at.num().0,
            out_port: out.0,
            vl: self.vl(at, out),
        });
        if out == PortNum::ZERO {
            return Ok(PortIdx::new(at.node(), out));
        }
        self.cross(PortIdx::new(at.node(), out))
    }

    /// Crosses the link of a port.
    fn cross(&mut self, at: PortIdx) -> Result<PortIdx, String> {
        let peer = self
            .snapshot
            .port_by_num(at.node(), at.num())
            .and_then(|at| self.snapshot.peer(at));
        let Some(peer) = peer else {
            let end = link_end(self.snapshot, at).location();
            return Err(format!("{end} has no link"));
        };
        let link = self.snapshot.reported_link(SnapshotLink { a: at, b: peer });
        if let Some((width, speed)) = link.width.zip(link.speed) {
            let rate = LinkRate { width, speed };
            self.narrowest_mbps = self.narrowest_mbps.min(rate.mbps());
        }
        let mtu = self.snapshot.port(at).mtu;
        self.mtu = if mtu.0 < self.mtu.0 { mtu } else { self.mtu };
        Ok(peer)
    }

    /// The VL on which a packet leaves a switch, if its SLtoVL table is known.
    fn vl(&self, at: PortIdx, out: PortNum) -> Option<u8> {
        let tables = &self.snapshot.node(at.node()).sl_to_vl;
        let table = tables
            .get(&SlToVlSelector::Pair(at.num(), out))
            .or_else(|| tables.get(&SlToVlSelector::Output(out)))?;
        let pair = table[usize::from(self.sl.0 / 2)];
        Some(if self.sl.0.is_multiple_of(2) {
            pair >> 4
        } else {
            pair & 0xF
        })
    }
}
