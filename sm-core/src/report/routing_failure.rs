//! The reasons why every engine failed.

use core::fmt;

use ferrosm_routing::update::adopt::AdoptError;
use ferrosm_routing::{Describe, EngineRejection, SwitchIdx};

use crate::report::switch_names::WithSwitchNames;

/// Why the installed routing was not adopted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdoptionRejection {
    /// It was computed for other settings.
    OtherSettings,
    /// It was computed for other switches.
    OtherSwitches,
    /// It has several VLs and was computed for other LIDs.
    OtherLids,
    /// Its tables cannot be adopted.
    Tables(AdoptError),
}

impl Describe for AdoptionRejection {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        let why = match self {
            Self::OtherSettings => "the settings have changed",
            Self::OtherSwitches => "the set of switches has changed",
            Self::OtherLids => "the LIDs have changed",
            Self::Tables(error) => &error.describe(label),
        };
        format!("installed routes not adopted: {why}")
    }
}

/// Why the installed routing was not adopted, and why each engine was rejected. `Display` formats
/// it as one line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoutingFailure {
    /// Why the installed routing was not adopted, if its adoption was tried.
    pub adoption: Option<WithSwitchNames<AdoptionRejection>>,
    /// The rejected engines, in the order in which they were tried.
    pub engines: Vec<WithSwitchNames<EngineRejection>>,
}

impl fmt::Display for RoutingFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adoption = self.adoption.iter().map(ToString::to_string);
        let engines = self.engines.iter().map(ToString::to_string);
        let reasons: Vec<String> = adoption.chain(engines).collect();
        f.write_str(&reasons.join("; "))
    }
}
