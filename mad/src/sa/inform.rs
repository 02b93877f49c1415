//! Subscriptions and reports: InformInfo, InformInfoRecord, and the notice that a report carries
//! (IBA 13.4.8.3, 15.2.5.15, 13.4.8.2).

use super::component::record;
use super::id;
use crate::ids::{Gid, Lid, Qpn};

crate::wire! {
    /// InformInfo: selects the notices of a subscription.
    pub struct InformInfo[40] {
        /// Issuer's GID; zero to select by LID.
        gid: Gid = 0, 128;
        /// First LID of issuers; [`InformInfo::ALL_LIDS`] for all.
        lid_range_begin: Lid = 128, 16;
        /// Last LID of issuers; 0 for the first only.
        lid_range_end: Lid = 144, 16;
        /// Whether generic traps are selected, rather than vendor-specific ones.
        is_generic: u8 = 176, 8;
        /// 1 subscribes, 0 unsubscribes.
        subscribe: u8 = 184, 8;
        /// Type of notices; [`InformInfo::ALL_TYPES`] for all.
        notice_type: u16 = 192, 16;
        /// Trap number, or device ID of a vendor-specific trap; [`InformInfo::ALL_TRAPS`] for all.
        trap_number: u16 = 208, 16;
        /// Queue pair for reports.
        qpn: Qpn = 224, 24;
        /// Response time of the subscriber: 4.096 µs × 2^n.
        resp_time_value: u8 = 251, 5;
        /// Producer type, or vendor ID; [`InformInfo::ALL_PRODUCERS`] for all.
        producer_type: u32 = 264, 24;
    }
}

impl InformInfo {
    /// LIDRangeBegin that selects all issuers.
    pub const ALL_LIDS: Lid = Lid(0xFFFF);
    /// Type that selects all notices.
    pub const ALL_TYPES: u16 = 0xFFFF;
    /// TrapNumber that selects all traps.
    pub const ALL_TRAPS: u16 = 0xFFFF;
    /// ProducerType that selects all issuers.
    pub const ALL_PRODUCERS: u32 = 0xFF_FFFF;
}

crate::wire! {
    /// InformInfoRecord: a subscription.
    pub struct InformInfoRecord[64] {
        /// The subscriber.
        subscriber_gid: Gid = 0, 128, cm 0;
        /// Distinguishes subscriptions of one subscriber.
        subscriber_enum: u16 = 128, 16, cm 1;
        /// InformInfo: issuer's GID.
        gid: Gid = 192, 128, cm 3;
        /// InformInfo: first LID.
        lid_range_begin: Lid = 320, 16, cm 4;
        /// InformInfo: last LID.
        lid_range_end: Lid = 336, 16, cm 5;
        /// InformInfo: generic traps.
        is_generic: u8 = 368, 8, cm 7;
        /// InformInfo: always 1 here.
        subscribe: u8 = 376, 8, cm 8;
        /// InformInfo: notice type.
        notice_type: u16 = 384, 16, cm 9;
        /// InformInfo: trap number.
        trap_number: u16 = 400, 16, cm 10;
        /// InformInfo: queue pair of the subscriber.
        qpn: Qpn = 416, 24, cm 11;
        /// InformInfo: response time of the subscriber.
        resp_time_value: u8 = 443, 5, cm 13;
        /// InformInfo: producer type.
        producer_type: u32 = 456, 24, cm 15;
    }
}
record!(InformInfoRecord, id::INFORM_INFO_RECORD);

crate::wire! {
    /// The notice in a report: the attribute of the SMP, and the issuer's GID.
    pub struct ReportedNotice[80] {
        /// Encoded [`crate::attr::Notice`].
        notice: [u8; 64] = 0, 512;
        /// GID of the issuer.
        issuer_gid: Gid = 512, 128;
    }
}

crate::wire! {
    /// Details of traps 64 to 67: the port or group.
    pub struct GidDetails[54] {
        /// GID of the port or group.
        gid: Gid = 48, 128;
    }
}
