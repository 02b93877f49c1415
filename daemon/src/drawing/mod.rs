//! Drawings of a whole fabric on one page, laid out by its detected structure as on the page in a
//! browser: trees by levels, tori and meshes as a grid, dragonflies by groups, others by distances.
//!
//! The same fabric gives the same drawing: nothing is random.

mod boxes;
mod distances;
pub mod highlights;
mod html;
mod labels;
mod layout;
mod paint;
mod pdf;
mod picture;
mod svg;
#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_api::structure::LinkLoad;

pub use picture::Picture;

use crate::whole_fabric::{FabricIndex, WholeFabric};
use boxes::Boxes;
use layout::Layout;

/// What a box of a drawing stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DrawingDetail {
    /// A switch.
    Switches,
    /// A group of the structure, or the switches with the same neighbours.
    Groups,
    /// The switches whose names differ in their last number only.
    Racks,
}

/// What is drawn strongly.
#[derive(Debug, Clone, Default)]
pub enum Highlight {
    /// Links and nodes that are not up.
    #[default]
    States,
    /// Nothing: the states of links are unknown.
    Unmarked,
    /// Nodes (by GUID) and links (by index) with alarms.
    Alarms {
        nodes: BTreeSet<String>,
        links: BTreeSet<usize>,
    },
    /// The routes over each link.
    Load(LinkLoad),
    /// The nodes (by GUID) and links (by index) of a path.
    Path {
        title: String,
        nodes: BTreeSet<String>,
        links: BTreeSet<usize>,
    },
}

/// Formats of drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DrawingFormat {
    /// SVG.
    Svg,
    /// PDF, a landscape page of A4.
    Pdf,
    /// HTML with the drawing and a list of switches.
    Html,
}

/// Switches up to which each of them is drawn, without `--level`.
const SWITCHES_DRAWN_MAX: usize = 60;
/// The same for a grid, which is readable with many.
const GRID_SWITCHES_DRAWN_MAX: usize = 2500;

/// Draws a fabric. Without `detail`, as much as is readable.
#[must_use]
pub fn draw(fabric: &WholeFabric, detail: Option<DrawingDetail>, highlight: &Highlight) -> Picture {
    let index = FabricIndex::new(fabric);
    let detail = detail.unwrap_or_else(|| usual_detail(&index));
    let boxes = Boxes::new(&index, detail);
    let layout = Layout::new(&index, &boxes);
    paint::paint(&index, &boxes, &layout, highlight)
}

/// A drawing in a format.
#[must_use]
pub fn encode(picture: &Picture, fabric: &WholeFabric, format: DrawingFormat) -> Vec<u8> {
    match format {
        DrawingFormat::Svg => svg(picture).into_bytes(),
        DrawingFormat::Pdf => pdf::render(picture),
        DrawingFormat::Html => html::render(picture, fabric).into_bytes(),
    }
}

/// A drawing as SVG.
#[must_use]
pub fn svg(picture: &Picture) -> String {
    svg::render(picture)
}

fn usual_detail(index: &FabricIndex<'_>) -> DrawingDetail {
    use ferrosm_api::structure::StructureKind;

    let limit = match index.fabric.structure.kind {
        StructureKind::Grid => GRID_SWITCHES_DRAWN_MAX,
        StructureKind::Tree | StructureKind::Dragonfly | StructureKind::Unknown => {
            SWITCHES_DRAWN_MAX
        }
    };
    match index.switches().len() <= limit {
        true => DrawingDetail::Switches,
        false => DrawingDetail::Groups,
    }
}

/// The link at each port, by node GUID.
#[must_use]
pub fn links_by_port(fabric: &WholeFabric) -> BTreeMap<(&str, u8), usize> {
    let links = fabric.links.iter().enumerate();
    let ends = links.flat_map(|(i, link)| [&link.a, &link.b].map(|end| (end, i)));
    ends.map(|(end, i)| ((end.guid.as_str(), end.port), i))
        .collect()
}
