//! The engines, a file or folder each; `paths` has what they share.
//!
//! An engine is a pure function from a graph and the previous tables to new tables. It does not
//! decide whether the tables may be installed: [`crate::verify()`] does.

mod dfsssp;
mod diameter2;
mod dmodc;
mod dnup;
mod dor;
mod dragonfly;
mod file;
mod ftree;
mod lash;
mod minhop;
mod nue;
mod sssp;
mod torus_2qos;
mod updn;

use dfsssp::DfSssp;
use diameter2::DiameterTwoEngine;
use dmodc::Dmodc;
use dnup::DownUp;
use dor::Dor;
use dragonfly::DragonflyEngine;
use file::File;
use ftree::FatTree;
use lash::Lash;
use minhop::MinHop;
use nue::Nue;
use sssp::Sssp;
use torus_2qos::Torus2Qos;
use updn::UpDown;

use crate::messages::RouteError;
use crate::request::RoutingRequest;
use crate::routing::Routing;

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
        "dragonfly" => Some(Box::new(DragonflyEngine)),
        "diameter2" => Some(Box::new(DiameterTwoEngine)),
        "torus-2QoS" => Some(Box::new(Torus2Qos)),
        "nue" => Some(Box::new(Nue)),
        "file" => Some(Box::new(File)),
        _ => None,
    }
}
