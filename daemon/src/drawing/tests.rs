//! Drawings of generated fabrics.

use std::collections::BTreeSet;

use ferrosm_sim::generate::from_spec;

use super::boxes::Boxes;
use super::layout::Layout;
use super::picture::{PAGE_HEIGHT, PAGE_WIDTH, Shape};
use super::*;

const SHAPES: [&str; 12] = [
    "fat-tree:4",
    "fat-tree:8;sharp",
    "fat-tree2:36,36,18",
    "fat-tree:24",
    "rail-pods:2,4,8,2,0",
    "torus:6,6,1",
    "torus:4,4,3,2",
    "hyperx:3,4,2",
    "dragonfly:4,9,2,2",
    "dragonfly+:5,2,2,2,3",
    "random:30,4,1,7",
    "back-to-back",
];

fn fabric(shape: &str) -> WholeFabric {
    WholeFabric::of_description(&from_spec(shape).unwrap())
}

/// Whatever the structure and the detail, everything is on the page, and each switch and host in
/// one box.
#[test]
fn every_node_is_drawn_once_on_the_page() {
    for shape in SHAPES {
        let fabric = fabric(shape);
        let index = FabricIndex::new(&fabric);
        for detail in [
            DrawingDetail::Switches,
            DrawingDetail::Groups,
            DrawingDetail::Racks,
        ] {
            let boxes = Boxes::new(&index, detail);
            let layout = Layout::new(&index, &boxes);
            let nodes: Vec<usize> = boxes
                .boxes
                .iter()
                .flat_map(|own| own.nodes.iter().chain(&own.hosts))
                .copied()
                .collect();
            let aggregation: usize = boxes.boxes.iter().map(|own| own.aggregation_nodes).sum();
            let distinct: BTreeSet<usize> = nodes.iter().copied().collect();
            assert_eq!(nodes.len(), distinct.len(), "{shape} {detail:?}");
            assert_eq!(
                nodes.len() + aggregation,
                fabric.nodes.len(),
                "{shape} {detail:?}"
            );
            for at in layout.boxes.iter().chain(layout.hosts.values()) {
                assert!(
                    (0.0..=PAGE_WIDTH).contains(&at.x) && (0.0..=PAGE_HEIGHT).contains(&at.y),
                    "{shape} {detail:?}: {at:?}"
                );
            }
            let links: usize = boxes.bundles.iter().map(|bundle| bundle.links.len()).sum();
            if detail == DrawingDetail::Switches {
                let between = (0..fabric.links.len())
                    .filter(|link| index.ends(*link).iter().all(|node| index.is_switch(*node)))
                    .count();
                let direct = usize::from(shape == "back-to-back");
                assert_eq!(links, between + direct, "{shape}");
            }
        }
    }
}

/// Boxes of switches do not lie on each other.
#[test]
fn boxes_of_switches_do_not_overlap() {
    for shape in SHAPES {
        let fabric = fabric(shape);
        let picture = draw(&fabric, Some(DrawingDetail::Switches), &Highlight::Unmarked);
        let boxes: Vec<_> = picture
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Rectangle {
                    center,
                    width,
                    tooltip,
                    ..
                } if !tooltip.is_empty() => Some((center, width)),
                Shape::Rectangle { .. }
                | Shape::Line { .. }
                | Shape::Circle { .. }
                | Shape::Text { .. } => None,
            })
            .collect();
        let mut overlaps = 0;
        for (i, (a, width)) in boxes.iter().enumerate() {
            let overlapping = boxes[..i].iter().filter(|(b, _)| {
                (a.x - b.x).abs() < **width - 0.01 && (a.y - b.y).abs() < **width - 0.01
            });
            overlaps += overlapping.count();
        }
        // Forces leave a few boxes of unknown structures near each other.
        assert!(
            overlaps * 20 <= boxes.len(),
            "{shape}: {overlaps} of {}",
            boxes.len()
        );
    }
}

#[test]
fn groups_are_named_and_counted() {
    let fabric = fabric("fat-tree2:36,36,18");
    let index = FabricIndex::new(&fabric);
    let boxes = Boxes::new(&index, DrawingDetail::Groups);
    let texts: Vec<String> = boxes
        .boxes
        .iter()
        .map(|own| format!("{}: {}", own.group_name, own.counts()))
        .collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts
            .iter()
            .any(|text| text.contains("36 leaves, 648 hosts")),
        "{texts:?}"
    );
    assert!(
        texts.iter().any(|text| text.contains("18 switches")),
        "{texts:?}"
    );
}

/// The same fabric has the same bytes, also if its links are known in another order.
#[test]
fn drawings_are_reproducible() {
    for shape in SHAPES {
        let fabric = fabric(shape);
        let encoded = |format| {
            let picture = draw(&fabric, None, &Highlight::States);
            encode(&picture, &fabric, format)
        };
        for format in [DrawingFormat::Svg, DrawingFormat::Pdf, DrawingFormat::Html] {
            assert_eq!(encoded(format), encoded(format), "{shape}");
        }
    }
}

/// SVG and HTML are well-formed whatever names contain.
#[test]
fn names_are_escaped() {
    let mut spec = from_spec("star:3").unwrap();
    for node in &mut spec.nodes {
        node.description = "<script>alert(1)</script>&\"(\\) \u{1}é".to_owned();
    }
    let fabric = WholeFabric::of_description(&spec);
    let picture = draw(&fabric, None, &Highlight::States);
    let text = svg(&picture);
    assert!(!text.contains("<script>"), "{text}");
    let document = roxmltree::Document::parse(&text).unwrap();
    assert!(document.descendants().any(|node| node.has_tag_name("rect")));
    let html = encode(&picture, &fabric, DrawingFormat::Html);
    assert!(!String::from_utf8(html).unwrap().contains("<script>"));
}
