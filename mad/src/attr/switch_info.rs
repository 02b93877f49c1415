//! SwitchInfo: capabilities and table limits of a switch (IBA 14.2.5.4).

use crate::ids::PortNum;

crate::wire! {
    /// SwitchInfo.
    pub struct SwitchInfo[64] {
        /// Entries of the linear forwarding table.
        linear_fdb_cap: u16 = 0, 16;
        /// Entries of the random forwarding table.
        random_fdb_cap: u16 = 16, 16;
        /// Entries of the multicast forwarding table.
        multicast_fdb_cap: u16 = 32, 16;
        /// Highest LID that is forwarded; 0 after reset.
        linear_fdb_top: u16 = 48, 16;
        /// Output port for unknown LIDs (random table only).
        default_port: PortNum = 64, 8;
        /// Output port for multicast without an entry.
        default_multicast_primary_port: PortNum = 72, 8;
        /// Output port for multicast without an entry that arrived at the primary port.
        default_multicast_not_primary_port: PortNum = 80, 8;
        /// Packet lifetime 4.096 µs × 2^n; above 19 unlimited.
        life_time_value: u8 = 88, 5;
        /// A port changed state; writing 1 clears it, writing 0 has no effect.
        port_state_change: bool = 93, 1;
        /// Whether one Set can program several SLtoVL tables.
        optimized_sl_to_vl: u8 = 94, 2;
        /// LIDs per port (random table only).
        lids_per_port: u16 = 96, 16;
        /// P_Key table entries of an external port.
        partition_enforcement_cap: u16 = 112, 16;
        /// External ports support inbound P_Key enforcement.
        inbound_enforcement_cap: bool = 128, 1;
        /// External ports support outbound P_Key enforcement.
        outbound_enforcement_cap: bool = 129, 1;
        /// Inbound raw packets can be filtered.
        filter_raw_inbound_cap: bool = 130, 1;
        /// Outbound raw packets can be filtered.
        filter_raw_outbound_cap: bool = 131, 1;
        /// Port 0 is an enhanced port 0.
        enhanced_port0: bool = 132, 1;
        /// Highest MLID in use, 0xBFFF none (valid with IsMulticastFDBTopSupported).
        multicast_fdb_top: u16 = 144, 16;
    }
}
