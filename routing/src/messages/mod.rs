//! What a routing run says: decisions of engines, and reasons why an engine cannot route a fabric.
//!
//! Messages name switches by index. [`Describe`] renders them with the caller's names.

mod describe;
mod diagnostics;
mod order_strategy;
mod route_error;

pub use describe::Describe;
pub(crate) use describe::index_label;
pub use diagnostics::{
    DecidedBy, Diagnostic, RerouteSummary, RoutingFigures, Structure, TreeFigures,
};
pub use order_strategy::SwitchOrderStrategy;
pub use route_error::{HintError, RouteError, ShapeError, SwitchHintError};
