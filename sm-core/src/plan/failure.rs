//! The reasons why every engine failed.

use core::fmt;

/// Why the installed routing was not adopted, and why each engine was rejected. `Display` formats it as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingFailure {
    /// Why the installed routing was not adopted, if it was verified; text of [`ferrosm_routing`].
    pub adoption: Option<String>,
    /// The rejected engines, in the order in which they were tried.
    pub engines: Vec<EngineRefusal>,
}

/// Why an engine was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRefusal {
    /// Its configured name.
    pub engine: String,
    /// The reason, with names of switches; text of [`ferrosm_routing`].
    pub why: String,
}

impl fmt::Display for EngineRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.engine, self.why)
    }
}

impl RoutingFailure {
    /// The reasons, a line each.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let engines = self.engines.iter().map(ToString::to_string);
        self.adoption.iter().cloned().chain(engines)
    }
}

impl fmt::Display for RoutingFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, line) in self.lines().enumerate() {
            let separator = if i > 0 { "; " } else { "" };
            write!(f, "{separator}{line}")?;
        }
        Ok(())
    }
}
