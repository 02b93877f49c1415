//! Limits of links at ports of switches, which operators set at run time: plain data, which the
//! component of the same name carries out.

use core::fmt;
use std::collections::BTreeMap;

use ferrosm_mad::attr::{LinkSpeed, MtuCode};
use ferrosm_mad::ids::{NodeGuid, PortNum};
use serde::{Deserialize, Serialize};

/// A port of a switch.
pub type SwitchPort = (NodeGuid, PortNum);

/// The limits of all ports that have some.
pub type LimitsByPort = BTreeMap<SwitchPort, PortLimits>;

/// Limits of the link at a port of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortLimits {
    /// The switch.
    pub node: NodeGuid,
    /// Its port.
    pub port: PortNum,
    /// The name of the port when the limits were set.
    pub name: String,
    /// Why, as the operator said; may be empty.
    pub reason: String,
    /// Largest MTU of both ends.
    pub mtu: Option<MtuCode>,
    /// Most lanes: 1, 2, 4, 8 or 12.
    pub width: Option<u8>,
    /// Highest speed of a lane.
    #[serde(with = "speed_name")]
    pub speed: Option<LinkSpeed>,
}

impl PortLimits {
    /// The port.
    #[must_use]
    pub const fn at(&self) -> SwitchPort {
        (self.node, self.port)
    }

    /// Whether the limits have ended: the entry stays until the port has its own values again.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.mtu.is_none() && self.width.is_none() && self.speed.is_none()
    }
}

/// `MTU 2048, 1X, EDR`; `none` if they have ended.
impl fmt::Display for PortLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mtu = self.mtu.map(|mtu| format!("MTU {mtu}"));
        let width = self.width.map(|lanes| format!("{lanes}X"));
        let speed = self.speed.map(|speed| speed.name().to_owned());
        let parts: Vec<String> = [mtu, width, speed].into_iter().flatten().collect();
        match parts.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

/// A speed as its abbreviation.
mod speed_name {
    use ferrosm_mad::attr::LinkSpeed;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(
        clippy::ref_option,
        clippy::trivially_copy_pass_by_ref,
        reason = "the signature that serde calls"
    )]
    pub(super) fn serialize<S: Serializer>(
        speed: &Option<LinkSpeed>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        speed.map(LinkSpeed::name).serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        d: D,
    ) -> Result<Option<LinkSpeed>, D::Error> {
        let Some(name) = Option::<String>::deserialize(d)? else {
            return Ok(None);
        };
        let mut all = LinkSpeed::ALL.into_iter();
        let found = all.find(|speed| speed.name() == name);
        found
            .map(Some)
            .ok_or_else(|| D::Error::custom(format!("unknown speed `{name}`")))
    }
}
