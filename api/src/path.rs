//! The path between two ports, from the installed tables.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::object::ObjectName;

/// The query of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PathQuery {
    /// The port that sends: GUID, LID, name, or `name/port`.
    pub from: String,
    /// The port that receives.
    pub to: String,
    /// The path at this time, in UTC (RFC 3339); now if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The SM first reads again what it knows (a light sweep, and the sweep of what it finds).
    /// Needs the role `operate`; not with `at`.
    #[serde(default)]
    #[param(required = false)]
    pub fresh: bool,
}

/// The path of packets between two ports, from the tables that the switches have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Path {
    /// The port that sends.
    pub from: ObjectName,
    /// The port that receives.
    pub to: ObjectName,
    /// The LID that packets are sent to.
    pub lid: u16,
    /// The SL that the SA answers.
    pub sl: u8,
    /// The switches on the path, in order.
    pub hops: Vec<Hop>,
    /// Where and why packets are dropped; none if they arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// Smallest MTU on the path, in bytes.
    pub mtu: u16,
    /// Rate of the narrowest link, in Mb/s.
    pub narrowest_mbps: u32,
    /// P_Keys that both ports have, in hexadecimal.
    pub p_keys: Vec<String>,
}

/// A switch on a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hop {
    /// GUID of the switch.
    pub guid: String,
    /// Its NodeDescription.
    pub name: String,
    /// The port through which packets enter; 0 for its own.
    pub in_port: u8,
    /// The port through which they leave.
    pub out_port: u8,
    /// The VL on which they leave, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vl: Option<u8>,
}
