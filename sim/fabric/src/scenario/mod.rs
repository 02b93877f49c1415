//! Scenarios: scheduled changes of a fabric as text, one statement per line.
//!
//! A line is parsed into a [`Statement`], which can be printed again, and resolved against a
//! [`Fabric`] into [`FabricAction`]s with their times. This module does not modify a fabric.
//! `docs/scenario.md` describes the language.
//!
//! ```
//! use ferrosm_mad::time::Instant;
//! use ferrosm_sim::{fabric::Fabric, generate, scenario::Script};
//!
//! let fabric = Fabric::new(&generate::from_spec("ring:3,1")?)?;
//! let script = Script::parse("at 2s cut 1[1]\nafter 100ms restore 1[1]\n")?;
//! let plan = script.plan(&fabric, Instant::START)?;
//! assert_eq!(plan[1].0, Instant::from_nanos(2_100_000_000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod error;
mod help;
mod lex;
mod parse;
mod print;
mod resolve;
#[cfg(test)]
mod tests;

use ferrosm_mad::time::Instant;

pub use ast::{
    AgentSetting, ForeignSpec, LinkRef, LinkVerb, NodeRef, NodeVerb, Percent, Query, Repetition,
    ScenarioCommand, ScenarioPort, ScenarioTarget, ScopeRef, Statement, TextColumn,
    TransportSetting, When,
};
pub use error::{ScenarioError, ScenarioProblem};
pub use help::{HELP, help};
pub use resolve::NodeNames;

use crate::fabric::Fabric;
use crate::faults::FabricAction;

/// Reference times of statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptClock {
    /// Start of the scenario (or the server): base of `at`.
    pub start: Instant,
    /// Time of the previous statement, or the current time: base of `after`.
    pub last: Instant,
}

impl ScriptClock {
    /// The clock of a scenario that starts at `start`.
    #[must_use]
    pub const fn new(start: Instant) -> Self {
        Self { start, last: start }
    }
}

/// A scenario: statements with their line numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// Statements in the order of the text, with line numbers from 1.
    pub statements: Vec<(u32, Statement)>,
}

impl Script {
    /// Parses a text; empty lines and comments are skipped.
    ///
    /// # Errors
    /// The first invalid statement with its position.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let mut statements = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(statement) = Statement::parse(line).map_err(|e| e.on_line(number))? {
                statements.push((number, statement));
            }
        }
        Ok(Self { statements })
    }

    /// Actions with their times if the scenario starts at `start`, in the order of the text.
    ///
    /// # Errors
    /// The first statement that names something unknown, or is a query.
    pub fn plan(
        &self,
        fabric: &Fabric,
        start: Instant,
    ) -> Result<Vec<(Instant, FabricAction)>, ScenarioError> {
        let names = NodeNames::of(fabric);
        let mut clock = ScriptClock::new(start);
        let mut plan = Vec::new();
        for (line, statement) in &self.statements {
            let actions = statement
                .plan(&names, fabric, &mut clock)
                .map_err(|e| e.on_line(*line))?;
            plan.extend(actions);
        }
        Ok(plan)
    }
}

impl Statement {
    /// Parses one line; `None` if it is empty or a comment.
    ///
    /// # Errors
    /// If it is invalid; the error has line 1.
    pub fn parse(line: &str) -> Result<Option<Self>, ScenarioError> {
        parse::statement(line)
    }

    /// Times of execution. Sets the clock to the first of them.
    pub fn times(&self, clock: &mut ScriptClock) -> Vec<Instant> {
        clock.last = match self.when {
            When::Same => clock.last,
            When::At(time) => clock.start + time,
            When::After(time) => clock.last + time,
        };
        let (period, times) = self.every.map_or((None, 1), |e| (Some(e.period), e.times));
        let nth = |n: u32| clock.last + period.unwrap_or_default().saturating_mul(n);
        (0..times).map(nth).collect()
    }

    /// Actions with their times. `names` are those of `fabric`.
    ///
    /// # Errors
    /// If it names something unknown, or is a query.
    pub fn plan(
        &self,
        names: &NodeNames,
        fabric: &Fabric,
        clock: &mut ScriptClock,
    ) -> Result<Vec<(Instant, FabricAction)>, ScenarioError> {
        let times = self.times(clock);
        let action = |at| Ok((at, resolve::action(&self.command, names, fabric)?));
        times.into_iter().map(action).collect()
    }
}
