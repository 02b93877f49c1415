//! Limits of links at ports of switches: requests as changes that the SM executes, and whether the
//! limits are in force.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::maintenance::{
    PortLimitsItem, PortLimitsItems, PortLimitsRequest, PortLimitsState, ServiceRequest,
};
use ferrosm_core::OperatorChange;
use ferrosm_core::config::port_limits::{PortLimits, SwitchPort};
use ferrosm_core::io::commands::NewPortLimits;
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::attr::{LinkRate, LinkSpeed, LinkWidth, MtuCode, PortInfo};

use super::list::invalid;
use super::published::{FabricState, State};
use super::requests::switch_port;

/// Widths of links, the widest first.
const WIDTHS: [u8; 5] = [12, 8, 4, 2, 1];

/// The change that sets the limits of a port. Earlier limits that the request does not name stay.
pub(super) fn set(
    state: &State,
    fabric: &FabricState,
    request: &PortLimitsRequest,
    reason: &str,
) -> Result<OperatorChange, ApiError> {
    let (target, name) = switch_port(fabric, &request.target)?;
    let node = target.node();
    let port = target.port().unwrap_or_default();
    let snapshot = &*fabric.snapshot;
    let at = snapshot
        .by_node_guid(node)
        .and_then(|slot| snapshot.port_by_num(slot, port));
    let mut limits = PortLimits {
        node,
        port,
        name,
        reason: reason.to_owned(),
        mtu: request.mtu.map(mtu_code).transpose()?,
        width: request.width,
        speed: request.speed.as_deref().map(speed).transpose()?,
    };
    if let Some(lanes) = limits.width
        && !WIDTHS.contains(&lanes)
    {
        return Err(invalid("width is 1, 2, 4, 8 or 12 lanes".to_owned()));
    }
    if let Some(gbps) = request.rate_gbps {
        if limits.width.is_some() || limits.speed.is_some() {
            let message = "a rate limits width and speed; name either it or these";
            return Err(invalid(message.to_owned()));
        }
        let info = at.map(|at| info_of(snapshot, at));
        let rate = info.and_then(|info| fastest_within(&info, gbps));
        let Some(rate) = rate else {
            let message = format!("{} supports no rate up to {gbps} Gb/s", limits.name);
            return Err(ApiError::new(ErrorKind::Conflict, message, ""));
        };
        limits.width = Some(rate.width.0);
        limits.speed = Some(rate.speed);
    }
    if limits.has_ended() {
        return Err(invalid(
            "no limit: name an MTU, a rate, a width or a speed".to_owned(),
        ));
    }
    let mut known_limits = state.port_limits.iter();
    if let Some(earlier) = known_limits.find(|known| known.at() == limits.at()) {
        limits.mtu = limits.mtu.or(earlier.mtu);
        limits.width = limits.width.or(earlier.width);
        limits.speed = limits.speed.or(earlier.speed);
    }
    Ok(OperatorChange::SetPortLimits(Box::new(NewPortLimits {
        limits,
        may_cut_off_host: request.accept_cut_off,
    })))
}

/// The change that ends the limits of a port, also while its switch is absent.
pub(super) fn unset(state: &State, request: &ServiceRequest) -> Result<OperatorChange, ApiError> {
    let text = &request.target;
    let mut named = state
        .port_limits
        .iter()
        .filter(|limits| limits.name == *text);
    let by_name = named.next().map(PortLimits::at);
    let found: Option<SwitchPort> = match (by_name, &state.fabric) {
        (Some(at), _) => Some(at),
        (None, Some(fabric)) => {
            let (target, _) = switch_port(fabric, text)?;
            target.port().map(|port| (target.node(), port))
        }
        (None, None) => None,
    };
    found.map(OperatorChange::EndPortLimits).ok_or_else(|| {
        let message = format!("nothing named `{text}` has limits");
        let remedy = "`ferrosm port limits` lists the ports with limits.";
        ApiError::new(ErrorKind::NotFound, message, remedy)
    })
}

/// All limits.
pub(super) fn items(state: &State) -> PortLimitsItems {
    let snapshot = state.fabric.as_ref().map(|fabric| &*fabric.snapshot);
    let items = state.port_limits.iter();
    PortLimitsItems {
        items: items.map(|limits| item(limits, snapshot)).collect(),
    }
}

fn item(limits: &PortLimits, snapshot: Option<&Snapshot>) -> PortLimitsItem {
    let link = snapshot.and_then(|snapshot| {
        let slot = snapshot.by_node_guid(limits.node)?;
        let at = snapshot.port_by_num(slot, limits.port)?;
        let peer = snapshot.peer(at)?;
        Some([at, peer].map(|at| info_of(snapshot, at)))
    });
    let state = match &link {
        None => PortLimitsState::LinkDown,
        Some(ends) if is_within(limits, ends) => PortLimitsState::Applied,
        Some(_) => PortLimitsState::NotApplied,
    };
    let now = link.and_then(|[info, _]| {
        let mtu = info.neighbor_mtu;
        Some(format!("MTU {mtu}, {}", info.rate()?))
    });
    PortLimitsItem {
        guid: limits.node.to_string(),
        name: limits.name.clone(),
        mtu: limits.mtu.and_then(MtuCode::bytes),
        width: limits.width,
        speed: limits.speed.map(|speed| speed.name().to_owned()),
        reason: limits.reason.clone(),
        state,
        now,
    }
}

fn info_of(snapshot: &Snapshot, at: PortIdx) -> PortInfo {
    PortInfo::decode(&snapshot.port(at).raw)
}

/// Whether both ends of a link are within its limits.
fn is_within(limits: &PortLimits, ends: &[PortInfo; 2]) -> bool {
    let has_mtu = |info: &PortInfo| limits.mtu.is_none_or(|max| info.neighbor_mtu <= max);
    let has_rate = |info: &PortInfo| {
        info.rate().is_some_and(|rate| {
            limits.width.is_none_or(|max| rate.width.0 <= max)
                && limits.speed.is_none_or(|max| rate.speed <= max)
        })
    };
    ends.iter().all(|info| has_mtu(info) && has_rate(info))
}

/// The fastest width and speed that a port supports, up to a rate. Of equal ones, the widest: a
/// limit of both permits the narrower widths.
fn fastest_within(info: &PortInfo, gbps: u32) -> Option<LinkRate> {
    let widths = WIDTHS.map(LinkWidth);
    let possible = widths
        .into_iter()
        .filter(|width| info.link_width_supported & width.bit() != 0);
    let rates = possible.flat_map(|width| {
        let speeds = LinkSpeed::ALL.into_iter();
        let supported = speeds.filter(|speed| supports(info, *speed));
        supported.map(move |speed| LinkRate { width, speed })
    });
    let within = rates.filter(|rate| rate.mbps() <= gbps.saturating_mul(1000));
    within.max_by_key(|rate| (rate.mbps(), rate.width))
}

const fn supports(info: &PortInfo, speed: LinkSpeed) -> bool {
    match speed {
        LinkSpeed::Sdr => info.link_speed_supported & 1 != 0,
        LinkSpeed::Ddr => info.link_speed_supported & 2 != 0,
        LinkSpeed::Qdr => info.link_speed_supported & 4 != 0,
        // It is reported by an attribute of the vendor.
        LinkSpeed::Fdr10 => false,
        LinkSpeed::Fdr => info.link_speed_ext_supported & 1 != 0,
        LinkSpeed::Edr => info.link_speed_ext_supported & 2 != 0,
        LinkSpeed::Hdr => info.link_speed_ext_supported & 4 != 0,
        LinkSpeed::Ndr => info.link_speed_ext_supported & 8 != 0,
        LinkSpeed::Xdr => info.link_speed_ext_supported2 & 1 != 0,
    }
}

fn mtu_code(bytes: u16) -> Result<MtuCode, ApiError> {
    let codes = [
        MtuCode::Mtu256,
        MtuCode::Mtu512,
        MtuCode::Mtu1024,
        MtuCode::Mtu2048,
        MtuCode::Mtu4096,
    ];
    let found = codes.into_iter().find(|code| code.bytes() == Some(bytes));
    found.ok_or_else(|| invalid("MTU is 256, 512, 1024, 2048 or 4096 bytes".to_owned()))
}

fn speed(text: &str) -> Result<LinkSpeed, ApiError> {
    let mut all = LinkSpeed::ALL.into_iter();
    let found = all.find(|speed| speed.name().eq_ignore_ascii_case(text));
    found
        .filter(|speed| *speed != LinkSpeed::Fdr10)
        .ok_or_else(|| {
            let expected = "SDR, DDR, QDR, FDR, EDR, HDR, NDR or XDR";
            invalid(format!("no speed `{text}`: expected {expected}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that supports 1X and 4X from SDR to HDR.
    #[test]
    fn rate_is_the_fastest_width_and_speed_within_it() {
        let info = PortInfo {
            link_width_supported: 3,
            link_speed_supported: 7,
            link_speed_ext_supported: 7,
            ..PortInfo::default()
        };
        let rate = |gbps| fastest_within(&info, gbps).map(|rate| rate.to_string());
        assert_eq!(rate(400).as_deref(), Some("4X HDR 200 Gb/s"));
        assert_eq!(rate(199).as_deref(), Some("4X EDR 100 Gb/s"));
        assert_eq!(rate(50).as_deref(), Some("1X HDR 50 Gb/s"));
        assert_eq!(rate(40).as_deref(), Some("4X QDR 40 Gb/s"));
        assert_eq!(rate(2), None);
    }
}
