//! What a routing engine is, and which there are.
//!
//! An engine is a pure function from a graph (and the tables of the run before) to tables. It never
//! decides whether its tables are good enough to install: [`crate::verify()`] does. One file per
//! engine; what engines share is in `legs` (who may be the next hop), `order` (which end of a link
//! is up) and `fill` (which next hop is taken).

mod fill;
mod graph;
mod legs;
mod minhop;
mod order;
mod updn;

use std::sync::Arc;

pub use minhop::MinHop;
pub use updn::UpDown;

use crate::tables::{Lft, Tables};
use crate::topology::Topology;

/// Computes forwarding tables for a graph.
pub trait Engine: Send + Sync {
    /// The name by which operators ask for it.
    fn name(&self) -> &'static str;

    /// Tables for every switch. Entries of `previous` that this engine could still have chosen are
    /// kept unless a link was gained, so that a lost link moves only the routes that need to move.
    ///
    /// # Errors
    /// The graph is not one that this engine can route: the reason is for the operator.
    fn route(&self, topo: &Topology, previous: &Previous) -> Result<Routing, RouteError>;
}

/// The tables that are installed now.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// By the *new* run's [`crate::SwitchIdx`]; `None`, or nothing at all, where the content is
    /// unknown.
    pub lfts: Vec<Option<Arc<Lft>>>,
    /// Each switch's place in the order that the tables were made with ([`Routing::order`]); `None`, or nothing at
    /// all, where it had none.
    pub order: Vec<Option<u32>>,
}

impl Previous {
    /// Nothing is installed, or nothing is known of it.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            lfts: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Everything of a run whose switches have the same indices.
    #[must_use]
    pub fn of(routing: &Routing) -> Self {
        let order = routing.order.iter().flatten().copied().map(Some);
        Self {
            lfts: routing.tables.iter().cloned().map(Some).collect(),
            order: order.collect(),
        }
    }

    /// The table of one switch.
    pub(crate) fn get(&self, switch: usize) -> Option<&Arc<Lft>> {
        self.lfts.get(switch).and_then(Option::as_ref)
    }
}

/// What an engine computed.
#[derive(Debug, Clone)]
pub struct Routing {
    /// Name of the engine.
    pub engine: &'static str,
    /// One table per switch.
    pub tables: Tables,
    /// Each switch's place in the engine's order of switches, if it has one: to be given back as
    /// [`Previous::order`], so that a lost cable does not turn the order, and with it every route, upside down.
    pub order: Option<Vec<u32>>,
    /// What the engine decided on the way, one sentence each, for logs. Switches are named by their
    /// LIDs.
    pub notes: Vec<String>,
}

/// Why an engine cannot route a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Some switches have no path of cables to the others.
    #[error("the switches form {islands} islands without a cable between them")]
    Disconnected {
        /// Connected components.
        islands: usize,
    },
    /// A path would be longer than any packet may travel.
    #[error("paths of more than 32,000 hops: this is no fabric")]
    TooDeep,
    /// Nobody has written an engine of this name.
    #[error("there is no routing engine named `{0}` (there are: {names})", names = ENGINE_NAMES.join(", "))]
    UnknownEngine(String),
}

/// All engines, by name.
pub const ENGINE_NAMES: &[&str] = &["updn", "minhop"];

/// The engine of this name.
#[must_use]
pub fn engine_by_name(name: &str) -> Option<Box<dyn Engine>> {
    match name {
        "updn" => Some(Box::new(UpDown)),
        "minhop" => Some(Box::new(MinHop)),
        _ => None,
    }
}
