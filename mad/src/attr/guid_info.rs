//! GUIDInfo: a block of eight GUIDs of an end port (IBA 14.2.5.5).

use crate::ids::PortGuid;

crate::wire! {
    /// GUIDInfo: block n contains GUIDs 8n to 8n+7; entry 0 of block 0 is the port GUID and
    /// read-only.
    pub struct GuidInfo[64] {
        /// The GUIDs; 0 is an empty entry.
        guids: [PortGuid; 8] = 0, 512;
    }
}
