//! ServiceRecord: registered services (IBA 15.2.5.14).

use super::component::record;
use super::id;
use crate::ids::{Gid, PKey};

crate::wire! {
    /// ServiceRecord.
    pub struct ServiceRecord[176] {
        /// ServiceID.
        service_id: u64 = 0, 64, cm 0;
        /// Port that provides the service.
        service_gid: Gid = 64, 128, cm 1;
        /// P_Key.
        service_pkey: PKey = 192, 16, cm 2;
        /// Lease in seconds; [`ServiceRecord::FOREVER`] for an indefinite one.
        service_lease_s: u32 = 224, 32, cm 4;
        /// Key that permits changes of the record.
        service_key: [u8; 16] = 256, 128, cm 5;
        /// Name, zero padded.
        service_name: [u8; 64] = 384, 512, cm 6;
        /// Data of the service.
        data8: [u8; 16] = 896, 128, cm_each 7;
        /// Data of the service.
        data16: [u16; 8] = 1024, 128, cm_each 23;
        /// Data of the service.
        data32: [u32; 4] = 1152, 128, cm_each 31;
        /// Data of the service.
        data64: [u64; 2] = 1280, 128, cm_each 35;
    }
}
record!(ServiceRecord, id::SERVICE);

impl ServiceRecord {
    /// An indefinite lease.
    pub const FOREVER: u32 = u32::MAX;
}
