//! Addressing of SLtoVLMappingTables in SMPs.

use ferrosm_mad::attr::SlToVl;
use ferrosm_mad::ids::{AttrMod, PortNum};
use serde::{Deserialize, Serialize};

/// Selects an SLtoVLMappingTable of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SlToVlSelector {
    /// From one port to another.
    Pair(PortNum, PortNum),
    /// The table of this port of a CA or router.
    EndPort(PortNum),
    /// From every port to this one, if SwitchInfo.OptimizedSLtoVLMappingProgramming is set.
    Output(PortNum),
}

impl SlToVlSelector {
    /// The attribute modifier (IBA 14.2.5.8).
    #[must_use]
    pub const fn modifier(self) -> AttrMod {
        match self {
            Self::Pair(input, output) => SlToVl::modifier(input, output),
            Self::EndPort(_) => AttrMod(0),
            Self::Output(output) => AttrMod(0x2_0000 | output.0 as u32),
        }
    }

    /// One input port that the table applies to, and the output port.
    #[must_use]
    pub const fn ports(self) -> (PortNum, PortNum) {
        match self {
            Self::Pair(input, output) => (input, output),
            Self::EndPort(port) => (port, port),
            Self::Output(output) => (PortNum::ZERO, output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_encoded_as_specified() {
        assert_eq!(SlToVlSelector::EndPort(PortNum(2)).modifier(), AttrMod(0));
        assert_eq!(
            SlToVlSelector::Output(PortNum(7)).modifier(),
            AttrMod(0x2_0007)
        );
        assert_eq!(
            SlToVlSelector::Pair(PortNum(3), PortNum(7)).modifier(),
            AttrMod(0x307)
        );
    }
}
