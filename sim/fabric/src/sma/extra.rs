//! Attributes of some nodes only, each with a capability bit: Notice, LedInfo,
//! LinkSpeedWidthPairsTable, PortInfoExtended, and Mellanox's ExtendedPortInfo.

use ferrosm_mad::attr::{
    CapMask, CapMask2, ExtendedPortInfo, FecMode, LedInfo, LinkSpeed, LinkSpeedWidthPairs, Notice,
    PortInfo, PortInfoExtended,
};
use ferrosm_mad::mad::Status;
use ferrosm_mad::wire::set_bits;

use super::{AttributeData, SmaRequest};
use crate::fabric::{Fabric, ModelPort};

/// FEC modes supported at FDR, EDR, HDR and NDR.
const FEC_SUPPORTED: [u16; 4] = [
    fec_bit(FecMode::None) | fec_bit(FecMode::FireCode),
    fec_bit(FecMode::None) | fec_bit(FecMode::Rs),
    fec_bit(FecMode::Rs) | fec_bit(FecMode::LowLatencyRs),
    fec_bit(FecMode::Rs) | fec_bit(FecMode::LowLatencyRs),
];
/// Preference order of the enabled modes.
const FEC_PREFERRED: [FecMode; 4] = [
    FecMode::Rs,
    FecMode::LowLatencyRs,
    FecMode::FireCode,
    FecMode::None,
];

const fn fec_bit(mode: FecMode) -> u16 {
    1 << mode.0
}

impl Fabric {
    /// Notice: the head of the notice queue; a Set with its toggle removes it (IBA 13.4.8).
    pub(super) fn notice(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        if !self.capabilities(r).has(CapMask::NOTICE) {
            return Status::BAD_METHOD_ATTR;
        }
        let end_port = self.end_port_of(r);
        let status = if r.modifier == 0 {
            Status::OK
        } else {
            Status::BAD_FIELD
        };
        if r.set && status.is_ok() {
            self.clear_notice(end_port, Notice::decode(data).notice_toggle);
        }
        *data = self.head_notice(end_port);
        status
    }

    pub(super) fn led_info(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        if !self.capabilities(r).has(CapMask::LED_INFO) {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(slot) = self.port_by_modifier(r, r.modifier) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        if r.set {
            port.led = LedInfo::decode(data).led_mask;
        }
        *data = LedInfo { led_mask: port.led }.encode();
        Status::OK
    }

    /// LinkSpeedWidthPairsTable: one read-only table for all ports, with the widths of each
    /// supported speed.
    pub(super) fn link_speed_width_pairs(
        &self,
        r: &SmaRequest,
        data: &mut AttributeData,
    ) -> Status {
        if r.set || !self.capabilities(r).has(CapMask::LINK_SPEED_WIDTH_PAIRS) {
            return Status::BAD_METHOD_ATTR;
        }
        if r.modifier != 0 {
            return Status::BAD_FIELD;
        }
        let node = &self.nodes[r.node];
        let mut port_mask = [0; 32];
        for port in 1..=usize::from(node.num_ports) {
            set_bits(&mut port_mask, 255 - port, 1, 1);
        }
        let last = node.base + usize::from(node.num_ports);
        let info = PortInfo::decode(&self.ports[last].info);
        let widths = |speed: u8| {
            if info.link_speed_supported & speed == 0 {
                0
            } else {
                info.link_width_supported
            }
        };
        *data = LinkSpeedWidthPairs {
            num_tables: 1,
            port_mask,
            speed_2_5: widths(1),
            speed_5: widths(2),
            speed_10: widths(4),
        }
        .encode();
        Status::OK
    }

    pub(super) fn port_info_extended(
        &mut self,
        r: &SmaRequest,
        data: &mut AttributeData,
    ) -> Status {
        if !self.capabilities2(r).has(CapMask2::PORT_INFO_EXTENDED) {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(slot) = self.port_by_modifier(r, r.modifier) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        let supported = port.fec_supported();
        let mut status = Status::OK;
        if r.set {
            let info = PortInfoExtended::decode(data);
            let requested = [
                info.fdr_fec_mode_enabled,
                info.edr_fec_mode_enabled,
                info.hdr_fec_mode_enabled,
                info.ndr_fec_mode_enabled,
            ];
            if requested.iter().zip(supported).any(|(a, s)| a & !s != 0) {
                status = Status::BAD_FIELD;
            } else {
                port.tables_mut().fec = Some(requested);
            }
        }
        let enabled = port.fec_enabled();
        *data = PortInfoExtended {
            cap_mask: PortInfoExtended::CAP_FEC,
            fec_mode_active: port.fec_active(self.cable_ends[slot].up),
            fdr_fec_mode_supported: supported[0],
            fdr_fec_mode_enabled: enabled[0],
            edr_fec_mode_supported: supported[1],
            edr_fec_mode_enabled: enabled[1],
            hdr_fec_mode_supported: supported[2],
            hdr_fec_mode_enabled: enabled[2],
            ndr_fec_mode_supported: supported[3],
            ndr_fec_mode_enabled: enabled[3],
        }
        .encode();
        status
    }

    /// ExtendedPortInfo: FDR10, for nodes between QDR and FDR. A Set with StateChangeEnable takes
    /// effect when the link trains next.
    pub(super) fn ext_port_info(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        if !self.nodes[r.node].caps.ext_port_info {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(slot) = self.port_by_modifier(r, r.modifier) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        let mut status = Status::OK;
        if r.set {
            let requested = ExtendedPortInfo::decode(data);
            if requested.link_speed_enabled > 1 || requested.state_change_enable > 1 {
                status = Status::BAD_FIELD;
            } else if requested.state_change_enable == 1 {
                port.fdr10_enabled = requested.link_speed_enabled == 1;
            }
        }
        *data = ExtendedPortInfo {
            state_change_enable: 0,
            link_speed_supported: 1,
            link_speed_enabled: u8::from(port.fdr10_enabled),
            link_speed_active: u8::from(port.fdr10 && self.cable_ends[slot].up),
        }
        .encode();
        status
    }
}

impl ModelPort {
    fn fec_supported(&self) -> [u16; 4] {
        let speeds = PortInfo::link_speed_ext_supported.read(&self.info);
        let mut supported = FEC_SUPPORTED;
        for (speed, modes) in supported.iter_mut().enumerate() {
            if speeds >> speed & 1 == 0 {
                *modes = 0;
            }
        }
        supported
    }

    fn fec_enabled(&self) -> [u16; 4] {
        let written = self.tables.as_ref().and_then(|t| t.fec);
        written.unwrap_or_else(|| self.fec_supported())
    }

    fn fec_active(&self, up: bool) -> FecMode {
        let speed = match PortInfo::decode(&self.info).speed().filter(|_| up) {
            Some(LinkSpeed::Fdr) => 0,
            Some(LinkSpeed::Edr) => 1,
            Some(LinkSpeed::Hdr) => 2,
            Some(LinkSpeed::Ndr) => 3,
            _ => return FecMode::None,
        };
        let enabled = self.fec_enabled()[speed];
        FEC_PREFERRED
            .into_iter()
            .find(|mode| enabled & fec_bit(*mode) != 0)
            .unwrap_or(FecMode::None)
    }
}
