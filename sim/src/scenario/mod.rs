//! What happens to a fabric and when, as text: one statement a line.
//!
//! A line is read into a [`Statement`], which says what was written and can be written back; it is
//! then resolved against a [`Fabric`] into [`FabricAction`]s and the times when they happen. This module
//! does nothing to a fabric itself. The language is described in `docs/scenario.md`.
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
    AgentSetting, Command, ForeignSpec, LinkRef, LinkVerb, NodeRef, NodeVerb, Percent, PortRef,
    Query, Repetition, ScopeRef, Statement, Target, TextColumn, TransportSetting, When,
};
pub use error::{ScenarioError, ScenarioProblem};
pub use help::{HELP, help};
pub use resolve::NodeNames;

use crate::fabric::Fabric;
use crate::faults::FabricAction;

/// What the times of statements are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptClock {
    /// When the scenario (or the server) began: `at` counts from here.
    pub start: Instant,
    /// The time of the statement before, or the present: `after` counts from here.
    pub last: Instant,
}

impl ScriptClock {
    /// The clock of a scenario that begins now.
    #[must_use]
    pub const fn new(start: Instant) -> Self {
        Self { start, last: start }
    }
}

/// A scenario: statements and the lines where they stand.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Script {
    /// In the order of the text, each with its line, counted from 1.
    pub statements: Vec<(u32, Statement)>,
}

impl Script {
    /// Reads a text; empty lines and remarks are skipped.
    ///
    /// # Errors
    /// The first line that is no statement, and the column where it goes wrong.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let mut statements = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(statement) = Statement::parse(line).map_err(|e| e.on_line(number))? {
                statements.push((number, statement));
            }
        }
        Ok(Self { statements })
    }

    /// What happens when, if the scenario begins at `start`: in the order of the text.
    ///
    /// # Errors
    /// The first statement that names something that the fabric does not have, or that is a
    /// question.
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
    /// Reads one line; `None` if there is nothing on it but a remark.
    ///
    /// # Errors
    /// If it is no statement; the error is on line 1.
    pub fn parse(line: &str) -> Result<Option<Self>, ScenarioError> {
        parse::statement(line)
    }

    /// When it happens, and moves the clock to the first of these times.
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

    /// What happens when. `names` are those of `fabric`.
    ///
    /// # Errors
    /// If it names something that the fabric does not have, or is a question.
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
