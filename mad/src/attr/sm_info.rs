//! SMInfo: state of an SM, exchanged between SMs (IBA 14.2.5.13).

use crate::ids::{MKey, PortGuid};

crate::open_enum! {
    /// State of an SM.
    pub enum SmState(u8) {
        /// Disabled: answers SMPs only.
        NotActive = 0, "NotActive";
        /// Discovers the fabric.
        Discovering = 1, "Discovering";
        /// Polls the master.
        Standby = 2, "Standby";
        /// Configures the subnet.
        Master = 3, "Master";
    }
}

crate::open_enum! {
    /// Request of a Set(SMInfo), in the attribute modifier.
    pub enum SmControl(u32) {
        /// Become master.
        Handover = 1, "HANDOVER";
        /// The handover is accepted.
        Acknowledge = 2, "ACKNOWLEDGE";
        /// Become NotActive.
        Disable = 3, "DISABLE";
        /// Become Standby.
        Standby = 4, "STANDBY";
        /// Become Discovering.
        Discover = 5, "DISCOVER";
    }
}

crate::wire! {
    /// SMInfo.
    pub struct SmInfo[64] {
        /// GUID of the SM's port.
        guid: PortGuid = 0, 64;
        /// SM_Key: identifies SMs that trust each other.
        sm_key: MKey = 64, 64;
        /// Activity counter.
        act_count: u32 = 128, 32;
        /// Priority, 0 to 15; the highest is preferred.
        priority: u8 = 160, 4;
        /// State.
        sm_state: SmState = 164, 4;
    }
}
