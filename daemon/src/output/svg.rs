//! SVG output: switches in levels, or on a circle without levels; hosts below their switch.
//!
//! Above [`HOSTS_MAX`] nodes, hosts are not drawn; the box of their switch has their number.

use core::f64::consts::TAU;
use core::fmt::{self, Write};
use std::collections::BTreeMap;

use ferrosm_opensm_compat::view::{FabricLinkEnd, FabricView};

/// Largest number of nodes of a fabric whose hosts are drawn.
pub const HOSTS_MAX: usize = 300;
/// Largest number of hosts of a switch that are drawn with names.
const NAMES_MAX: usize = 20;

const BOX_W: f64 = 108.0;
const BOX_H: f64 = 26.0;
const GAP_X: f64 = 14.0;
const HOST_H: f64 = 11.0;
const DOT: f64 = 7.0;
const MARGIN: f64 = 24.0;

#[derive(Debug, Clone, Copy, Default)]
struct Point {
    x: f64,
    y: f64,
}

/// Positions of the nodes.
struct Layout {
    /// Center of each switch, by node index; of hosts only without switches.
    at: BTreeMap<usize, Point>,
    width: f64,
    height: f64,
}

/// Writes the image.
///
/// # Errors
/// Errors of `out`.
pub fn render(view: &FabricView, out: &mut impl Write) -> fmt::Result {
    let link_ends = view.link_ends();
    let draw_hosts = view.nodes.len() <= HOSTS_MAX;
    let switches: Vec<usize> = (0..view.nodes.len())
        .filter(|n| view.nodes[*n].is_switch())
        .collect();
    let hosts = hosts_by_switch(view, &link_ends);
    let layout = if switches.is_empty() {
        row(view)
    } else {
        let levels = levels(view, &link_ends, &switches, &hosts);
        if levels.len() == 1 && switches.len() > 3 {
            circle(&switches, &hosts, draw_hosts)
        } else {
            layers(view, &link_ends, levels, &hosts, draw_hosts)
        }
    };
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{:.0}\" viewBox=\"0 0 {:.0} {:.0}\">",
        layout.width, layout.height, layout.width, layout.height
    )?;
    out.write_str(
        "<style>text{font-family:sans-serif;font-size:8px;fill:#222}.s{fill:#dbe9f6;stroke:#31618f}\
         .h{fill:#f3d9b1;stroke:#94661f;stroke-width:.6}.l{stroke:#777;stroke-opacity:.55}</style>\n",
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>")?;
    links(view, &layout, out)?;
    for (node, at) in &layout.at {
        let attached = hosts.get(node).map_or(&[][..], Vec::as_slice);
        if view.nodes[*node].is_switch() {
            switch(view, *node, *at, attached, draw_hosts, out)?;
        } else {
            host(view, *node, *at, true, out)?;
        }
    }
    writeln!(out, "</svg>")
}

/// Hosts and routers by the first switch that they are attached to.
fn hosts_by_switch(
    view: &FabricView,
    link_ends: &[Vec<FabricLinkEnd<'_>>],
) -> BTreeMap<usize, Vec<usize>> {
    let mut hosts: BTreeMap<usize, Vec<(u8, usize)>> = BTreeMap::new();
    for (node, of_node) in link_ends
        .iter()
        .enumerate()
        .filter(|(n, _)| !view.nodes[*n].is_switch())
    {
        if let Some(link_end) = of_node.iter().find(|e| view.nodes[e.peer.node].is_switch()) {
            hosts
                .entry(link_end.peer.node)
                .or_default()
                .push((link_end.peer.port.0, node));
        }
    }
    let sorted = hosts.into_iter().map(|(s, mut attached)| {
        attached.sort_unstable();
        (s, attached.into_iter().map(|(_, n)| n).collect())
    });
    sorted.collect()
}

/// Switches by distance from the nearest leaf, leaves first. A leaf has at least a quarter of the
/// hosts of the fullest switch, so that a spine with an aggregation node or a storage host remains
/// a spine.
fn levels(
    view: &FabricView,
    link_ends: &[Vec<FabricLinkEnd<'_>>],
    switches: &[usize],
    hosts: &BTreeMap<usize, Vec<usize>>,
) -> Vec<Vec<usize>> {
    let max_hosts = hosts.values().map(Vec::len).max().unwrap_or(0);
    let is_leaf = |s: usize| hosts.get(&s).is_some_and(|h| h.len() * 4 >= max_hosts);
    let mut levels = Vec::new();
    let mut is_placed = vec![false; view.nodes.len()];
    let mut level: Vec<usize> = switches.iter().copied().filter(|s| is_leaf(*s)).collect();
    if level.is_empty() {
        level.extend(switches.first());
    }
    while !level.is_empty() {
        level.iter().for_each(|s| is_placed[*s] = true);
        let mut next = Vec::new();
        for s in &level {
            for link_end in &link_ends[*s] {
                let peer = link_end.peer.node;
                if view.nodes[peer].is_switch() && !core::mem::replace(&mut is_placed[peer], true) {
                    next.push(peer);
                }
            }
        }
        next.sort_unstable();
        levels.push(core::mem::replace(&mut level, next));
    }
    // Components without hosts come last.
    let unplaced: Vec<usize> = switches
        .iter()
        .copied()
        .filter(|s| !is_placed[*s])
        .collect();
    if !unplaced.is_empty() {
        levels.push(unplaced);
    }
    levels
}

/// Without switches: hosts in a row.
fn row(view: &FabricView) -> Layout {
    let at = |n: usize| Point {
        x: MARGIN + BOX_W * (to_f64(n) + 0.5),
        y: MARGIN + BOX_H,
    };
    Layout {
        at: (0..view.nodes.len()).map(|n| (n, at(n))).collect(),
        width: 2.0 * MARGIN + BOX_W * to_f64(view.nodes.len().max(1)),
        height: 2.0 * (MARGIN + BOX_H),
    }
}

/// Levels from bottom to top. Within a level, switches are placed near the mean position of their
/// neighbours.
fn layers(
    view: &FabricView,
    link_ends: &[Vec<FabricLinkEnd<'_>>],
    mut levels: Vec<Vec<usize>>,
    hosts: &BTreeMap<usize, Vec<usize>>,
    draw_hosts: bool,
) -> Layout {
    let widest = levels.iter().map(Vec::len).max().unwrap_or(1);
    let width = 2.0 * MARGIN + to_f64(widest) * (BOX_W + GAP_X);
    let mut x = vec![0.0; view.nodes.len()];
    for _ in 0..4 {
        for level in &mut levels {
            let middle = |s: &usize| {
                let peers: Vec<f64> = link_ends[*s]
                    .iter()
                    .filter(|e| view.nodes[e.peer.node].is_switch())
                    .map(|e| x[e.peer.node])
                    .collect();
                if peers.is_empty() {
                    0.0
                } else {
                    peers.iter().sum::<f64>() / to_f64(peers.len())
                }
            };
            let mut keyed: Vec<(f64, usize)> = level.iter().map(|s| (middle(s), *s)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let step = width / to_f64(level.len().max(1));
            for (i, (slot, (_, s))) in level.iter_mut().zip(keyed).enumerate() {
                *slot = s;
                x[s] = step * (to_f64(i) + 0.5);
            }
        }
    }
    let top = MARGIN + BOX_H / 2.0;
    // Wide images need more space between levels, otherwise links are almost horizontal.
    let gap = (width * 0.09).clamp(110.0, 420.0);
    let bottom = top + gap * to_f64(levels.len() - 1);
    let host_space = hosts_space(hosts, draw_hosts);
    let mut at = BTreeMap::new();
    for (i, level) in levels.iter().enumerate() {
        for s in level {
            at.insert(
                *s,
                Point {
                    x: x[*s],
                    y: bottom - gap * to_f64(i),
                },
            );
        }
    }
    Layout {
        at,
        width,
        height: bottom + BOX_H / 2.0 + host_space + MARGIN,
    }
}

/// Height of the longest list of hosts below a switch.
fn hosts_space(hosts: &BTreeMap<usize, Vec<usize>>, draw_hosts: bool) -> f64 {
    if !draw_hosts {
        return 0.0;
    }
    hosts
        .values()
        .map(|h| hosts_height(h.len()))
        .fold(0.0, f64::max)
}

/// All switches in one level (rings, tori, meshes): a circle.
fn circle(switches: &[usize], hosts: &BTreeMap<usize, Vec<usize>>, draw_hosts: bool) -> Layout {
    let n = to_f64(switches.len());
    let radius = (n * (BOX_W + GAP_X) / TAU).max(120.0);
    let host_space = hosts_space(hosts, draw_hosts);
    let middle = radius + BOX_W / 2.0 + host_space + MARGIN;
    let at = switches.iter().enumerate().map(|(i, s)| {
        let (sin, cos) = (TAU * to_f64(i) / n).sin_cos();
        (
            *s,
            Point {
                x: middle + radius * sin,
                y: middle - radius * cos,
            },
        )
    });
    Layout {
        at: at.collect(),
        width: 2.0 * middle,
        height: 2.0 * middle,
    }
}

/// Height of the hosts below a switch.
fn hosts_height(n: usize) -> f64 {
    if n <= NAMES_MAX {
        HOST_H * to_f64(n) + 4.0
    } else {
        (DOT + 2.0) * to_f64(n.div_ceil(columns())) + 4.0
    }
}

/// Dots in a row below a switch.
const fn columns() -> usize {
    12
}

fn links(view: &FabricView, layout: &Layout, out: &mut impl Write) -> fmt::Result {
    let mut bundles: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for link in &view.links {
        let a = link.a.node.min(link.b.node);
        let b = link.a.node.max(link.b.node);
        if a != b && layout.at.contains_key(&a) && layout.at.contains_key(&b) {
            bundles.entry((a, b)).or_default().push(link.rate());
        }
    }
    for ((a, b), rates) in bundles {
        let p = layout.at[&a];
        let q = layout.at[&b];
        writeln!(
            out,
            "<line class=\"l\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke-width=\"{:.1}\">\
             <title>{} to {}: {} x {}</title></line>",
            p.x,
            p.y,
            q.x,
            q.y,
            (0.4 + 0.5 * to_f64(rates.len())).min(4.0),
            escape(&view.nodes[a].name()),
            escape(&view.nodes[b].name()),
            rates.len(),
            escape(&rates[0]),
        )?;
    }
    Ok(())
}

fn switch(
    view: &FabricView,
    node: usize,
    at: Point,
    hosts: &[usize],
    draw_hosts: bool,
    out: &mut impl Write,
) -> fmt::Result {
    let n = &view.nodes[node];
    let x = at.x - BOX_W / 2.0;
    let y = at.y - BOX_H / 2.0;
    writeln!(
        out,
        "<rect class=\"s\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BOX_W}\" height=\"{BOX_H}\" rx=\"3\">\
         <title>{} {}</title></rect>",
        escape(&n.name()),
        n.guid
    )?;
    let lid = n.end_port(ferrosm_mad::ids::PortNum::ZERO).lid;
    let mut second = if lid.0 == 0 {
        String::new()
    } else {
        format!("LID {lid}")
    };
    if !draw_hosts && !hosts.is_empty() {
        let sep = if second.is_empty() { "" } else { ", " };
        write!(
            second,
            "{sep}{}",
            super::table::count(hosts.len(), "host", "hosts")
        )?;
    }
    let lift = if second.is_empty() { 3.0 } else { -2.0 };
    label(at.x, at.y + lift, "middle", &shorten(&n.name(), 23), out)?;
    if !second.is_empty() {
        label(at.x, at.y + 8.0, "middle", &second, out)?;
    }
    if !draw_hosts {
        return Ok(());
    }
    let bottom = at.y + BOX_H / 2.0;
    for (i, h) in hosts.iter().enumerate() {
        let position = if hosts.len() <= NAMES_MAX {
            Point {
                x: x + DOT,
                y: bottom + HOST_H * (to_f64(i) + 0.5) + 2.0,
            }
        } else {
            let line = i / columns();
            let column = i % columns();
            Point {
                x: x + DOT / 2.0 + to_f64(column) * (DOT + 2.0),
                y: bottom + (DOT + 2.0) * (to_f64(line) + 0.5) + 2.0,
            }
        };
        host(view, *h, position, hosts.len() <= NAMES_MAX, out)?;
    }
    Ok(())
}

fn host(
    view: &FabricView,
    node: usize,
    at: Point,
    with_name: bool,
    out: &mut impl Write,
) -> fmt::Result {
    let n = &view.nodes[node];
    let lids = n
        .lids()
        .map_or_else(String::new, |lids| format!(", LID {lids}"));
    writeln!(
        out,
        "<circle class=\"h\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{}\"><title>{} {}{lids}</title></circle>",
        at.x,
        at.y,
        DOT / 2.0,
        escape(&n.name()),
        n.guid
    )?;
    if with_name {
        label(
            at.x + DOT,
            at.y + 3.0,
            "start",
            &shorten(&n.name(), 20),
            out,
        )
    } else {
        Ok(())
    }
}

fn label(x: f64, y: f64, anchor: &str, text: &str, out: &mut impl Write) -> fmt::Result {
    writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
        escape(text)
    )
}

fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    text.chars().take(max - 1).chain(['…']).collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Exact, because node counts are far below 2^53.
fn to_f64(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests {
    use super::*;
    use crate::output::view::view_of_spec;
    use ferrosm_sim::generate::from_spec;

    fn image(shape: &str) -> String {
        let mut text = String::new();
        render(&view_of_spec(&from_spec(shape).unwrap()), &mut text).unwrap();
        text
    }

    /// Also with an aggregation node in every switch.
    #[test]
    fn fat_tree_has_three_levels() {
        for shape in ["fat-tree:8", "fat-tree:8;sharp"] {
            let text = image(shape);
            let heights: BTreeMap<&str, usize> = text
                .lines()
                .filter(|l| l.starts_with("<rect class=\"s\""))
                .map(|l| l.split(" y=\"").nth(1).unwrap().split('"').next().unwrap())
                .fold(BTreeMap::new(), |mut m, y| {
                    *m.entry(y).or_default() += 1;
                    m
                });
            let mut sizes: Vec<usize> = heights.into_values().collect();
            sizes.sort_unstable();
            assert_eq!(sizes, [16, 32, 32], "{shape}");
        }
    }

    #[test]
    fn hosts_are_drawn_in_small_fabrics_and_counted_in_large_ones() {
        let small = image("ring:5,3");
        assert_eq!(small.matches("<circle").count(), 15);
        let large = image("fat-tree2:40,20,20");
        assert_eq!(large.matches("<circle").count(), 0);
        assert_eq!(large.matches(">20 hosts<").count(), 20);
    }

    #[test]
    fn fabrics_without_switches_and_special_characters_are_drawn() {
        let mut spec = from_spec("back-to-back").unwrap();
        spec.nodes[0].description = "a<b&c".to_owned();
        let mut text = String::new();
        render(&view_of_spec(&spec), &mut text).unwrap();
        assert!(text.contains("a&lt;b&amp;c"));
        assert_eq!(text.matches("<line").count(), 1);
    }
}
