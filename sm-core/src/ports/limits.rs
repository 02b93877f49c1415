//! What the limits that operators set mean for the PortInfo of ports
//! ([`crate::maintenance::port_limits`]). Pure.

use ferrosm_fabric::observed::{Node, ObservedFabric, PortRef};
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, MtuCode, PortInfo};
use ferrosm_mad::ids::PortNum;

use crate::config::SmConfig;
use crate::config::port_limits::{LimitsByPort, PortLimits, SwitchPort};
use crate::report::port_limit_refusal::PortLimitRefusal;

/// LinkSpeedExtEnabled: no extended speed.
const NO_EXTENDED_SPEED: u8 = 30;
/// The bits of LinkSpeedEnabled for SDR, DDR and QDR.
const LEGACY_SPEEDS: [(LinkSpeed, u8); 3] = [
    (LinkSpeed::Sdr, 1),
    (LinkSpeed::Ddr, 2),
    (LinkSpeed::Qdr, 4),
];
/// The bits of LinkSpeedExtEnabled.
const EXTENDED_SPEEDS: [(LinkSpeed, u8); 4] = [
    (LinkSpeed::Fdr, 1),
    (LinkSpeed::Edr, 2),
    (LinkSpeed::Hdr, 4),
    (LinkSpeed::Ndr, 8),
];
/// The bits of LinkWidthEnabled.
const WIDTHS: [u8; 5] = [1, 2, 4, 8, 16];

/// What a port has enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EnabledRates {
    pub(crate) widths: u8,
    pub(crate) speeds: u8,
    pub(crate) extended_speeds: u8,
}

/// A port of a switch in the fabric.
pub(crate) fn switch_port(fabric: &ObservedFabric, at: SwitchPort) -> Option<PortRef> {
    let (guid, port) = at;
    let p = PortRef::new(fabric.node_by_guid(guid)?, port);
    let is_of_switch = fabric.get(p.node).is_some_and(Node::is_switch);
    (is_of_switch && port != PortNum::ZERO && fabric.port(p).is_some()).then_some(p)
}

/// The limits of a port, also if they have ended.
fn limits_at<'a>(
    fabric: &ObservedFabric,
    limits: &'a LimitsByPort,
    p: PortRef,
) -> Option<&'a PortLimits> {
    if limits.is_empty() {
        return None;
    }
    limits.get(&(fabric.get(p.node)?.info.node_guid, p.port))
}

/// The largest MTU that the link of a port may have, if operators limit it, or ended a limit that
/// is still in force: then the largest code.
pub(crate) fn mtu_limit(fabric: &ObservedFabric, cfg: &SmConfig, p: PortRef) -> Option<MtuCode> {
    let ends = [Some(p), fabric.peer(p)];
    let limits = ends
        .into_iter()
        .flatten()
        .filter_map(|end| limits_at(fabric, &cfg.port_limits, end));
    limits
        .map(|limits| limits.mtu.unwrap_or(MtuCode::Mtu4096))
        .min()
}

/// What a port should have enabled, if operators limit it, or ended a limit that is still in force.
pub(crate) fn enabled_rates(
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    p: PortRef,
    info: &PortInfo,
) -> Option<EnabledRates> {
    let limits = limits_at(fabric, &cfg.port_limits, p)?;
    Some(wanted_rates(info, limits))
}

fn wanted_rates(info: &PortInfo, limits: &PortLimits) -> EnabledRates {
    let is_narrow = |bit: u8| {
        let lanes = LinkWidth::from_bit(bit).map_or(0, |width| width.0);
        limits.width.is_none_or(|max| lanes <= max)
    };
    let is_slow = |speed: LinkSpeed| limits.speed.is_none_or(|max| speed <= max);
    let bits = |speeds: &[(LinkSpeed, u8)]| {
        let slow = speeds.iter().filter(|(speed, _)| is_slow(*speed));
        slow.fold(0, |bits, (_, bit)| bits | bit)
    };
    let narrow = WIDTHS.into_iter().filter(|bit| is_narrow(*bit));
    let extended = bits(&EXTENDED_SPEEDS) & info.link_speed_ext_supported;
    EnabledRates {
        widths: narrow.fold(0, |bits, bit| bits | bit) & info.link_width_supported,
        speeds: bits(&LEGACY_SPEEDS) & info.link_speed_supported,
        extended_speeds: match extended {
            // A port without extended speeds has none to disable.
            0 if info.link_speed_ext_supported == 0 => info.link_speed_ext_enabled,
            0 => NO_EXTENDED_SPEED,
            extended => extended,
        },
    }
}

fn current_rates(info: &PortInfo) -> EnabledRates {
    EnabledRates {
        widths: info.link_width_enabled,
        speeds: info.link_speed_enabled,
        extended_speeds: info.link_speed_ext_enabled,
    }
}

/// Whether the link of a port is up and has to train, because what is enabled has to change.
pub(crate) fn needs_training(
    fabric: &ObservedFabric,
    limits: &LimitsByPort,
    at: SwitchPort,
) -> bool {
    let p = switch_port(fabric, at);
    let port = p.and_then(|p| fabric.port(p)).filter(|port| port.known);
    let (Some(port), Some(limits)) = (port, limits.get(&at)) else {
        return false;
    };
    let info: PortInfo = port.info();
    port.is_up() && current_rates(&info) != wanted_rates(&info, limits)
}

/// Whether a link that is up trained before its limits were written.
pub(crate) fn is_above_limits(fabric: &ObservedFabric, limits: &PortLimits) -> bool {
    let p = switch_port(fabric, limits.at());
    p.and_then(|p| fabric.port(p))
        .is_some_and(|port| port.known && port.is_up() && exceeds(&port.info(), limits))
}

fn exceeds(info: &PortInfo, limits: &PortLimits) -> bool {
    let active = info.rate();
    active.is_some_and(|active| {
        limits.width.is_some_and(|max| active.width.0 > max)
            || limits.speed.is_some_and(|max| active.speed > max)
    })
}

/// Whether the port has the values that its limits, or their end, ask for; `None` if it is unknown
/// or its link is down.
pub(crate) fn has_wanted_values(
    fabric: &ObservedFabric,
    p: PortRef,
    limits: &PortLimits,
) -> Option<bool> {
    let port = fabric.port(p).filter(|port| port.known && port.is_up())?;
    let info: PortInfo = port.info();
    let peer = fabric.peer(p).and_then(|peer| fabric.port(peer))?;
    let caps = info.mtu_cap.min(PortInfo::mtu_cap.read(&peer.raw));
    let wanted = limits.mtu.map_or(caps, |max| max.min(caps));
    let has_mtu = [info.neighbor_mtu, PortInfo::neighbor_mtu.read(&peer.raw)] == [wanted; 2];
    let has_rates = current_rates(&info) == wanted_rates(&info, limits);
    Some(has_mtu && has_rates && !exceeds(&info, limits))
}

/// Whether the limits of a port are in force, as it was read last.
pub(crate) fn is_applied(fabric: &ObservedFabric, limits: &PortLimits) -> bool {
    let p = switch_port(fabric, limits.at());
    p.and_then(|p| has_wanted_values(fabric, p, limits)) == Some(true)
}

/// Why limits cannot be set at a port of a switch.
pub(crate) fn limits_refusal(
    fabric: &ObservedFabric,
    p: PortRef,
    limits: &PortLimits,
) -> Option<PortLimitRefusal> {
    let port = fabric.port(p).filter(|port| port.known)?;
    let info: PortInfo = port.info();
    let rates = wanted_rates(&info, limits);
    if limits.width.is_some() && rates.widths == 0 {
        return Some(PortLimitRefusal::NoWidth);
    }
    let has_no_speed = rates.speeds == 0 && matches!(rates.extended_speeds, 0 | NO_EXTENDED_SPEED);
    let is_below_xdr = limits.speed.is_some_and(|speed| speed < LinkSpeed::Xdr);
    if limits.speed.is_some() && has_no_speed {
        return Some(PortLimitRefusal::NoSpeed);
    }
    // No value of LinkSpeedExtEnabled2 disables its speeds: 0 is NoChange.
    if is_below_xdr && info.link_speed_ext_enabled2 != 0 {
        return Some(PortLimitRefusal::XdrStays);
    }
    None
}

/// Whether these limits make the link of a port train.
pub(crate) fn would_train(fabric: &ObservedFabric, limits: &PortLimits) -> bool {
    let only = LimitsByPort::from([(limits.at(), limits.clone())]);
    needs_training(fabric, &only, limits.at())
}
