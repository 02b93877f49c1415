//! Settings in PortInfo, SwitchInfo, SLtoVLMappingTable and VLArbitrationTable.

use ferrosm_mad::attr::{CapMask, PortInfo};
use ferrosm_mad::ids::{Lid, PortNum, Sl};

use super::Verdict;
use super::delivery::bits;
use super::expectations::Expectations;
use super::links::LidOwners;
use super::scope::Scope;
use super::state::data_vl_count;
use super::violation::{SettingFault as Fault, Violation};
use super::vl_map::VlMap;
use crate::spec::PortAt;

/// Checks the settings that do not affect delivery. `used_sls` is the bit mask of the SLs in use.
pub(super) fn check(
    scope: &Scope<'_>,
    expect: &Expectations,
    vl_map: &VlMap,
    owners: &LidOwners,
    used_sls: u16,
    verdict: &mut Verdict,
) {
    let mut faults = Vec::new();
    check_end_ports(scope, expect, &mut faults);
    check_switches(scope, expect, owners, &mut faults);
    let directed_links = scope.links.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    for (at, peer) in directed_links {
        if scope.state.nodes[at.node].is_switch() {
            let to_switch = scope.state.nodes[peer.node].is_switch();
            check_timers(scope, expect, at, to_switch, &mut faults);
        }
        check_sl_to_vl(scope, at, &mut faults);
        check_vl_arb(scope, vl_map, at, used_sls, &mut faults);
    }
    let faults = faults.into_iter().map(Violation::from);
    verdict.violations.extend(faults);
}

fn check_end_ports(scope: &Scope<'_>, expect: &Expectations, faults: &mut Vec<Fault>) {
    let expected = &expect.settings;
    let Some(master) = scope.state.port(expect.master).map(|p| &p.info) else {
        return;
    };
    let is_switch = |at: &PortAt| scope.state.nodes[at.node].is_switch();
    let lmc_of = |at: &PortAt| scope.port(*at).info.lmc;
    // The LMC of a CA or router port. Without these, the LMC above 0 of an enhanced port 0: a base
    // port 0 always has LMC 0.
    let mut end_ports = scope.end_ports.iter();
    let first_host = end_ports.clone().find(|at| !is_switch(at));
    let first = first_host.or_else(|| end_ports.find(|at| lmc_of(at).raw() > 0));
    let reference_lmc = first.map_or(master.lmc, lmc_of);
    for at in &scope.end_ports {
        let snapshot = scope.port(*at);
        let info: &PortInfo = &snapshot.info;
        let name = || scope.state.name(*at);
        if info.m_key != expected.m_key.unwrap_or(master.m_key) {
            faults.push(Fault::MKey(name()));
        }
        let mut check = |observed, expected, fault: &dyn Fn(String, _, _) -> Fault| {
            if observed != expected {
                faults.push(fault(name(), observed, expected));
            }
        };
        let bits = expected
            .m_key_protect_bits
            .unwrap_or(master.m_key_protect_bits);
        check(info.m_key_protect_bits, bits, &Fault::MKeyProtectBits);
        let timeout = expected.subnet_timeout.unwrap_or(master.subnet_timeout);
        check(info.subnet_timeout, timeout, &Fault::SubnetTimeout);
        let lease = expected
            .m_key_lease_period_s
            .unwrap_or(master.m_key_lease_period);
        if info.m_key_lease_period != lease {
            faults.push(Fault::MKeyLeasePeriod(
                name(),
                info.m_key_lease_period,
                lease,
            ));
        }
        let prefix = expected.gid_prefix.unwrap_or(master.gid_prefix);
        if info.gid_prefix != prefix {
            faults.push(Fault::GidPrefix(name(), info.gid_prefix, prefix));
        }
        // A base port 0 supports LMC 0 only.
        let lmc = expected.lmc.unwrap_or(reference_lmc);
        if info.lmc != lmc && !(is_switch(at) && info.lmc.raw() == 0) {
            faults.push(Fault::Lmc(name(), info.lmc, lmc));
        }
        if let Some(sl) = expected.master_sm_sl
            && sl != info.master_sm_sl
        {
            faults.push(Fault::MasterSmSl(name(), info.master_sm_sl, sl));
        }
        let count = snapshot.reregisters;
        let min = expected.min_client_reregisters;
        if info.capability_mask.has(CapMask::CLIENT_REREGISTER) && count < min {
            faults.push(Fault::NotReregistered(name(), count, min));
        }
    }
}

fn check_switches(
    scope: &Scope<'_>,
    expect: &Expectations,
    owners: &LidOwners,
    faults: &mut Vec<Fault>,
) {
    let highest = owners
        .iter()
        .rposition(Option::is_some)
        .map_or(Lid::NONE, Lid::from_index);
    for node in &scope.switches {
        let snapshot = &scope.state.nodes[*node];
        let info = &snapshot.switch_info;
        let name = || snapshot.name.clone();
        let highest = highest.min(Lid(snapshot.lft_entries() - 1));
        if info.linear_fdb_top < highest.raw() {
            faults.push(Fault::LinearFdbTop(name(), info.linear_fdb_top, highest));
        }
        if info.port_state_change {
            faults.push(Fault::PortStateChange(name()));
        }
        if let Some(life) = expect.settings.packet_life_time
            && life != info.life_time_value
        {
            faults.push(Fault::PacketLifeTime(name(), info.life_time_value, life));
        }
    }
}

fn check_timers(
    scope: &Scope<'_>,
    expect: &Expectations,
    at: PortAt,
    to_switch: bool,
    faults: &mut Vec<Fault>,
) {
    let info = &scope.port(at).info;
    // Selects the value for a link to an end port or to a switch.
    let for_link = |(end_port, switch): (u8, u8)| if to_switch { switch } else { end_port };
    if let Some(expected) = expect.settings.hoq_life.map(for_link)
        && expected != info.hoq_life
    {
        let name = scope.state.name(at);
        faults.push(Fault::HoqLife(name, info.hoq_life, expected));
    }
    if let Some(expected) = expect.settings.vl_stall_count.map(for_link)
        && expected != info.vl_stall_count
    {
        let name = scope.state.name(at);
        faults.push(Fault::VlStallCount(name, info.vl_stall_count, expected));
    }
}

/// A written SLtoVLMappingTable maps each SL to an active VL, or to VL 15 (drop). Reports the first
/// entry that does not.
fn check_sl_to_vl(scope: &Scope<'_>, at: PortAt, faults: &mut Vec<Fault>) {
    let snapshot = scope.port(at);
    let data_vls = data_vl_count(snapshot.info.operational_vls);
    let invalid = (0u8..).zip(&snapshot.sl_to_vl).find_map(|(input, table)| {
        let vl = |sl: u8| {
            let byte = table[usize::from(sl / 2)];
            if sl.is_multiple_of(2) {
                byte >> 4
            } else {
                byte & 0xF
            }
        };
        let is_inactive = |sl: &u8| vl(*sl) >= data_vls && vl(*sl) != 15;
        (0..16).find(is_inactive).map(|sl| (input, sl, vl(sl)))
    });
    if let Some((input, sl, vl)) = invalid {
        faults.push(Fault::SlToVlInactiveVl {
            port: scope.state.name(at),
            input: PortNum(input),
            sl: Sl(sl),
            vl,
            data_vls,
        });
    }
}

/// In a written VLArbitrationTable, every VL in use has a weight other than 0, and no inactive VL
/// has one.
fn check_vl_arb(
    scope: &Scope<'_>,
    vl_map: &VlMap,
    at: PortAt,
    used_sls: u16,
    faults: &mut Vec<Fault>,
) {
    let snapshot = scope.port(at);
    let count = data_vl_count(snapshot.info.operational_vls);
    let Some(arb) = snapshot.vl_arb.as_ref().filter(|_| count > 1) else {
        return;
    };
    let entries = || arb.low.iter().chain(&arb.high);
    let mut weighted = 0u16;
    for entry in entries().filter(|e| e.weight != 0) {
        weighted |= 1 << entry.vl.raw();
    }
    if let Some(vl) = bits(weighted).find(|vl| *vl >= count) {
        faults.push(Fault::VlArbInactiveVl {
            port: scope.state.name(at),
            vl,
            data_vls: count,
        });
    }
    let Some(slot) = scope.slot(at) else { return };
    let mut in_use = 0u16;
    // No packet leaves by the port where it arrived, or arrives at a port without a link.
    let connected = scope.connected_ports(at.node).map(|(port, _)| port);
    for input in connected.chain([0]).filter(|input| *input != at.port) {
        let table = vl_map.table_for(slot, input);
        for sl in bits(used_sls & table.usable_sls) {
            in_use |= 1 << table.vl[usize::from(sl)];
        }
    }
    if let Some(vl) = bits(in_use & !weighted).next() {
        faults.push(Fault::VlWithoutWeight {
            port: scope.state.name(at),
            vl,
        });
    }
}
