//! Why no engine could route the subnet.

use core::fmt;

/// Why the installed routing does not stay, and why each engine was refused. `Display` is one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingFailure {
    /// Why the installed routing does not stay, if that was checked. In the words of [`ferrosm_routing`].
    pub adoption: Option<String>,
    /// The engines that were refused, in the order in which they were tried.
    pub engines: Vec<EngineRefusal>,
}

/// Why an engine was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineRefusal {
    /// Its name, as the operator gave it.
    pub engine: String,
    /// Why, in the words of [`ferrosm_routing`], with names of switches.
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
