//! MADs as text: a summary line, and one line for each field.
//!
//! [`describe`] uses the layouts that decode the MAD. Keys are never shown. The text is for logs
//! and may change.

use core::fmt::{self, Write};

use crate::attr::{
    ExtendedPortInfo, GuidInfo, KeyViolationDetails, LedInfo, LftBlock, LinkErrorDetails,
    LinkSpeedWidthPairs, LocalChangeDetails, MKeyViolationDetails, MftBlock, NodeDescription,
    NodeInfo, Notice, PKeyBlock, PortInfo, PortInfoExtended, PortStateDetails, SlToVl, SmInfo,
    SwitchInfo, SwitchPKeyDetails, SystemImageDetails, TrapNumber, VendorDiag, VlArb, id,
};
use crate::mad::{Mad, MgmtClass};
use crate::sa::{self, RmppHeader, SaHeader};
use crate::smp::{self, DirectedHeader, DrPath, LidRoutedHeader};
use crate::wire::{Field, FieldText, part};

/// A MAD as lines of text, without a final newline.
#[must_use]
pub fn describe(mad: &Mad) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = write_mad(&mut text, mad);
    text.truncate(text.trim_end().len());
    text
}

/// Writes every field of a layout.
macro_rules! fields {
    ($out:expr, $layout:ty, $bytes:expr) => {{
        let bytes = $bytes;
        let mut result = Ok(());
        <$layout>::decode(bytes).for_each_field(&mut |field, value| {
            if result.is_ok() {
                result = write_field($out, bytes, field, value);
            }
        });
        result
    }};
}

fn write_mad(out: &mut String, mad: &Mad) -> fmt::Result {
    let class = mad.mgmt_class();
    let bytes = mad.as_bytes();
    write!(out, "{class} {} ", mad.method())?;
    let smp = class == MgmtClass::SubnDirected || class == MgmtClass::SubnLid;
    let name = match class {
        MgmtClass::SubnAdm => sa::id::name(mad.attr_id()),
        _ if smp => id::name(mad.attr_id()),
        _ => None,
    };
    match name {
        Some(name) => out.write_str(name)?,
        None => write!(out, "attribute {}", mad.attr_id())?,
    }
    write!(
        out,
        ", modifier {}, TID {}, status {}",
        mad.attr_mod(),
        mad.tid(),
        mad.status()
    )?;
    if class == MgmtClass::SubnDirected {
        let header = DirectedHeader::decode(bytes);
        match DrPath::from_smp(mad) {
            Some(path) => write!(out, ", path {path}")?,
            None => write!(out, ", bad hop count {}", header.hop_count)?,
        }
        write!(
            out,
            " at hop {}{}",
            header.hop_pointer,
            if header.d { ", returning" } else { "" }
        )?;
        if header.dr_slid != crate::ids::Lid::PERMISSIVE
            || header.dr_dlid != crate::ids::Lid::PERMISSIVE
        {
            write!(
                out,
                ", from LID {} to LID {}",
                header.dr_slid, header.dr_dlid
            )?;
        }
    }
    if smp {
        writeln!(out, ", {:?}", LidRoutedHeader::decode(bytes).m_key)?;
        return write_attribute(out, mad, smp::data(mad));
    }
    out.push('\n');
    if class == MgmtClass::SubnAdm {
        fields!(
            out,
            RmppHeader,
            part::<{ RmppHeader::OFFSET }, { RmppHeader::LEN }, _>(bytes)
        )?;
        // Records may contain keys (PortInfoRecord, ServiceRecord), so they are not shown.
        return fields!(
            out,
            SaHeader,
            part::<{ SaHeader::OFFSET }, { SaHeader::LEN }, _>(bytes)
        );
    }
    // Many classes have a key before byte 64.
    write_hex(out, "data", &bytes[smp::DATA_OFFSET..])
}

fn write_attribute(out: &mut String, mad: &Mad, data: &[u8; smp::DATA_LEN]) -> fmt::Result {
    match mad.attr_id() {
        id::NOTICE => write_notice(out, data),
        id::NODE_DESCRIPTION => writeln!(out, "  text {:?}", NodeDescription::decode(data)),
        id::NODE_INFO => fields!(out, NodeInfo, data),
        id::SWITCH_INFO => fields!(out, SwitchInfo, data),
        id::GUID_INFO => fields!(out, GuidInfo, data),
        id::PORT_INFO => fields!(out, PortInfo, data),
        id::PKEY_TABLE => fields!(out, PKeyBlock, data),
        id::SL_TO_VL => fields!(out, SlToVl, data),
        id::VL_ARBITRATION => fields!(out, VlArb, data),
        id::LFT => fields!(out, LftBlock, data),
        id::MFT => fields!(out, MftBlock, data),
        id::SM_INFO => fields!(out, SmInfo, data),
        id::VENDOR_DIAG => fields!(out, VendorDiag, data),
        id::LED_INFO => fields!(out, LedInfo, data),
        id::LINK_SPEED_WIDTH_PAIRS => fields!(out, LinkSpeedWidthPairs, data),
        id::PORT_INFO_EXTENDED => fields!(out, PortInfoExtended, data),
        id::MLNX_EXT_PORT_INFO => fields!(out, ExtendedPortInfo, data),
        _ => write_hex(out, "data", data),
    }
}

fn write_notice(out: &mut String, data: &[u8; smp::DATA_LEN]) -> fmt::Result {
    let notice = Notice::decode(data);
    fields!(out, Notice, data)?;
    let details = &notice.data_details;
    match notice.trap_number {
        _ if !notice.is_generic => Ok(()),
        TrapNumber::LinkStateChange => fields!(out, PortStateDetails, details),
        TrapNumber::LocalLinkIntegrity | TrapNumber::BufferOverrun | TrapNumber::FlowControl => {
            fields!(out, LinkErrorDetails, details)
        }
        TrapNumber::LocalChange => fields!(out, LocalChangeDetails, details),
        TrapNumber::SystemImageGuid => fields!(out, SystemImageDetails, details),
        TrapNumber::BadMKey => fields!(out, MKeyViolationDetails, details),
        TrapNumber::BadPKey | TrapNumber::BadQKey => fields!(out, KeyViolationDetails, details),
        TrapNumber::SwitchBadPKey => fields!(out, SwitchPKeyDetails, details),
        _ => Ok(()),
    }
}

fn write_field(out: &mut String, bytes: &[u8], field: &Field, value: &FieldText) -> fmt::Result {
    // The details of a bad M_Key trap contain the key, and are shown field by field.
    if field.name == "data_details" {
        return Ok(());
    }
    let from = field.bit / 8;
    let to = (field.bit + field.width).div_ceil(8);
    if field.name == "diag_data" || field.name == "dr_return_path" {
        return write_hex(out, field.name, &bytes[from..to]);
    }
    write!(out, "  {} {value}", field.name)?;
    match value {
        FieldText::Number(number) if *number > 9 => write!(out, " ({number:#x})")?,
        FieldText::Name(_) => {
            let code = crate::wire::get_bits(bytes, field.bit, field.width);
            write!(out, " ({code:#x})")?;
        }
        FieldText::Number(_) | FieldText::Text(_) | FieldText::Key { .. } => {}
    }
    out.write_char('\n')
}

fn write_hex(out: &mut String, name: &str, bytes: &[u8]) -> fmt::Result {
    let used = bytes
        .iter()
        .rposition(|b| *b != 0)
        .map_or(0, |last| last + 1);
    for (i, line) in bytes[..used].chunks(32).enumerate() {
        write!(out, "  {name}+{} ", i * 32)?;
        for byte in line {
            write!(out, "{byte:02x}")?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attr::{PhysState, PortState, SmState};
    use crate::ids::{AttrMod, Lid, MKey, PortGuid, PortNum, Tid};
    use crate::smp::SmpRequest;

    fn set(attr: crate::ids::AttrId, data: [u8; 64]) -> Mad {
        let path: DrPath = "0,1,17".parse().unwrap();
        SmpRequest::set(attr, AttrMod(3), MKey::new(0xABCD_EF01), data).directed(&path, Tid(5))
    }

    /// Numbers, names and identifiers in their usual forms.
    #[test]
    fn fields_and_enumeration_values_are_named() {
        let info = PortInfo {
            lid: Lid(17),
            port_state: PortState::Armed,
            port_physical_state: PhysState::LinkUp,
            ..PortInfo::default()
        };
        let text = describe(&set(id::PORT_INFO, info.encode()));
        let mut lines = text.lines();
        assert_eq!(
            lines.next().unwrap(),
            "SubnDirected Set PortInfo, modifier 0x00000003, TID 0x0000000000000005, status 0x0000 (ok), \
             path 0,1,17 at hop 0, MKey(..)"
        );
        for line in [
            "  lid 17 (0x11)",
            "  port_state Armed (0x3)",
            "  m_key none",
        ] {
            assert!(lines.clone().any(|l| l == line), "{line} in\n{text}");
        }
    }

    /// Keys in the header, in attributes and in trap details are hidden.
    #[test]
    fn keys_are_never_shown() {
        let key = MKey::new(0x1234_5678_9ABC_DEF0);
        let sm = SmInfo {
            guid: PortGuid(1),
            sm_key: key,
            sm_state: SmState::Master,
            ..SmInfo::default()
        };
        let mut notice = Notice {
            is_generic: true,
            trap_number: TrapNumber::BadMKey,
            ..Notice::default()
        };
        let details = MKeyViolationDetails {
            m_key: key,
            ..MKeyViolationDetails::default()
        };
        notice.data_details = details.encode();
        let port = PortInfo {
            m_key: key,
            ..PortInfo::default()
        };
        for mad in [
            set(id::SM_INFO, sm.encode()),
            set(id::NOTICE, notice.encode()),
            set(id::PORT_INFO, port.encode()),
        ] {
            let text = describe(&mad).to_lowercase();
            for form in ["12345678", "9abcdef0", "305419896", "abcdef01", "18, 52"] {
                assert!(!text.contains(form), "{form} in\n{text}");
            }
            assert!(
                text.contains("m_key hidden") || text.contains("sm_key hidden"),
                "{text}"
            );
        }
    }

    /// Repeated entries are shown as a list, tables of other classes as bytes.
    #[test]
    fn tables_are_lists() {
        let mut block = LftBlock::default();
        block.ports[1] = PortNum(36);
        assert!(describe(&set(id::LFT, block.encode())).contains("\n  ports [0, 36, 0"));
        let mut mad = set(id::LFT, [0; 64]);
        mad.as_bytes_mut()[1] = MgmtClass::Perf.0;
        assert!(describe(&mad).starts_with("Perf Set attribute 0x0019, "));
    }

    /// A class-specific status is an error.
    #[test]
    fn sa_error_names_attribute_and_status() {
        let mut mad = set(id::LFT, [0; 64]);
        let bytes = mad.as_bytes_mut();
        bytes[1] = MgmtClass::SubnAdm.0;
        bytes[4..6].copy_from_slice(&0x0300_u16.to_be_bytes());
        bytes[16..18].copy_from_slice(&sa::id::PATH.0.to_be_bytes());
        let text = describe(&mad);
        assert!(text.starts_with("SubnAdm Set PathRecord, "), "{text}");
        assert!(
            text.contains("status 0x0300 (class-specific status)"),
            "{text}"
        );
    }
}
