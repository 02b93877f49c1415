//! ServiceRecord: what programs offer, and where (IBA 15.2.5.14).

use super::component::{Record, joined, series};
use super::id;
use super::tables::record;
use crate::ids::{AttrId, Gid, PKey};
use crate::wire::Field;

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
        data8: [u8; 16] = 896, 128;
        /// The service's own data.
        data16: [u16; 8] = 1024, 128;
        /// The service's own data.
        data32: [u32; 4] = 1152, 128;
        /// The service's own data.
        data64: [u64; 2] = 1280, 128;
    }
}
record!(ServiceRecord, id::SERVICE, &SERVICE_COMPONENTS);

/// The fields before the service's own data.
const HEAD: [Field; 6] = {
    let f = ServiceRecord::FIELDS;
    [f[0], f[1], f[2], f[3], f[4], f[5]]
};
const SERVICE_COMPONENTS: [Field; 36] = joined(&[
    &HEAD,
    &series::<16>("data8", 896, 8, 7),
    &series::<8>("data16", 1024, 16, 23),
    &series::<4>("data32", 1152, 32, 31),
    &series::<2>("data64", 1280, 64, 35),
]);

impl ServiceRecord {
    /// A lease without end.
    pub const FOREVER: u32 = u32::MAX;
}
