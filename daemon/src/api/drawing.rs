//! The drawing of the published fabric (`GET /v1/drawing.svg`), as `ferrosm draw` makes it.

use ferrosm_api::alarm::Alarm;
use ferrosm_api::path::Path;
use ferrosm_api::structure::FabricStructure;
use ferrosm_core::config::maintenance::Maintenance;
use ferrosm_core::routing::what_if::RoutingBasis;

use super::fabric::{links, nodes};
use super::published::FabricState;
use super::structure::load;
use crate::drawing::highlights::{of_alarms, of_path};
use crate::drawing::{self, DrawingDetail, Highlight};
use crate::whole_fabric::WholeFabric;

/// What a drawing emphasizes.
#[derive(Debug)]
pub(super) enum Emphasis {
    /// What is not up.
    States,
    /// Nodes and links with alarms.
    Alarms(Vec<Alarm>),
    /// Routes over each link.
    Load,
    /// A path.
    Path(Box<Path>),
}

/// What is drawn, and how.
#[derive(Debug)]
pub(super) struct DrawingRequest {
    pub(super) detail: Option<DrawingDetail>,
    pub(super) emphasis: Emphasis,
}

/// A fabric with its routing in force, as SVG.
pub(super) fn svg(
    fabric: &FabricState,
    maintenance: &[Maintenance],
    basis: &RoutingBasis,
    structure: FabricStructure,
    request: &DrawingRequest,
) -> String {
    let whole = WholeFabric::of_answers(
        nodes(fabric).collect(),
        links(fabric, maintenance).collect(),
        structure,
    );
    let highlight = match &request.emphasis {
        Emphasis::States => Highlight::States,
        Emphasis::Alarms(alarms) => of_alarms(&whole, alarms),
        Emphasis::Load => Highlight::Load(load(&fabric.snapshot, basis)),
        Emphasis::Path(path) => of_path(&whole, path),
    };
    drawing::svg(&drawing::draw(&whole, request.detail, &highlight))
}
