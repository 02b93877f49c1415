//! Routing engines.
//!
//! An engine is a pure function from a graph and the previous tables to new tables. It does not
//! decide whether the tables may be installed: [`crate::verify()`] does. One file per engine.
//! Shared parts: `hop_matrix` (legal next hops), `order` (up/down orders of the switches) and
//! `fill` (choice among legal next hops).

mod cell;
mod dfsssp;
mod dmodc;
mod dmodc_assignment;
mod dnup;
mod dor;
mod down_up_pairs;
mod down_up_search;
mod error;
mod file;
mod fill;
mod ftree;
pub(crate) mod graph;
mod grids;
mod hop_matrix;
mod lash;
mod load_balance;
mod minhop;
mod names;
mod neighbors;
mod nue;
mod order;
mod order_strategy;
mod ordered;
mod request;
mod routing;
mod sssp;
mod torus_2qos;
mod updn;
mod virtual_layers;

pub use dfsssp::DfSssp;
pub use dmodc::Dmodc;
pub use dnup::DownUp;
pub use dor::Dor;
pub use error::{HintError, RouteError, ShapeError, SwitchHintError};
pub use file::File;
pub use ftree::FatTree;
pub use lash::Lash;
pub use minhop::MinHop;
pub use names::ENGINE_NAMES;
pub use nue::Nue;
pub use order_strategy::SwitchOrderStrategy;
pub use request::{EarlierRun, PreviousRouting, RoutingRequest, VerifiedRun};
pub use routing::{Routing, TreeConstraint};
pub use sssp::Sssp;
pub use torus_2qos::Torus2Qos;
pub use updn::UpDown;

/// Computes forwarding tables for a graph.
pub trait Engine: Send + Sync {
    /// Name in the configuration and in logs.
    fn name(&self) -> &'static str;

    /// Computes the table of every switch. Entries of [`RoutingRequest::previous`] that are still
    /// legal stay in use unless a link was added, so a lost link moves only the routes that used
    /// it.
    ///
    /// # Errors
    /// The engine cannot route this graph; the error text is for the operator.
    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError>;
}

/// Looks up an engine by name.
#[must_use]
pub fn engine_by_name(name: &str) -> Option<Box<dyn Engine>> {
    match name {
        "dmodc" => Some(Box::new(Dmodc)),
        "dnup" => Some(Box::new(DownUp)),
        "ftree" => Some(Box::new(FatTree)),
        "updn" => Some(Box::new(UpDown)),
        "minhop" => Some(Box::new(MinHop)),
        "sssp" => Some(Box::new(Sssp)),
        "dfsssp" => Some(Box::new(DfSssp)),
        "lash" => Some(Box::new(Lash)),
        "dor" => Some(Box::new(Dor)),
        "torus-2QoS" => Some(Box::new(Torus2Qos)),
        "nue" => Some(Box::new(Nue)),
        "file" => Some(Box::new(File)),
        _ => None,
    }
}
