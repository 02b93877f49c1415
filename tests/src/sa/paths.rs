//! Expected replies to path queries, computed from the LFTs of the simulated switches and the rules
//! for PathRecords.
//!
//! Shares no code with the SA: port attributes are read from the devices, and rates and selectors
//! follow the tables of the specification (IBA vol. 1, 15.2.5.16).

use ferrosm_mad::ids::{Lid, PKey};
use ferrosm_sim::spec::PortAt;

use crate::lab::Lab;
use crate::sa::expected::{end_ports, share_partition};
use crate::sa::wire::field;

/// Rates in Mbit/s by rate code, from code 2.
const MBPS: [u32; 24] = [
    2_500, 10_000, 30_000, 5_000, 20_000, 40_000, 60_000, 80_000, 120_000, 14_000, 56_000, 112_000,
    168_000, 25_000, 100_000, 200_000, 300_000, 28_000, 50_000, 400_000, 600_000, 800_000,
    1_200_000, 1_600_000,
];

/// Mbit/s of a rate code; `None` for a reserved code.
#[must_use]
pub fn mbps(code: u8) -> Option<u32> {
    MBPS.get(usize::from(code.checked_sub(2)?)).copied()
}

/// The code of the highest rate that does not exceed `limit`.
fn code_at_most(limit: u32) -> u8 {
    (2..=25u8)
        .filter(|c| mbps(*c).is_some_and(|m| m <= limit))
        .max_by_key(|c| mbps(*c))
        .unwrap_or(2)
}

/// Properties of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathProperties {
    /// MTU code.
    pub mtu: u8,
    /// Rate code.
    pub rate: u8,
    /// PacketLifeTime.
    pub life: u8,
}

/// MTU code and Mbit/s of a port.
fn port(lab: &Lab, at: PortAt) -> (u8, u32) {
    let fabric = lab.world.fabric();
    let Some(info) = fabric.port_info(at) else {
        return (0, 0);
    };
    let is_port0 = at.port == 0;
    let mtu = if is_port0 {
        info.mtu_cap.0
    } else {
        info.neighbor_mtu.0
    };
    let width = match info.link_width_active {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => 0,
    };
    let lane_speed = match (
        info.link_speed_ext_active2,
        info.link_speed_ext_active,
        info.link_speed_active,
    ) {
        (1, _, _) => 200_000,
        (_, 1, _) => 14_000,
        (_, 2, _) => 25_000,
        (_, 4, _) => 50_000,
        (_, 8, _) => 100_000,
        (_, _, 1) => 2_500,
        (_, _, 2) => 5_000,
        (_, _, 4) => 10_000,
        _ => 0,
    };
    let rate = if is_port0 && width * lane_speed == 0 {
        u32::MAX
    } else {
        width * lane_speed
    };
    (mtu, rate)
}

/// The ports on the path from an end port to a LID, with both ends of each link; `None` if the path
/// does not end at `to`.
#[must_use]
pub fn ports_on_path(lab: &Lab, from: PortAt, to: PortAt, dlid: u16) -> Option<Vec<PortAt>> {
    let fabric = lab.world.fabric();
    let mut ports = vec![from];
    let mut at = from;
    let mut hops = 0;
    while at != to {
        let out = if fabric.is_switch(at.node) {
            let egress = fabric.lft_entry(at.node, Lid(dlid)).0;
            if egress == 0 {
                let port0 = PortAt {
                    node: at.node,
                    port: 0,
                };
                if port0 != to {
                    return None;
                }
                ports.push(port0);
                break;
            }
            PortAt {
                node: at.node,
                port: egress,
            }
        } else if at == from {
            from
        } else {
            // The path ends at an end port other than `to`.
            return None;
        };
        let next = fabric.peer(out)?;
        ports.extend([out, next]);
        at = next;
        hops += 1;
        if hops > 64 {
            return None;
        }
    }
    Some(ports)
}

/// Properties of the path from an end port to a LID; `None` if the path does not end at `to`.
#[must_use]
pub fn walk(lab: &Lab, from: PortAt, to: PortAt, dlid: u16, life: u8) -> Option<PathProperties> {
    let path = ports_on_path(lab, from, to, dlid)?;
    let ports: Vec<(u8, u32)> = path.iter().map(|p| port(lab, *p)).collect();
    let mtu = ports.iter().map(|p| p.0).min()?;
    let rate = code_at_most(ports.iter().map(|p| p.1).min()?);
    let life = if from == to { 0 } else { life };
    Some(PathProperties { mtu, rate, life })
}

/// A selector and its value; `None` unless the request has both.
pub type Limit = Option<(u8, u8)>;

/// Requested properties of a path, apart from its endpoints.
#[derive(Debug, Clone, Copy, Default)]
pub struct PathRequest {
    pub mtu: Limit,
    pub rate: Limit,
    /// PacketLifeTime.
    pub life: Limit,
    /// P_Key.
    pub pkey: Option<u16>,
    /// Service level.
    pub sl: Option<u8>,
    /// The reverse path must satisfy the request, too.
    pub reversible: bool,
}

impl PathRequest {
    /// Whether all MTU and rate codes are valid.
    #[must_use]
    pub fn is_legal(&self) -> bool {
        let mtu = self.mtu.is_none_or(|(s, v)| s == 3 || (1..=5).contains(&v));
        let rate = self.rate.is_none_or(|(s, v)| s == 3 || mbps(v).is_some());
        mtu && rate
    }

    /// The properties in the reply for a path; `None` if the path does not satisfy the request.
    #[must_use]
    pub fn advertised(&self, path: PathProperties) -> Option<PathProperties> {
        let mtu = match self.mtu {
            None | Some((3, _)) => path.mtu,
            Some((0, v)) => Some(path.mtu).filter(|m| *m > v)?,
            Some((1, v)) => Some(path.mtu.min(v - 1)).filter(|m| *m >= 1)?,
            Some((_, v)) => Some(v).filter(|v| path.mtu >= *v)?,
        };
        let actual = mbps(path.rate)?;
        let rate = match self.rate {
            None | Some((3, _)) => path.rate,
            Some((0, v)) => Some(path.rate).filter(|_| mbps(v).is_some_and(|v| actual > v))?,
            Some((1, v)) => {
                let below = mbps(v)?.min(actual + 1) - 1;
                Some(code_at_most(below)).filter(|c| mbps(*c).is_some_and(|m| m <= below))?
            }
            Some((_, v)) => Some(v).filter(|v| *v == path.rate)?,
        };
        let life = match self.life {
            None | Some((3, _)) => path.life,
            Some((0, v)) => Some(path.life).filter(|l| *l > v)?,
            Some((1, v)) => Some(path.life).filter(|l| *l < v)?,
            Some((_, v)) => Some(v).filter(|v| path.life <= *v)?,
        };
        Some(PathProperties { mtu, rate, life })
    }
}

/// The P_Key of a path between two ports: the requested one, or the lowest common one, with the
/// source's membership bit.
#[must_use]
pub fn pkey(lab: &Lab, from: PortAt, to: PortAt, requested: Option<u16>) -> Option<u16> {
    let fabric = lab.world.fabric();
    let a = fabric.pkeys(from);
    let b = fabric.pkeys(to);
    let best = |keys: &[PKey], base: u16| {
        let matching = keys.iter().map(|k| k.0).filter(|k| k & 0x7FFF == base);
        matching.max()
    };
    let common = |base: u16| {
        let x = best(&a, base)?;
        let y = best(&b, base)?;
        ((x | y) & 0x8000 != 0).then_some(x)
    };
    if let Some(requested) = requested {
        let base = requested & 0x7FFF;
        return (base != 0 && common(base).is_some()).then_some(requested);
    }
    let mut bases: Vec<u16> = a.iter().map(|k| k.0 & 0x7FFF).filter(|b| *b != 0).collect();
    bases.sort_unstable();
    bases.into_iter().find_map(common)
}

/// A path in a reply, without NumbPath and Preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathReply {
    /// Source and destination LID.
    pub lids: (u16, u16),
    /// P_Key.
    pub pkey: u16,
    /// Service level.
    pub sl: u8,
    /// MTU, rate, PacketLifeTime.
    pub values: (u8, u8, u8),
    /// The reverse path satisfies the request, too.
    pub reversible: bool,
}

/// The LIDs of an end port.
#[must_use]
pub fn lids(lab: &Lab, at: PortAt) -> Vec<u16> {
    let (base, lmc) = lab.world.fabric().lid(at);
    (0..1u16 << lmc).map(|i| base.0 + i).collect()
}

/// All paths between two end ports that the SA should return to a client. `sl` returns the SL of a
/// path, and whether any other SL is valid, too.
#[must_use]
pub fn between(
    lab: &Lab,
    client: PortAt,
    (from, to): (PortAt, PortAt),
    (slid, dlid): (Option<u16>, Option<u16>),
    demand: &PathRequest,
    life: u8,
    sl: &dyn Fn(PortAt, u16) -> (u8, bool),
) -> Vec<PathReply> {
    let pairs = [(client, from), (client, to), (from, to)];
    if !pairs.iter().all(|(a, b)| share_partition(lab, *a, *b)) {
        return Vec::new();
    }
    let Some(pkey) = pkey(lab, from, to, demand.pkey) else {
        return Vec::new();
    };
    let candidates = |only: Option<u16>, at| only.map_or_else(|| lids(lab, at), |lid| vec![lid]);
    let mut entries = Vec::new();
    for slid in candidates(slid, from) {
        for dlid in candidates(dlid, to) {
            let Some(values) = walk(lab, from, to, dlid, life).and_then(|w| demand.advertised(w))
            else {
                continue;
            };
            let back = walk(lab, to, from, slid, life).and_then(|w| demand.advertised(w));
            if demand.reversible && back.is_none() {
                continue;
            }
            let (assigned, any) = sl(from, dlid);
            let sl = match demand.sl {
                Some(requested) if any || requested == assigned => requested,
                Some(_) => continue,
                None => assigned,
            };
            entries.push(PathReply {
                lids: (slid, dlid),
                pkey,
                sl,
                values: (values.mtu, values.rate, values.life),
                reversible: back.is_some(),
            });
        }
    }
    entries
}

/// Position of the MTU selector in a PathRecord: component number and first bit. The value follows.
pub const MTU: (u32, usize) = (16, 432);
/// Position of the rate selector.
pub const RATE: (u32, usize) = (18, 440);
/// Position of the PacketLifeTime selector.
pub const LIFE_TIME: (u32, usize) = (20, 448);

/// The GID of an end port.
#[must_use]
pub fn gid(lab: &Lab, at: PortAt) -> u128 {
    0xFE80 << 112 | u128::from(lab.world.fabric().port_guid(at).0)
}

/// Decodes a PathRecord, and asserts that its GIDs belong to its LIDs.
///
/// # Panics
/// If a field has an invalid value.
#[must_use]
pub fn decode(lab: &Lab, record: &[u8]) -> PathReply {
    let number = |at, width| field(record, at, width);
    let lid = |at| u16::try_from(number(at, 16)).unwrap_or(0);
    let byte = |at, width| u8::try_from(number(at, width)).unwrap_or(0xFF);
    for (gid_at, lid) in [(8, lid(320)), (24, lid(336))] {
        let ends = end_ports(lab);
        let at = ends.iter().find(|at| lids(lab, **at).contains(&lid));
        let named = at.map(|at| gid(lab, *at).to_be_bytes().to_vec());
        assert_eq!(
            named.as_deref(),
            Some(&record[gid_at..gid_at + 16]),
            "GID of LID {lid}"
        );
    }
    for (_, at) in [MTU, RATE, LIFE_TIME] {
        assert_eq!(number(at, 2), 2, "selectors of replies are `exactly`");
    }
    // RawTraffic, FlowLabel, HopLimit, TClass and QoSClass are 0 within the subnet.
    assert_eq!(
        (number(352, 32), number(384, 8), number(416, 12)),
        (0, 0, 0)
    );
    PathReply {
        lids: (lid(336), lid(320)),
        pkey: lid(400),
        sl: byte(428, 4),
        values: (byte(434, 6), byte(442, 6), byte(450, 6)),
        reversible: number(392, 1) == 1,
    }
}

/// The SL that the routing assigns to a path, and whether any other SL is valid, too.
#[must_use]
pub fn sl(lab: &Lab, from: PortAt, to: u16) -> (u8, bool) {
    let core = lab.manager().core();
    let Some(vl_plan) = core.vl_plan().filter(|l| !l.is_single()) else {
        return (0, true);
    };
    let guid = lab.world.fabric().port_guid(from);
    let at = core.fabric().port_by_guid(guid);
    (
        at.map_or(0, |at| vl_plan.sl(core.fabric(), at, Lid(to)).0),
        false,
    )
}
