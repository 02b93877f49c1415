//! Field-by-field comparison of the responses of two simulators to the same MAD. All bytes are
//! compared except the upper half of the TransactionID, which belongs to the host's MAD layer.

use std::collections::BTreeMap;
use std::fmt;

use super::script::{Case, DATA, MAD, attr};

/// A field: name, offset and length in bits.
type Field = (&'static str, usize, usize);

const HEADER: [Field; 14] = [
    ("BaseVersion", 0, 8),
    ("MgmtClass", 8, 8),
    ("ClassVersion", 16, 8),
    ("Method", 24, 8),
    ("Status", 32, 16),
    ("HopPointer", 48, 8),
    ("HopCount", 56, 8),
    ("TransactionID", 96, 32),
    ("AttributeID", 128, 16),
    ("reserved 18", 144, 16),
    ("AttributeModifier", 160, 32),
    ("M_Key", 192, 64),
    ("DrSLID, DrDLID", 256, 32),
    ("reserved 36", 288, 28 * 8),
];

const PATHS: [Field; 2] = [
    ("InitialPath", 128 * 8, 64 * 8),
    ("ReturnPath[0]", 192 * 8, 8),
];

const NODE_INFO: [Field; 13] = [
    ("NodeInfo.BaseVersion", 0, 8),
    ("NodeInfo.ClassVersion", 8, 8),
    ("NodeInfo.NodeType", 16, 8),
    ("NodeInfo.NumPorts", 24, 8),
    ("NodeInfo.SystemImageGUID", 32, 64),
    ("NodeInfo.NodeGUID", 96, 64),
    ("NodeInfo.PortGUID", 160, 64),
    ("NodeInfo.PartitionCap", 224, 16),
    ("NodeInfo.DeviceID", 240, 16),
    ("NodeInfo.Revision", 256, 32),
    ("NodeInfo.LocalPortNum", 288, 8),
    ("NodeInfo.VendorID", 296, 24),
    ("NodeInfo.rest", 320, 192),
];

const SWITCH_INFO: [Field; 15] = [
    ("SwitchInfo.LinearFDBCap", 0, 16),
    ("SwitchInfo.RandomFDBCap", 16, 16),
    ("SwitchInfo.MulticastFDBCap", 32, 16),
    ("SwitchInfo.LinearFDBTop", 48, 16),
    ("SwitchInfo.DefaultPort", 64, 8),
    ("SwitchInfo.DefaultMulticastPrimaryPort", 72, 8),
    ("SwitchInfo.DefaultMulticastNotPrimaryPort", 80, 8),
    ("SwitchInfo.LifeTimeValue", 88, 5),
    ("SwitchInfo.PortStateChange", 93, 1),
    ("SwitchInfo.OptimizedSLtoVL", 94, 2),
    ("SwitchInfo.LIDsPerPort", 96, 16),
    ("SwitchInfo.PartitionEnforcementCap", 112, 16),
    ("SwitchInfo.EnforcementCaps", 128, 16),
    ("SwitchInfo.MulticastFDBTop", 144, 16),
    ("SwitchInfo.rest", 160, 352),
];

const PORT_INFO: [Field; 53] = [
    ("PortInfo.M_Key", 0, 64),
    ("PortInfo.GidPrefix", 64, 64),
    ("PortInfo.LID", 128, 16),
    ("PortInfo.MasterSMLID", 144, 16),
    ("PortInfo.CapabilityMask", 160, 32),
    ("PortInfo.DiagCode", 192, 16),
    ("PortInfo.M_KeyLeasePeriod", 208, 16),
    ("PortInfo.LocalPortNum", 224, 8),
    ("PortInfo.LinkWidthEnabled", 232, 8),
    ("PortInfo.LinkWidthSupported", 240, 8),
    ("PortInfo.LinkWidthActive", 248, 8),
    ("PortInfo.LinkSpeedSupported", 256, 4),
    ("PortInfo.PortState", 260, 4),
    ("PortInfo.PortPhysicalState", 264, 4),
    ("PortInfo.LinkDownDefaultState", 268, 4),
    ("PortInfo.M_KeyProtectBits", 272, 2),
    ("PortInfo.reserved 274", 274, 3),
    ("PortInfo.LMC", 277, 3),
    ("PortInfo.LinkSpeedActive", 280, 4),
    ("PortInfo.LinkSpeedEnabled", 284, 4),
    ("PortInfo.NeighborMTU", 288, 4),
    ("PortInfo.MasterSMSL", 292, 4),
    ("PortInfo.VLCap", 296, 4),
    ("PortInfo.InitType", 300, 4),
    ("PortInfo.VLHighLimit", 304, 8),
    ("PortInfo.VLArbitrationHighCap", 312, 8),
    ("PortInfo.VLArbitrationLowCap", 320, 8),
    ("PortInfo.InitTypeReply", 328, 4),
    ("PortInfo.MTUCap", 332, 4),
    ("PortInfo.VLStallCount", 336, 3),
    ("PortInfo.HOQLife", 339, 5),
    ("PortInfo.OperationalVLs", 344, 4),
    ("PortInfo.Enforcement", 348, 4),
    ("PortInfo.M_KeyViolations", 352, 16),
    ("PortInfo.P_KeyViolations", 368, 16),
    ("PortInfo.Q_KeyViolations", 384, 16),
    ("PortInfo.GUIDCap", 400, 8),
    ("PortInfo.ClientReregister", 408, 1),
    ("PortInfo.MulticastPKeyTrapSuppression", 409, 2),
    ("PortInfo.SubnetTimeout", 411, 5),
    ("PortInfo.reserved 416", 416, 3),
    ("PortInfo.RespTimeValue", 419, 5),
    ("PortInfo.LocalPhyErrors", 424, 4),
    ("PortInfo.OverrunErrors", 428, 4),
    ("PortInfo.MaxCreditHint", 432, 16),
    ("PortInfo.reserved 448", 448, 1),
    ("PortInfo.LinkSpeedExt2", 449, 7),
    ("PortInfo.LinkRoundTripLatency", 456, 24),
    ("PortInfo.CapabilityMask2", 480, 16),
    ("PortInfo.LinkSpeedExtActive", 496, 4),
    ("PortInfo.LinkSpeedExtSupported", 500, 4),
    ("PortInfo.reserved 504", 504, 3),
    ("PortInfo.LinkSpeedExtEnabled", 507, 5),
];

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub case: String,
    /// The field, or `answer` if only one of the two responded.
    pub field: String,
    pub ours: String,
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            case,
            field,
            ours,
            theirs,
        } = self;
        write!(f, "{case}: {field}: ours {ours}, ibsim {theirs}")
    }
}

type Answer = Option<[u8; MAD]>;

/// The responses by case name.
pub(crate) fn read(text: &str) -> BTreeMap<String, Answer> {
    let mut map = BTreeMap::new();
    for line in text.lines() {
        let (name, remaining) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let answer = (remaining != "none").then(|| {
            let bytes: Vec<u8> = (0..remaining.len() / 2)
                .map(|i| {
                    u8::from_str_radix(&remaining[2 * i..2 * i + 2], 16)
                        .unwrap_or_else(|e| panic!("{e}"))
                })
                .collect();
            bytes.try_into().unwrap_or_else(|_| panic!("{line}"))
        });
        assert!(
            map.insert(name.to_owned(), answer).is_none(),
            "{name} twice"
        );
    }
    map
}

fn value(mad: &[u8; MAD], (_, first, bits): Field) -> String {
    let bit = |n: usize| mad[n / 8] >> (7 - n % 8) & 1;
    if bits > 64 {
        let bytes: String = mad[first / 8..(first + bits) / 8]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        // Long fields are printed without trailing zeros.
        return format!("{}..", bytes.trim_end_matches("00"));
    }
    let value = (first..first + bits).fold(0_u64, |value, n| value << 1 | u64::from(bit(n)));
    format!("{value:#x}")
}

fn status(mad: [u8; MAD]) -> String {
    // The first bit is the D bit of a directed route.
    let status = u16::from(mad[4] & 0x7F) << 8 | u16::from(mad[5]);
    format!("status {status:#x}")
}

fn fields(case: &Case, refused: bool) -> Vec<Field> {
    let attribute = u16::from_be_bytes([case.mad[16], case.mad[17]]);
    let smp = case.mad[1] & 0x7F == 1;
    let data: &[Field] = match attribute {
        _ if refused => &[("data of an error response", 0, 512)],
        attr::NODE_INFO if smp => &NODE_INFO,
        attr::SWITCH_INFO if smp => &SWITCH_INFO,
        attr::PORT_INFO if smp => &PORT_INFO,
        _ => &[("data", 0, 512)],
    };
    let shifted = data
        .iter()
        .map(|&(name, first, bits)| (name, first + DATA * 8, bits));
    let hops = usize::from(case.mad[7].min(63));
    let route = [
        ("ReturnPath", 193 * 8, hops * 8),
        (
            "ReturnPath beyond HopCount",
            (193 + hops) * 8,
            (63 - hops) * 8,
        ),
    ];
    if !smp {
        let all = [("data", DATA * 8, (MAD - DATA) * 8)];
        return HEADER.into_iter().chain(all).collect();
    }
    HEADER
        .into_iter()
        .chain(shifted)
        .chain(PATHS)
        .chain(route)
        .collect()
}

/// All differences, in script order.
pub(crate) fn compare(
    script: &[Case],
    ours: &BTreeMap<String, Answer>,
    theirs: &BTreeMap<String, Answer>,
) -> Vec<Difference> {
    let mut entries = Vec::new();
    for case in script {
        let name = &case.name;
        let difference = |ours: String, theirs: String, field: &str| Difference {
            case: name.clone(),
            field: field.to_owned(),
            ours,
            theirs,
        };
        match (ours[name], theirs[name]) {
            (None, None) => {}
            (Some(a), Some(b)) if a[4..6] != b[4..6] => {
                entries.push(difference(status(a), status(b), "answer"));
            }
            (Some(a), Some(b)) => {
                let refused = a[4] & 0x7F != 0 || a[5] != 0;
                for field in fields(case, refused) {
                    let a = value(&a, field);
                    let b = value(&b, field);
                    if a != b {
                        entries.push(difference(a, b, field.0));
                    }
                }
            }
            (a, b) => {
                let word = |answer: Answer| answer.map_or_else(|| "none".to_owned(), status);
                entries.push(difference(word(a), word(b), "answer"));
            }
        }
    }
    entries
}
