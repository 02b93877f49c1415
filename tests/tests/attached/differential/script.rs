//! The script of the differential test: named MADs as bytes, in the order in which they are sent.
//!
//! The MADs are written by offset without ferrosm's encoders, so that the requests do not depend on
//! the code under test.

use std::fmt::Write as _;

/// Length of a MAD in bytes.
pub(crate) const MAD: usize = 256;
/// Offset of the SMP data.
pub(crate) const DATA: usize = 64;
/// Permissive LID: the packet is routed by its directed route only.
pub(crate) const PERMISSIVE: u16 = 0xFFFF;

/// Subnet management attributes.
pub(crate) mod attr {
    pub(crate) const NOTICE: u16 = 0x02;
    pub(crate) const NODE_DESCRIPTION: u16 = 0x10;
    pub(crate) const NODE_INFO: u16 = 0x11;
    pub(crate) const SWITCH_INFO: u16 = 0x12;
    pub(crate) const GUID_INFO: u16 = 0x14;
    pub(crate) const PORT_INFO: u16 = 0x15;
    pub(crate) const PKEYS: u16 = 0x16;
    pub(crate) const SL_TO_VL: u16 = 0x17;
    pub(crate) const VL_ARB: u16 = 0x18;
    pub(crate) const LFT: u16 = 0x19;
    pub(crate) const MFT: u16 = 0x1B;
    pub(crate) const SM_INFO: u16 = 0x20;
    pub(crate) const EXT_PORT_INFO: u16 = 0xFF90;
}

/// The fabric: a CA with two ports, two switches, another CA and a router; port 4 of `left` has no
/// cable.
pub(crate) const FABRIC: &str = r#"switchguid=0x2000
Switch	4 "S-0000000000002000"		# "left" base port 0 lid 0 lmc 0
[1]	"H-0000000000001000"[1]		# "there" lid 0 4xQDR
[2]	"S-0000000000002001"[1]		# "there" lid 0 4xQDR
[3]	"R-0000000000003000"[1]		# "there" lid 0 4xQDR

switchguid=0x2001
Switch	4 "S-0000000000002001"		# "right" base port 0 lid 0 lmc 0
[1]	"S-0000000000002000"[2]		# "there" lid 0 4xQDR
[2]	"H-0000000000001010"[1]		# "there" lid 0 4xQDR
[3]	"H-0000000000001000"[2]		# "there" lid 0 4xQDR

caguid=0x1000
Ca	2 "H-0000000000001000"		# "two ports"
[1]	"S-0000000000002000"[1]		# "there" lid 0 4xQDR
[2]	"S-0000000000002001"[3]		# "there" lid 0 4xQDR

caguid=0x1010
Ca	1 "H-0000000000001010"		# "one port"
[1]	"S-0000000000002001"[2]		# "there" lid 0 4xQDR

rtguid=0x3000
Rt	2 "R-0000000000003000"		# "way out"
[1]	"S-0000000000002000"[3]		# "there" lid 0 4xQDR
"#;

/// The node that sends all requests.
pub(crate) const HERE: &str = "two ports";

/// Destinations: name and DR path from [`HERE`].
pub(crate) type Place = (&'static str, &'static [u8]);

pub(crate) const OWN: Place = ("own", &[]);
pub(crate) const LEFT: Place = ("left", &[1]);
pub(crate) const RIGHT: Place = ("right", &[1, 2]);
pub(crate) const FAR: Place = ("far", &[1, 2, 2]);
pub(crate) const ROUTER: Place = ("router", &[1, 3]);
pub(crate) const OTHER_PORT: Place = ("own2", &[1, 2, 3]);

/// One MAD of the script.
#[derive(Clone)]
pub(crate) struct Case {
    pub name: String,
    pub dlid: u16,
    pub mad: [u8; MAD],
}

impl Case {
    /// Copies the case under another name with one byte changed.
    pub(crate) fn with(mut self, name: &str, changes: &[(usize, u8)]) -> Self {
        name.clone_into(&mut self.name);
        for &(at, value) in changes {
            self.mad[at] = value;
        }
        self
    }

    pub(crate) fn line(&self) -> String {
        let mut line = format!("{} {} ", self.name, self.dlid);
        for byte in self.mad {
            // Writing into a String cannot fail.
            let _ = write!(line, "{byte:02x}");
        }
        line + "\n"
    }
}

fn header(class: u8, method: u8, attr: u16, modifier: u32) -> [u8; MAD] {
    let mut mad = [0; MAD];
    mad[..4].copy_from_slice(&[1, class, 1, method]);
    mad[16..18].copy_from_slice(&attr.to_be_bytes());
    mad[20..24].copy_from_slice(&modifier.to_be_bytes());
    mad
}

/// A directed-route SMP with method, attribute, modifier and data.
pub(crate) fn smp(target: Place, method: u8, attr: u16, modifier: u32, data: &[u8]) -> Case {
    let mut mad = header(0x81, method, attr, modifier);
    mad[7] = u8::try_from(target.1.len()).unwrap_or_else(|e| panic!("{e}"));
    mad[32..36].fill(0xFF);
    mad[DATA..DATA + data.len()].copy_from_slice(data);
    mad[129..129 + target.1.len()].copy_from_slice(target.1);
    let verb = match method {
        1 => "get".to_owned(),
        2 => "set".to_owned(),
        other => format!("method{other:#04x}"),
    };
    Case {
        name: format!("{}/{verb}/{attr:#06x}/{modifier:#x}", target.0),
        dlid: PERMISSIVE,
        mad,
    }
}

pub(crate) fn get(target: Place, attr: u16, modifier: u32) -> Case {
    smp(target, 1, attr, modifier, &[])
}

/// A LID-routed SMP.
pub(crate) fn routed(dlid: u16, method: u8, attr: u16, modifier: u32) -> Case {
    let name = format!("lid{dlid}/method{method}/{attr:#06x}/{modifier:#x}");
    let mad = header(0x01, method, attr, modifier);
    Case { name, dlid, mad }
}

/// A performance management MAD, whose data has the offset of an SMP's data.
pub(crate) fn performance(dlid: u16, method: u8, attr: u16, port: u8) -> Case {
    let mut mad = header(0x04, method, attr, 0);
    mad[DATA + 1] = port;
    let name = format!("pma{dlid}/method{method}/{attr:#06x}/{port}");
    Case { name, dlid, mad }
}

/// PortInfo data for a Set that is valid on every port and changes only the named fields.
pub(crate) fn port_info(lid: u16, sm_lid: u16, state: u8) -> [u8; 64] {
    let mut data = [0; 64];
    data[8..16].copy_from_slice(&0xFE80_0000_0000_0000_u64.to_be_bytes());
    data[16..18].copy_from_slice(&lid.to_be_bytes());
    data[18..20].copy_from_slice(&sm_lid.to_be_bytes());
    data[32] = state; // LinkSpeedSupported is read-only
    data[33] = 2; // PortPhysicalState no change; LinkDownDefaultState polling
    data[29] = 2; // LinkWidthEnabled 4X
    data[35] = 7; // LinkSpeedEnabled up to QDR
    data[36] = 4 << 4; // NeighborMTU 2048
    data[37] = 4 << 4; // VLCap is read-only, but ibsim stores what is written
    data[43] = 1 << 4; // VL0
    data[51] = 18;
    data[53] = 0x88;
    data
}

/// Reads before the first write.
fn reads() -> Vec<Case> {
    const MODIFIERS: [(u16, &[u32]); 22] = [
        (0x0000, &[0]),
        (attr::NOTICE, &[0]),
        (attr::NODE_DESCRIPTION, &[0, 1]),
        (attr::NODE_INFO, &[0, 1]),
        (attr::SWITCH_INFO, &[0, 1]),
        (attr::GUID_INFO, &[0, 1, 31, 32]),
        (attr::PORT_INFO, &[0, 1, 2, 4, 5, 254, 0x8000_0001]),
        (attr::PKEYS, &[0, 1, 2, 63, 0x1_0000, 0x5_0000]),
        (attr::SL_TO_VL, &[0, 0x0001, 0x0100, 0x0102, 0x0501]),
        (
            attr::VL_ARB,
            &[
                0, 0x1_0000, 0x1_0001, 0x2_0001, 0x3_0001, 0x4_0001, 0x5_0001, 0x1_0005,
            ],
        ),
        (attr::LFT, &[0, 1, 767, 768]),
        (0x001A, &[0]),
        (attr::MFT, &[0, 31, 32, 511, 512, 0x1000_0000, 0xF000_0000]),
        (0x001C, &[0, 1]),
        (0x001D, &[0]),
        (0x001E, &[0]),
        (attr::SM_INFO, &[0]),
        (0x0030, &[0]),
        (0x0031, &[0, 1]),
        (0x0033, &[0, 1]),
        (attr::EXT_PORT_INFO, &[0, 1]),
        (0xFF17, &[0]),
    ];
    let mut entries = Vec::new();
    for target in [OWN, LEFT, RIGHT, FAR, ROUTER, OTHER_PORT] {
        for (attr, modifiers) in MODIFIERS {
            entries.extend(modifiers.iter().map(|&m| get(target, attr, m)));
        }
    }
    entries
}

/// DR paths that lead nowhere, and invalid headers.
fn unusual_cases() -> Vec<Case> {
    let query = |place| get(place, attr::NODE_INFO, 0);
    let mut entries = vec![
        query(("no-cable", &[1, 4])),
        query(("no-such-port", &[1, 9])),
        query(("through-a-ca", &[1, 1, 1])),
        query(("back-home", &[1, 1])),
        query(("through-port-0", &[1, 0])),
        query(("through-port-0-on", &[1, 0, 1])),
        query(("wrong-own-port", &[3])),
        query(("own-port-0", &[0])),
        query(("other-own-port", &[2])),
        query(("through-a-router", &[1, 3, 1])),
    ];
    for target in [OWN, LEFT, FAR] {
        let node = target.0;
        let name = |description: &str| format!("odd/{node}/{description}");
        for method in [0x00, 0x03, 0x05, 0x06, 0x07, 0x12, 0x7F, 0x81, 0x83] {
            entries.push(smp(target, method, attr::NODE_INFO, 0, &[]));
        }
        entries.extend([
            query(target).with(&name("base-version-2"), &[(0, 2)]),
            query(target).with(&name("class-version-0"), &[(2, 0)]),
            query(target).with(&name("class-version-2"), &[(2, 2)]),
            query(target).with(&name("class-version-3"), &[(2, 3)]),
            query(target).with(&name("hop-pointer-1"), &[(6, 1)]),
            query(target).with(&name("hop-pointer-9"), &[(6, 9)]),
            query(target).with(&name("hop-count-64"), &[(7, 64)]),
            query(target).with(&name("hop-count-255"), &[(7, 255)]),
            query(target).with(&name("d-bit-in-a-request"), &[(4, 0x80)]),
            query(target).with(&name("status-in-a-request"), &[(5, 0x1C)]),
            query(target).with(&name("dr-slid-1"), &[(32, 0), (33, 1)]),
            query(target).with(&name("dr-dlid-1"), &[(34, 0), (35, 1)]),
            query(target).with(&name("m-key"), &[(24, 1)]),
            query(target).with(&name("data-in-a-get"), &[(DATA, 0x55), (DATA + 63, 0x55)]),
            query(target).with(
                &name("reserved-bytes"),
                &[(18, 1), (19, 2), (36, 3), (63, 4)],
            ),
        ]);
    }
    entries
}

/// LID-routed packets before LIDs are assigned, assignment as by an SM, then LID-routed packets.
fn addresses() -> Vec<Case> {
    let mut entries = vec![
        routed(2, 1, attr::NODE_INFO, 0).with("unset/lid2", &[]),
        routed(1, 1, attr::NODE_INFO, 0).with("unset/lid1", &[]),
    ];
    let set =
        |place, port, lid, state| smp(place, 2, attr::PORT_INFO, port, &port_info(lid, 1, state));
    let step = |mut case: Case, description: &str| {
        case.name = format!("{}/{description}", case.name);
        case
    };
    for (target, lid) in [(OWN, 1), (FAR, 4), (ROUTER, 5), (OTHER_PORT, 6)] {
        let port = u32::from(target.0 == "own2") + 1;
        entries.push(step(set(target, port, lid, 0), "address"));
    }
    for (target, lid) in [(LEFT, 2), (RIGHT, 3)] {
        entries.push(step(set(target, 0, lid, 0), "address"));
        let mut info = [0; 20];
        info[6..8].copy_from_slice(&6_u16.to_be_bytes());
        info[8..11].copy_from_slice(&[0, 255, 255]);
        info[11] = 18 << 3;
        entries.push(smp(target, 2, attr::SWITCH_INFO, 0, &info));
        entries.push(step(get(target, attr::SWITCH_INFO, 0), "after"));
        let mut table = [0xFF; 64];
        let ports: [u8; 6] = if target.0 == "left" {
            [1, 0, 2, 2, 3, 2]
        } else {
            [1, 1, 0, 2, 1, 3]
        };
        table[1..7].copy_from_slice(&ports);
        entries.push(smp(target, 2, attr::LFT, 0, &table));
        entries.push(step(get(target, attr::LFT, 0), "after"));
    }
    // Ports are not yet Active; LID-routed management packets may pass in Initialize.
    entries.push(routed(4, 1, attr::NODE_INFO, 0).with("initialize/lid4", &[]));
    let links = [
        (OWN, 1),
        (LEFT, 1),
        (LEFT, 2),
        (RIGHT, 1),
        (RIGHT, 2),
        (FAR, 1),
    ];
    let links = || {
        links
            .iter()
            .chain(&[(LEFT, 3), (ROUTER, 1), (RIGHT, 3), (OTHER_PORT, 2)])
    };
    for (state, name) in [(3, "armed"), (4, "active")] {
        for &(place, port) in links() {
            let lid = match place.0 {
                "own" => 1,
                "far" => 4,
                "router" => 5,
                "own2" => 6,
                _ => 0,
            };
            entries.push(step(set(place, port, lid, state), name));
        }
    }
    for &(place, port) in links() {
        entries.push(step(get(place, attr::PORT_INFO, port), "active"));
    }
    for lid in 0..9 {
        entries.push(routed(lid, 1, attr::NODE_INFO, 0));
    }
    entries.extend([
        routed(0xC000, 1, attr::NODE_INFO, 0),
        routed(PERMISSIVE, 1, attr::NODE_INFO, 0),
        routed(3, 1, attr::PORT_INFO, 2),
        routed(3, 1, attr::LFT, 0),
        routed(4, 3, attr::NODE_INFO, 0),
        routed(4, 1, attr::NODE_INFO, 0).with("lid4/class-version-2", &[(2, 2)]),
    ]);
    entries
}

/// Queries of the PMAs by LID.
fn counters() -> Vec<Case> {
    let mut entries = Vec::new();
    for lid in [2, 4] {
        for port in [0, 1, 2, 5, 255] {
            for attr in [0x12, 0x1D] {
                entries.push(performance(lid, 1, attr, port));
            }
        }
        for attr in [
            0x0001, 0x0002, 0x0010, 0x0013, 0x0015, 0x0016, 0x0017, 0x0018, 0x001F, 0x0099,
        ] {
            entries.push(performance(lid, 1, attr, 1));
        }
        entries.push(performance(lid, 3, 0x12, 1));
        entries.push(performance(lid, 2, 0x0001, 1));
        let clear = [(DATA + 2, 0xFF), (DATA + 3, 0xFF)];
        let name = format!("pma{lid}/clear");
        entries.push(performance(lid, 2, 0x12, 1).with(&name, &clear));
        let name = format!("pma{lid}/class-version-2");
        entries.push(performance(lid, 1, 0x12, 1).with(&name, &[(2, 2)]));
        let name = format!("pma{lid}/modifier");
        entries.push(performance(lid, 1, 0x12, 1).with(&name, &[(23, 1)]));
    }
    entries
}

/// Valid and invalid Sets of every attribute, each followed by a read.
fn writes() -> Vec<Case> {
    let mut entries = Vec::new();
    let mut set_and_read = |name: &str, target: Place, attr: u16, modifier: u32, data: &[u8]| {
        let mut set = smp(target, 2, attr, modifier, data);
        set.name = format!("write/{}/{name}", target.0);
        let mut read = get(target, attr, modifier);
        read.name = format!("{}/read", set.name);
        entries.extend([set, read]);
    };
    for target in [LEFT, FAR, ROUTER] {
        set_and_read("description", target, attr::NODE_DESCRIPTION, 0, b"renamed");
        set_and_read("node-info", target, attr::NODE_INFO, 0, &[1; 40]);
        let mut guids = [0; 64];
        guids[15] = 7;
        set_and_read("guids", target, attr::GUID_INFO, 0, &guids);
        let keys: Vec<u8> = [0xFFFF_u16, 0x8001, 0x0002]
            .iter()
            .flat_map(|k| k.to_be_bytes())
            .collect();
        set_and_read("p-keys", target, attr::PKEYS, 0, &keys);
        set_and_read("p-keys-too-far", target, attr::PKEYS, 99, &keys);
        set_and_read(
            "sl-to-vl",
            target,
            attr::SL_TO_VL,
            0,
            &[0x01, 0x23, 0x45, 0x67, 0, 0, 0, 0],
        );
        set_and_read(
            "vl-arb-low",
            target,
            attr::VL_ARB,
            0x1_0000,
            &[0, 10, 1, 20],
        );
        set_and_read("vl-arb-vl15", target, attr::VL_ARB, 0x1_0000, &[15, 10]);
        set_and_read("led", target, 0x31, 0, &[0x80]);
        set_and_read("notice", target, attr::NOTICE, 0, &[1; 54]);
        set_and_read("vendor-diag", target, 0x30, 0, &[]);
        set_and_read("unknown", target, 0x77, 0, &[]);
    }
    set_and_read(
        "p-keys-of-a-port",
        LEFT,
        attr::PKEYS,
        0x1_0000,
        &[0xFF, 0xFF, 0x80, 1],
    );
    set_and_read(
        "sl-to-vl-of-a-port",
        LEFT,
        attr::SL_TO_VL,
        0x0102,
        &[0x01, 0x23, 0x45, 0x67, 0, 0, 0, 0],
    );
    set_and_read(
        "vl-arb-of-a-port",
        LEFT,
        attr::VL_ARB,
        0x1_0001,
        &[0, 10, 1, 20],
    );
    set_and_read("vl-arb-high", LEFT, attr::VL_ARB, 0x3_0001, &[0, 1]);
    set_and_read("groups", LEFT, attr::MFT, 0, &[0, 6, 0, 2]);
    set_and_read("groups-of-no-port", LEFT, attr::MFT, 0x1000_0000, &[0, 1]);
    set_and_read("groups-too-far", LEFT, attr::MFT, 511, &[0, 1]);
    set_and_read("table-to-no-port", LEFT, attr::LFT, 1, &[9; 64]);
    set_and_read("table-too-far", LEFT, attr::LFT, 768, &[0xFF; 64]);
    set_and_read("table-of-a-ca", FAR, attr::LFT, 0, &[0xFF; 64]);
    set_and_read("switch-info-of-a-ca", FAR, attr::SWITCH_INFO, 0, &[0; 20]);
    let switch_info = |top: u16, life_and_change: u8| {
        let mut info = [0; 20];
        info[6..8].copy_from_slice(&top.to_be_bytes());
        info[9..12].copy_from_slice(&[255, 255, life_and_change]);
        info[18..20].copy_from_slice(&0xC003_u16.to_be_bytes());
        info
    };
    set_and_read(
        "change-cleared",
        LEFT,
        attr::SWITCH_INFO,
        0,
        &switch_info(6, 17 << 3 | 4),
    );
    set_and_read(
        "top-too-high",
        LEFT,
        attr::SWITCH_INFO,
        0,
        &switch_info(0xC000, 18 << 3),
    );
    let mut info = |name: &str, target: Place, port: u32, changes: &[(usize, u8)]| {
        let lid = if target.0 == "far" { 4 } else { 0 };
        let mut data = port_info(lid, u16::from(lid != 0), 0);
        for &(at, value) in changes {
            data[at] = value;
        }
        set_and_read(name, target, attr::PORT_INFO, port, &data);
    };
    for (target, port) in [(FAR, 1), (LEFT, 2)] {
        info("vl-cap-0", target, port, &[(37, 0)]);
        info("mtu-256", target, port, &[(36, 1 << 4)]);
        info("mtu-0", target, port, &[(36, 0)]);
        info("mtu-too-big", target, port, &[(36, 6 << 4)]);
        info("op-vls-unchanged", target, port, &[(43, 0)]);
        info("op-vls-4", target, port, &[(43, 3 << 4)]);
        info("op-vls-too-many", target, port, &[(43, 6 << 4)]);
        info("limit", target, port, &[(38, 7)]);
        info("stall-and-life", target, port, &[(42, 3 << 5 | 17)]);
        info("enforce", target, port, &[(43, 1 << 4 | 0xF)]);
        info("thresholds", target, port, &[(53, 0x35)]);
        info("state-initialize", target, port, &[(32, 2)]);
        info("state-armed-again", target, port, &[(32, 3)]);
        info("state-active-again", target, port, &[(32, 4)]);
        info("state-unknown", target, port, &[(32, 7)]);
        info("physical-link-up", target, port, &[(33, 5 << 4 | 2)]);
        info("down-default-unknown", target, port, &[(33, 9)]);
        info("width-unsupported", target, port, &[(29, 16)]);
        info("speed-unsupported", target, port, &[(35, 8)]);
    }
    info("lid-multicast", FAR, 1, &[(16, 0xC0)]);
    info("lid-0", FAR, 1, &[(17, 0)]);
    info("sm-lid-multicast", FAR, 1, &[(18, 0xC0)]);
    info("lmc-not-aligned", FAR, 1, &[(17, 5), (34, 2)]);
    info("lmc", FAR, 1, &[(34, 1)]);
    info("reregister", FAR, 1, &[(51, 0x80 | 18)]);
    info("sm-sl", FAR, 1, &[(36, 4 << 4 | 3)]);
    info("violations", FAR, 1, &[(44, 1), (45, 2)]);
    info("no-such-port", LEFT, 9, &[]);
    info("port-without-a-cable-armed", LEFT, 4, &[(32, 3)]);
    // Last, because the link goes down and comes up.
    info("m-key", FAR, 1, &[(7, 9)]);
    entries
}

/// Takes a port down. How long the link needs to come up again depends on the simulator, so only
/// the response is compared.
fn last() -> Vec<Case> {
    vec![
        get(FAR, attr::PORT_INFO, 1).with("last/m-key-left-out", &[]),
        smp(LEFT, 2, attr::PORT_INFO, 3, &port_info(0, 0, 1)).with("last/down", &[]),
    ]
}

/// The complete script.
pub(crate) fn script() -> Vec<Case> {
    [
        reads(),
        unusual_cases(),
        addresses(),
        counters(),
        writes(),
        last(),
    ]
    .concat()
}
