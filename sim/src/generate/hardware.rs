//! What real nodes of a generation call themselves.

use ferrosm_mad::attr::{LinkSpeed, NodeType};

/// Mellanox, later NVIDIA.
pub(super) const VENDOR: u32 = 0x2c9;
/// The device number of the aggregation CA inside a switch.
pub(super) const AGGREGATION_DEVICE: u16 = 0xcf09;
/// What that CA is called on every real fabric.
pub(super) const AGGREGATION_NAME: &str = "Mellanox Technologies Aggregation Node";

/// Generations that a mixed fabric draws from, slowest first.
pub(super) const GENERATIONS: [LinkSpeed; 6] = [
    LinkSpeed::Qdr,
    LinkSpeed::Fdr,
    LinkSpeed::Edr,
    LinkSpeed::Hdr,
    LinkSpeed::Ndr,
    LinkSpeed::Xdr,
];

/// The device number of a node that was built for a speed.
pub(super) fn device(kind: NodeType, speed: LinkSpeed) -> u16 {
    let (switch, ca) = match speed {
        LinkSpeed::Sdr | LinkSpeed::Ddr => (0xb924, 0x6282),
        LinkSpeed::Qdr => (0xbd36, 0x673c),
        LinkSpeed::Fdr10 | LinkSpeed::Fdr => (0xc738, 0x1003),
        LinkSpeed::Edr => (0xcf08, 0x1017),
        LinkSpeed::Hdr => (0xd2f0, 0x101b),
        LinkSpeed::Ndr => (0xd2f2, 0x1021),
        LinkSpeed::Xdr => (0xd2f4, 0x1023),
    };
    if kind == NodeType::Switch { switch } else { ca }
}
