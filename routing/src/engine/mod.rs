//! What a routing engine is, and which there are.
//!
//! An engine is a pure function from a graph (and the tables of the run before) to tables. It never
//! decides whether its tables are good enough to install: [`crate::verify()`] does. One file per
//! engine; what engines share is in `matrix` (who may be the next hop), `order` (which end of a link
//! is up) and `fill` (which next hop is taken).

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
pub use error::{HintError, RouteError, ShapeError, SwitchName};
pub use file::File;
pub use ftree::FatTree;
pub use lash::Lash;
pub use minhop::MinHop;
pub use names::ENGINE_NAMES;
pub use nue::Nue;
pub use request::{LastRun, Previous, Request};
pub use routing::{Routing, TreeConstraint};
pub use sssp::Sssp;
pub use torus_2qos::Torus2Qos;
pub use updn::UpDown;

/// Computes forwarding tables for a graph.
pub trait Engine: Send + Sync {
    /// The name by which operators ask for it.
    fn name(&self) -> &'static str;

    /// Tables for every switch. Entries of [`Request::previous`] that this engine could still have chosen are
    /// kept unless a link was gained, so that a lost link moves only the routes that need to move.
    ///
    /// # Errors
    /// The graph is not one that this engine can route: the reason is for the operator.
    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError>;
}

/// The engine of this name.
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
