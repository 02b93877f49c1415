//! Component positions of each SA record, from the specification (IBA vol. 1, 15.2.5). The tests
//! verify query results with these tables, which are independent of the SA's code.

use crate::sa::wire::{bit, put_bit};

/// A component of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Component {
    /// Number in the component mask.
    pub number: u8,
    /// First bit in the record.
    pub at: usize,
    /// Width in bits.
    pub width: usize,
}

/// A kind of record.
#[derive(Debug, Clone)]
pub struct Layout {
    pub name: &'static str,
    /// Attribute ID.
    pub attr: u16,
    /// Distance between records in bytes.
    pub stride: usize,
    /// Components that are compared bit by bit.
    pub components: Vec<Component>,
    /// Components that do not select records: reserved fields, and components with another meaning
    /// in requests.
    pub no_criterion: Vec<u8>,
}

impl Layout {
    fn new(
        (name, attr, stride): (&'static str, u16, usize),
        components: &[(u8, usize, usize)],
        no_criterion: &[u8],
    ) -> Self {
        let component = |(number, at, width): &(u8, usize, usize)| Component {
            number: *number,
            at: *at,
            width: *width,
        };
        Self {
            name,
            attr,
            stride,
            components: components.iter().map(component).collect(),
            no_criterion: no_criterion.to_vec(),
        }
    }

    /// Whether a record matches a request in all components of the mask.
    #[must_use]
    pub fn matches(&self, mask: u64, requested: &[u8], record: &[u8]) -> bool {
        self.components
            .iter()
            .filter(|c| mask >> c.number & 1 != 0)
            .all(|c| (c.at..c.at + c.width).all(|i| bit(requested, i) == bit(record, i)))
    }
}

impl Component {
    /// Copies the component's value.
    pub fn copy(&self, from: &[u8], to: &mut [u8]) {
        for i in self.at..self.at + self.width {
            put_bit(to, i, bit(from, i));
        }
    }

    /// Whether two records have the same value.
    #[must_use]
    pub fn same(&self, a: &[u8], b: &[u8]) -> bool {
        (self.at..self.at + self.width).all(|i| bit(a, i) == bit(b, i))
    }
}

/// The components of a record that contains an attribute, `inner`, from bit 32 on.
fn behind_head(
    head: &[(u8, usize, usize)],
    inner: &[(u8, usize, usize)],
) -> Vec<(u8, usize, usize)> {
    let shifted = inner.iter().map(|(n, at, width)| (*n, at + 32, *width));
    head.iter().copied().chain(shifted).collect()
}

/// NodeRecord.
#[must_use]
pub fn node() -> Layout {
    let info = [
        (2, 0, 8),
        (3, 8, 8),
        (4, 16, 8),
        (5, 24, 8),
        (6, 32, 64),
        (7, 96, 64),
        (8, 160, 64),
        (9, 224, 16),
        (10, 240, 16),
        (11, 256, 32),
        (12, 288, 8),
        (13, 296, 24),
        (14, 320, 512),
    ];
    Layout::new(
        ("NodeRecord", 0x11, 112),
        &behind_head(&[(0, 0, 16)], &info),
        &[1],
    )
}

/// PortInfoRecord; components 7 and 53 (capability masks) are compared for equality, because bit 31
/// of the modifier is 0.
#[must_use]
pub fn port_info() -> Layout {
    let info = [
        (3, 0, 64),
        (4, 64, 64),
        (5, 128, 16),
        (6, 144, 16),
        (7, 160, 32),
        (8, 192, 16),
        (9, 208, 16),
        (10, 224, 8),
        (11, 232, 8),
        (12, 240, 8),
        (13, 248, 8),
        (14, 256, 4),
        (15, 260, 4),
        (16, 264, 4),
        (17, 268, 4),
        (18, 272, 2),
        (20, 277, 3),
        (21, 280, 4),
        (22, 284, 4),
        (23, 288, 4),
        (24, 292, 4),
        (25, 296, 4),
        (26, 300, 4),
        (27, 304, 8),
        (28, 312, 8),
        (29, 320, 8),
        (30, 328, 4),
        (31, 332, 4),
        (32, 336, 3),
        (33, 339, 5),
        (34, 344, 4),
        (35, 348, 1),
        (36, 349, 1),
        (37, 350, 1),
        (38, 351, 1),
        (39, 352, 16),
        (40, 368, 16),
        (41, 384, 16),
        (42, 400, 8),
        (43, 408, 1),
        (45, 411, 5),
        (47, 419, 5),
        (48, 424, 4),
        (49, 428, 4),
        (50, 432, 16),
        (52, 456, 24),
        (53, 480, 16),
        (54, 496, 4),
        (55, 500, 4),
        (57, 507, 5),
    ];
    let head = [(0, 0, 16), (1, 16, 8)];
    let no_criterion = [2, 19, 44, 46, 51, 56];
    Layout::new(
        ("PortInfoRecord", 0x12, 72),
        &behind_head(&head, &info),
        &no_criterion,
    )
}

/// SLtoVLMappingTableRecord.
#[must_use]
pub fn sl_to_vl() -> Layout {
    let all = [(0, 0, 16), (1, 16, 8), (2, 24, 8), (3, 64, 64)];
    Layout::new(("SLtoVLMappingTableRecord", 0x13, 16), &all, &[])
}

/// SwitchInfoRecord.
#[must_use]
pub fn switch_info() -> Layout {
    let info = [
        (2, 0, 16),
        (3, 16, 16),
        (4, 32, 16),
        (5, 48, 16),
        (6, 64, 8),
        (7, 72, 8),
        (8, 80, 8),
        (9, 88, 5),
        (10, 93, 1),
        (11, 94, 2),
        (12, 96, 16),
        (13, 112, 16),
        (14, 128, 1),
        (15, 129, 1),
        (16, 130, 1),
        (17, 131, 1),
        (18, 132, 1),
        (20, 144, 16),
    ];
    let all = behind_head(&[(0, 0, 16)], &info);
    Layout::new(("SwitchInfoRecord", 0x14, 24), &all, &[1, 19])
}

/// LinearForwardingTableRecord.
#[must_use]
pub fn lft() -> Layout {
    let all = [(0, 0, 16), (1, 16, 16), (3, 64, 512)];
    Layout::new(("LinearForwardingTableRecord", 0x15, 72), &all, &[2])
}

/// MulticastForwardingTableRecord.
#[must_use]
pub fn mft() -> Layout {
    let all = [(0, 0, 16), (1, 16, 4), (3, 23, 9), (5, 64, 512)];
    Layout::new(("MulticastForwardingTableRecord", 0x17, 72), &all, &[2, 4])
}

/// SMInfoRecord.
#[must_use]
pub fn sm_info() -> Layout {
    let all = [
        (0, 0, 16),
        (2, 32, 64),
        (3, 96, 64),
        (4, 160, 32),
        (5, 192, 4),
        (6, 196, 4),
    ];
    Layout::new(("SMInfoRecord", 0x18, 32), &all, &[1])
}

/// LinkRecord.
#[must_use]
pub fn link() -> Layout {
    let all = [(0, 0, 16), (1, 16, 8), (2, 24, 8), (3, 32, 16)];
    Layout::new(("LinkRecord", 0x20, 8), &all, &[])
}

/// GuidInfoRecord.
#[must_use]
pub fn guid_info() -> Layout {
    let mut entries = vec![(0, 0, 16), (1, 16, 8)];
    entries.extend((0..8u8).map(|i| (4 + i, 64 + 64 * usize::from(i), 64)));
    Layout::new(("GuidInfoRecord", 0x30, 72), &entries, &[2, 3])
}

/// ServiceRecord. ServiceKey is compared with the registered one, which only trusted clients can
/// read.
#[must_use]
pub fn service() -> Layout {
    let mut entries = vec![
        (0, 0, 64),
        (1, 64, 128),
        (2, 192, 16),
        (4, 224, 32),
        (5, 256, 128),
        (6, 384, 512),
    ];
    entries.extend((0..16u8).map(|i| (7 + i, 896 + 8 * usize::from(i), 8)));
    entries.extend((0..8u8).map(|i| (23 + i, 1024 + 16 * usize::from(i), 16)));
    entries.extend((0..4u8).map(|i| (31 + i, 1152 + 32 * usize::from(i), 32)));
    entries.extend((0..2u8).map(|i| (35 + i, 1280 + 64 * usize::from(i), 64)));
    Layout::new(("ServiceRecord", 0x31, 176), &entries, &[3])
}

/// P_KeyTableRecord.
#[must_use]
pub fn pkey_table() -> Layout {
    let all = [(0, 0, 16), (1, 16, 16), (2, 32, 8), (4, 64, 512)];
    Layout::new(("P_KeyTableRecord", 0x33, 72), &all, &[3])
}

/// VLArbitrationTableRecord.
#[must_use]
pub fn vl_arbitration() -> Layout {
    let all = [(0, 0, 16), (1, 16, 8), (2, 24, 8), (4, 64, 512)];
    Layout::new(("VLArbitrationTableRecord", 0x36, 72), &all, &[3])
}

/// MCMemberRecord without the pairs of selector and value, which are not compared bit by bit.
#[must_use]
pub fn mc_member() -> Layout {
    let all = [
        (0, 0, 128),
        (1, 128, 128),
        (2, 256, 32),
        (3, 288, 16),
        (6, 312, 8),
        (7, 320, 16),
        (12, 352, 4),
        (13, 356, 20),
        (14, 376, 8),
        (15, 384, 4),
        (16, 388, 4),
        (17, 392, 1),
    ];
    // A selector without its value, or a value without its selector, does not select records.
    Layout::new(("MCMemberRecord", 0x38, 56), &all, &[4, 5, 8, 9, 10, 11])
}

/// InformInfoRecord.
#[must_use]
pub fn inform_info() -> Layout {
    let all = [
        (0, 0, 128),
        (1, 128, 16),
        (3, 192, 128),
        (4, 320, 16),
        (5, 336, 16),
        (7, 368, 8),
        (8, 376, 8),
        (9, 384, 16),
        (10, 400, 16),
        (11, 416, 24),
        (13, 443, 5),
        (15, 456, 24),
    ];
    Layout::new(("InformInfoRecord", 0xF3, 64), &all, &[2, 6, 12, 14])
}
