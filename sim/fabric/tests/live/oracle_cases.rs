//! Single SM faults on an otherwise correct [`Plan`], and the kinds of violation that the oracle
//! must report.

use std::collections::BTreeSet;

use ferrosm_mad::attr::{MtuCode, PortState, SmState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, PKey, Sl};
use ferrosm_sim::oracle::FabricSnapshot;
use ferrosm_sim::spec::PortAt;

use super::oracle_plan::{MLID, PARTITION, Plan};

/// Configured fabrics.
pub(crate) const SHAPES: [&str; 4] = ["fat-tree:4", "ring:5", "torus:4,4", "fat-tree2:8,4,4"];
/// Fabrics that need two VLs.
const TWO_VLS: [&str; 2] = ["ring:5", "torus:4,4"];

/// A fault of an SM.
pub(crate) enum SmFault {
    /// A change of the SM's plan.
    Plan(fn(&mut Plan)),
    /// A change of the snapshot, for values that devices reject.
    Snapshot(fn(&mut FabricSnapshot, &Plan)),
}

/// A fault, the violations that must be reported, and others that may be.
pub(crate) struct Case {
    pub(crate) description: &'static str,
    pub(crate) fault: SmFault,
    pub(crate) must: &'static [&'static str],
    pub(crate) may: &'static [&'static str],
    pub(crate) shapes: &'static [&'static str],
}

const fn case(
    description: &'static str,
    must: &'static [&'static str],
    change: fn(&mut Plan),
) -> Case {
    Case {
        description,
        fault: SmFault::Plan(change),
        must,
        may: &[],
        shapes: &SHAPES,
    }
}

impl Case {
    const fn may(mut self, kinds: &'static [&'static str]) -> Self {
        self.may = kinds;
        self
    }

    const fn on(mut self, shapes: &'static [&'static str]) -> Self {
        self.shapes = shapes;
        self
    }
}

const fn snapshot_case(
    description: &'static str,
    must: &'static [&'static str],
    change: fn(&mut FabricSnapshot, &Plan),
) -> Case {
    Case {
        description,
        fault: SmFault::Snapshot(change),
        must,
        may: &[],
        shapes: &SHAPES,
    }
}

/// Ports of links that close a loop in the group's tree: one link between two of its switches, or
/// two through a switch outside of the tree.
fn loop_ports(plan: &Plan) -> Vec<PortAt> {
    let in_tree = |at: &PortAt| {
        plan.switches
            .get(&at.node)
            .map(|s| !s.mft[&MLID].is_empty())
    };
    let is_used = |at: &PortAt| plan.switches[&at.node].mft[&MLID].contains(&at.port);
    let spare = |(a, b): &(&PortAt, &PortAt)| {
        in_tree(a) == Some(true) && in_tree(b) == Some(true) && !is_used(a)
    };
    if let Some((a, b)) = plan.peers.iter().find(spare) {
        return vec![*a, *b];
    }
    let switches = plan.switches.keys().copied();
    let ports = switches.map(|node| {
        let links = plan.peers.iter().filter(move |(a, _)| a.node == node);
        links
            .filter(|(a, b)| in_tree(a) == Some(false) && in_tree(b) == Some(true))
            .flat_map(|(a, b)| [*a, *b])
            .take(4)
            .collect::<Vec<_>>()
    });
    let mut ports = ports.filter(|ports| ports.len() == 4);
    ports.next().unwrap()
}

/// All faults.
pub(crate) fn cases() -> Vec<Case> {
    let mut all = routing_cases();
    all.extend(vl_cases());
    all.extend(setting_cases());
    all.extend(multicast_cases());
    all.extend(partition_cases());
    all.extend(master_cases());
    all
}

fn routing_cases() -> Vec<Case> {
    vec![
        case(
            "two hosts have the same LID",
            &["DuplicateLid", "Undelivered"],
            |p| {
                let lid = p.ports[&p.host(2)].lid;
                let at = p.host(1);
                p.port(at).lid = lid;
            },
        ),
        snapshot_case("a host has no LID", &["IllegalLid"], |s, p| {
            let at = p.host(1);
            s.nodes[at.node].ports[usize::from(at.port)].info.lid = Lid(0);
        }),
        snapshot_case("a LID is not aligned", &["UnalignedLid"], |s, p| {
            let at = p.host(1);
            s.nodes[at.node].ports[usize::from(at.port)].info.lid.0 += 1;
        })
        .may(&["DuplicateLid", "Undelivered"]),
        case("an LFT entry is missing", &["Undelivered"], |p| {
            let lid = p.ports[&p.host(3)].lid;
            let leaf = p.leaf_port(0).node;
            p.switch(leaf).lft[usize::from(lid.raw())] = 0xFF;
        }),
        case(
            "an LFT entry leads to a wrong host",
            &["Undelivered"],
            |p| {
                let lid = p.ports[&p.host(1)].lid;
                let port = p.leaf_port(0);
                p.switch(port.node).lft[usize::from(lid.raw())] = port.port;
            },
        ),
        case(
            "two switches forward to each other",
            &["Undelivered"],
            |p| {
                let lid = usize::from(p.ports[&p.host(0)].lid.raw());
                let a = p.trunk();
                let b = p.peers[&a];
                p.switch(a.node).lft[lid] = a.port;
                p.switch(b.node).lft[lid] = b.port;
            },
        ),
        case(
            "LinearFDBTop is one LID short",
            &["LinearFdbTop", "Undelivered"],
            |p| {
                let leaf = p.leaf_port(0).node;
                p.switch(leaf).linear_fdb_top -= 1;
            },
        ),
        case("a link remains in Armed", &["NotActive"], |p| {
            let at = p.trunk();
            p.port(at).state = PortState::Armed;
        }),
        case("one port of a link has a smaller MTU", &["Mtu"], |p| {
            let at = p.leaf_port(1);
            p.port(at).mtu = MtuCode::Mtu1024;
        }),
    ]
}

fn vl_cases() -> Vec<Case> {
    vec![
        case(
            "a host has half the VLs of its switch",
            &["OperationalVls"],
            |p| {
                let at = p.host(1);
                p.port(at).operational_vls = 2;
            },
        )
        .may(&["SlToVlInactiveVl", "VlArbInactiveVl"]),
        case("a switch has no VL to a host", &["NoVl"], |p| {
            let at = p.leaf_port(1);
            for vls in p.port(at).sl_to_vl.values_mut() {
                vls[..4].fill(15);
            }
        }),
        case("a host has no VL", &["NoSourceVl"], |p| {
            let at = p.host(1);
            p.port(at).sl_to_vl.insert(0, [15; 16]);
        }),
        case("all paths use one VL", &["CreditLoop"], |p| {
            for port in p.ports.values_mut() {
                for vls in port.sl_to_vl.values_mut() {
                    for vl in vls.iter_mut().filter(|vl| **vl == 1) {
                        *vl = 0;
                    }
                }
            }
        })
        .on(&TWO_VLS),
        case(
            "the SLtoVL table of one input is written for all",
            &["CreditLoop"],
            |p| {
                for port in p.ports.values_mut() {
                    let first = port.sl_to_vl.get(&1).copied();
                    for vls in port.sl_to_vl.values_mut() {
                        *vls = first.unwrap_or(*vls);
                    }
                }
            },
        )
        .on(&["ring:5"]),
        case(
            "an unused SL maps to an inactive VL",
            &["SlToVlInactiveVl"],
            |p| {
                let at = p.trunk();
                p.port(at).sl_to_vl.get_mut(&0).unwrap()[9] = 7;
            },
        ),
        case("an inactive VL has weight", &["VlArbInactiveVl"], |p| {
            let at = p.trunk();
            p.port(at).vl_arb_low.push((6, 1));
        }),
        case("a VL in use has no weight", &["VlWithoutWeight"], |p| {
            let at = p.leaf_port(1);
            p.port(at).vl_arb_low[0].1 = 0;
        }),
    ]
}

fn setting_cases() -> Vec<Case> {
    vec![
        case("a host has another MasterSMLID", &["MasterSmLid"], |p| {
            let at = p.host(2);
            p.port(at).master_sm_lid = Lid(40);
        }),
        case("a switch has another MasterSMLID", &["MasterSmLid"], |p| {
            let at = PortAt::new(p.trunk().node, 0);
            p.port(at).master_sm_lid = Lid(40);
        }),
        case("a port has no M_Key", &["MKey"], |p| {
            let at = p.host(2);
            p.port(at).m_key = 0;
        }),
        case(
            "a port has no M_Key protection",
            &["MKeyProtectBits"],
            |p| {
                let at = p.host(2);
                p.port(at).m_key_protect_bits = 0;
            },
        ),
        case("an M_Key lease has no end", &["MKeyLeasePeriod"], |p| {
            let at = p.host(2);
            p.port(at).m_key_lease_period = 0;
        }),
        case("a port has the default prefix", &["GidPrefix"], |p| {
            let at = p.host(2);
            p.port(at).gid_prefix = GidPrefix::DEFAULT;
        }),
        case(
            "a port has a short SubnetTimeOut",
            &["SubnetTimeout"],
            |p| {
                let at = p.host(2);
                p.port(at).subnet_timeout = 3;
            },
        ),
        case("a port has one LID only", &["Lmc"], |p| {
            let at = p.host(1);
            p.port(at).lmc = Lmc(0);
        }),
        case("a port has another MasterSMSL", &["MasterSmSl"], |p| {
            let at = p.host(1);
            p.port(at).master_sm_sl = Sl(3);
        }),
        case("HOQLife to a host is too long", &["HoqLife"], |p| {
            let at = p.leaf_port(1);
            p.port(at).hoq_life = 19;
        }),
        case(
            "VLStallCount between switches is too low",
            &["VlStallCount"],
            |p| {
                let at = p.trunk();
                p.port(at).vl_stall_count = 1;
            },
        ),
        case("LifeTimeValue is unlimited", &["PacketLifeTime"], |p| {
            let node = p.trunk().node;
            p.switch(node).life_time_value = 20;
        }),
        case(
            "a host received no ClientReregister",
            &["NotReregistered"],
            |p| {
                let at = p.host(1);
                p.port(at).reregister = false;
            },
        ),
        case(
            "PortStateChange is not cleared",
            &["PortStateChange"],
            |p| {
                let node = p.trunk().node;
                p.switch(node).clears_state_change = false;
            },
        ),
    ]
}

fn multicast_cases() -> Vec<Case> {
    vec![
        case(
            "an MFT has an entry of a deleted group",
            &["StaleMlid"],
            |p| {
                let node = p.trunk().node;
                p.switch(node).mft.insert(Lid(0xC001), BTreeSet::from([0]));
            },
        ),
        case(
            "a branch leads to an unconnected port",
            &["UnconnectedPort"],
            |p| {
                let node = p.leaf_port(0).node;
                p.switch(node).mft.get_mut(&MLID).unwrap().insert(15);
            },
        ),
        case(
            "a host that is not a member receives copies",
            &["NonMember"],
            |p| {
                let at = p.leaf_port(1);
                p.switch(at.node)
                    .mft
                    .get_mut(&MLID)
                    .unwrap()
                    .insert(at.port);
            },
        ),
        case(
            "a switch that is not a member receives copies",
            &["NonMember"],
            |p| {
                let at = p.leaf_port(0);
                p.switch(at.node).mft.get_mut(&MLID).unwrap().insert(0);
            },
        ),
        case("a member receives no copy", &["MemberNotReached"], |p| {
            let at = p.leaf_port(2);
            p.switch(at.node)
                .mft
                .get_mut(&MLID)
                .unwrap()
                .remove(&at.port);
        }),
        case(
            "a branch is missing on one side",
            &["MemberNotReached"],
            |p| {
                let at = p.leaf_port(0);
                p.switch(at.node)
                    .mft
                    .insert(MLID, BTreeSet::from([at.port]));
            },
        ),
        case("the tree has an extra link", &["Loop"], |p| {
            for at in loop_ports(p) {
                p.switch(at.node)
                    .mft
                    .get_mut(&MLID)
                    .unwrap()
                    .insert(at.port);
            }
        })
        .may(&["CreditLoop"]),
        case(
            "MulticastFDBTop is too low",
            &["AboveTop", "MemberNotReached"],
            |p| {
                let node = p.leaf_port(0).node;
                p.switch(node).multicast_fdb_top = 0xBFFF;
            },
        ),
        case(
            "multicast has no VL to a member",
            &["NoVl", "MemberNotReached"],
            |p| {
                let at = p.leaf_port(2);
                for vls in p.port(at).sl_to_vl.values_mut() {
                    vls[4] = 15;
                }
            },
        ),
    ]
}

fn partition_cases() -> Vec<Case> {
    vec![
        case("a host has an extra P_Key", &["WrongPKeys"], |p| {
            for at in [p.host(1), p.leaf_port(1)] {
                p.port(at).pkeys.push(PARTITION);
            }
        }),
        case("a full member has a limited P_Key", &["WrongPKeys"], |p| {
            let limited = PKey(PARTITION.raw() & 0x7FFF);
            for at in [p.host(2), p.leaf_port(2)] {
                p.port(at).pkeys[1] = limited;
            }
        }),
        case(
            "the default partition is not at index 0",
            &["WrongIndex0"],
            |p| {
                let at = p.host(2);
                p.port(at).pkeys.reverse();
            },
        ),
        case(
            "a host shares no partition with the SM",
            &["WrongPKeys", "NoSharedPartition"],
            |p| {
                for at in [p.host(1), p.leaf_port(1)] {
                    p.port(at).pkeys = vec![PKey(0x8002)];
                }
            },
        ),
        case(
            "a switch drops packets of a member",
            &["BlockedPKey"],
            |p| {
                let at = p.leaf_port(2);
                p.port(at).pkeys = vec![PKey::DEFAULT_FULL];
            },
        ),
        case(
            "a switch passes packets of a host that is not a member",
            &["ExtraPKey"],
            |p| {
                let at = p.leaf_port(1);
                p.port(at).pkeys.push(PARTITION);
            },
        ),
        case(
            "a switch does not enforce partitions",
            &["Enforcement"],
            |p| {
                let at = p.leaf_port(1);
                p.port(at).enforce_inbound = false;
            },
        ),
        case(
            "a switch enforces partitions to another switch",
            &["Enforcement", "BlockedPKey"],
            |p| {
                let at = p.trunk();
                p.port(at).enforce_inbound = true;
            },
        ),
    ]
}

fn master_cases() -> Vec<Case> {
    vec![
        case("no SM is master", &["NoMaster"], |p| {
            p.sms[0].1 = SmState::Standby
        }),
        case("two SMs are master", &["MultipleMasters"], |p| {
            let at = p.host(1);
            p.sms.push((at, SmState::Master));
            p.is_sm.insert(at);
        }),
        case("the wrong SM is master", &["WrongMaster"], |p| {
            let at = p.host(1);
            p.sms = vec![(p.sm, SmState::Standby), (at, SmState::Master)];
            p.is_sm.insert(at);
        }),
        case("an SM has IsSM clear", &["IsSmClear"], |p| p.is_sm.clear()),
        case("IsSM is set without an SM", &["IsSmSet"], |p| {
            let at = p.host(1);
            p.is_sm.insert(at);
        }),
    ]
}
