//! SMInfo: how subnet managers know each other (IBA 14.2.5.13).

use crate::ids::{MKey, PortGuid};

crate::open_enum! {
    /// State of a subnet manager.
    pub enum SmState(u8) {
        /// Disabled: answers, and does nothing else.
        NotActive = 0, "NotActive";
        /// Looking at the fabric.
        Discovering = 1, "Discovering";
        /// Waiting for the master to go.
        Standby = 2, "Standby";
        /// In charge.
        Master = 3, "Master";
    }
}

crate::open_enum! {
    /// What a Set(SMInfo) asks of its receiver, in the modifier.
    pub enum SmControl(u32) {
        /// Take over as master.
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
        /// GUID of the port that the SM uses.
        guid: PortGuid = 0, 64;
        /// Proves that SMs belong together.
        sm_key: MKey = 64, 64;
        /// Grows with the SM's activity.
        act_count: u32 = 128, 32;
        /// 0 to 15, the highest wins.
        priority: u8 = 160, 4;
        /// State.
        sm_state: SmState = 164, 4;
    }
}
