//! ServiceRecord: what programs offer, and where (IBA 15.2.5.14).

use super::component::record;
use super::id;
use crate::ids::{Gid, PKey};

crate::wire! {
    /// ServiceRecord.
    pub struct ServiceRecord[176] {
        /// Identifier of the service.
        service_id: u64 = 0, 64, cm 0;
        /// Where it is.
        service_gid: Gid = 64, 128, cm 1;
        /// Partition.
        service_pkey: PKey = 192, 16, cm 2;
        /// Seconds that the record lives; [`ServiceRecord::FOREVER`] for ever.
        service_lease_s: u32 = 224, 32, cm 4;
        /// Proves that two requests come from the same owner.
        service_key: [u8; 16] = 256, 128, cm 5;
        /// Name, zero padded.
        service_name: [u8; 64] = 384, 512, cm 6;
        /// The service's own data.
        data8: [u8; 16] = 896, 128, cm_each 7;
        /// The service's own data.
        data16: [u16; 8] = 1024, 128, cm_each 23;
        /// The service's own data.
        data32: [u32; 4] = 1152, 128, cm_each 31;
        /// The service's own data.
        data64: [u64; 2] = 1280, 128, cm_each 35;
    }
}
record!(ServiceRecord, id::SERVICE);

impl ServiceRecord {
    /// A lease without end.
    pub const FOREVER: u32 = u32::MAX;
}
