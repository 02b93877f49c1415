//! SVG output: switches in levels, or on a circle without levels; hosts below their switch.
//!
//! Above [`HOSTS_MAX`] nodes, hosts are not drawn; the box of their switch has their number.

use core::f64::consts::TAU;
use core::fmt::{self, Write};
use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use ferrosm_mad::ids::PortNum;

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
    /// Center of each switch, by slot; of hosts only without switches.
    at: BTreeMap<u32, Point>,
    width: f64,
    height: f64,
}

/// Writes the image.
///
/// # Errors
/// Errors of `out`.
pub fn render(snapshot: &Snapshot, out: &mut impl Write) -> fmt::Result {
    let draw_hosts = snapshot.nodes().count() <= HOSTS_MAX;
    let is_switch = |slot: &u32| snapshot.is_switch(*slot);
    let switches: Vec<u32> = snapshot.slots().filter(is_switch).collect();
    let hosts = hosts_by_switch(snapshot);
    let layout = if switches.is_empty() {
        row(snapshot)
    } else {
        let levels = levels(snapshot, &switches, &hosts);
        if levels.len() == 1 && switches.len() > 3 {
            circle(&switches, &hosts, draw_hosts)
        } else {
            layers(snapshot, levels, &hosts, draw_hosts)
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
    links(snapshot, &layout, out)?;
    for (node, at) in &layout.at {
        let attached = hosts.get(node).map_or(&[][..], Vec::as_slice);
        if snapshot.is_switch(*node) {
            switch(snapshot, *node, *at, attached, draw_hosts, out)?;
        } else {
            host(snapshot, *node, *at, true, out)?;
        }
    }
    writeln!(out, "</svg>")
}

/// Hosts and routers by the first switch that they are attached to.
fn hosts_by_switch(snapshot: &Snapshot) -> BTreeMap<u32, Vec<u32>> {
    let mut hosts: BTreeMap<u32, Vec<(u8, u32)>> = BTreeMap::new();
    for node in snapshot.slots().filter(|slot| !snapshot.is_switch(*slot)) {
        let mut peers = snapshot.linked_ports(node).map(|(_, peer)| peer);
        if let Some(peer) = peers.find(|peer| snapshot.is_switch(peer.node())) {
            let attached = hosts.entry(peer.node()).or_default();
            attached.push((peer.num().0, node));
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
fn levels(snapshot: &Snapshot, switches: &[u32], hosts: &BTreeMap<u32, Vec<u32>>) -> Vec<Vec<u32>> {
    let max_hosts = hosts.values().map(Vec::len).max().unwrap_or(0);
    let is_leaf = |s: u32| hosts.get(&s).is_some_and(|h| h.len() * 4 >= max_hosts);
    let mut levels = Vec::new();
    let mut placed = BTreeSet::new();
    let mut level: Vec<u32> = switches.iter().copied().filter(|s| is_leaf(*s)).collect();
    if level.is_empty() {
        level.extend(switches.first());
    }
    while !level.is_empty() {
        placed.extend(level.iter().copied());
        let mut next = Vec::new();
        for s in &level {
            for (_, peer) in snapshot.linked_ports(*s) {
                if snapshot.is_switch(peer.node()) && placed.insert(peer.node()) {
                    next.push(peer.node());
                }
            }
        }
        next.sort_unstable();
        levels.push(core::mem::replace(&mut level, next));
    }
    // Components without hosts come last.
    let switches = switches.iter().copied();
    let unplaced: Vec<u32> = switches.filter(|s| !placed.contains(s)).collect();
    if !unplaced.is_empty() {
        levels.push(unplaced);
    }
    levels
}

/// Without switches: hosts in a row.
fn row(snapshot: &Snapshot) -> Layout {
    let at = |n: usize| Point {
        x: MARGIN + BOX_W * (to_f64(n) + 0.5),
        y: MARGIN + BOX_H,
    };
    Layout {
        at: snapshot.slots().zip((0..).map(at)).collect(),
        width: 2.0 * MARGIN + BOX_W * to_f64(snapshot.nodes().count().max(1)),
        height: 2.0 * (MARGIN + BOX_H),
    }
}

/// Levels from bottom to top. Within a level, switches are placed near the mean position of their
/// neighbours.
fn layers(
    snapshot: &Snapshot,
    mut levels: Vec<Vec<u32>>,
    hosts: &BTreeMap<u32, Vec<u32>>,
    draw_hosts: bool,
) -> Layout {
    let widest = levels.iter().map(Vec::len).max().unwrap_or(1);
    let width = 2.0 * MARGIN + to_f64(widest) * (BOX_W + GAP_X);
    let switches = levels.iter().flatten();
    let mut x: BTreeMap<u32, f64> = switches.map(|s| (*s, 0.0)).collect();
    for _ in 0..4 {
        for level in &mut levels {
            let middle = |s: &u32| {
                let peers = snapshot.linked_ports(*s).map(|(_, peer)| peer.node());
                let peers: Vec<f64> = peers
                    .filter(|peer| snapshot.is_switch(*peer))
                    .map(|peer| x[&peer])
                    .collect();
                if peers.is_empty() {
                    0.0
                } else {
                    peers.iter().sum::<f64>() / to_f64(peers.len())
                }
            };
            let mut keyed: Vec<(f64, u32)> = level.iter().map(|s| (middle(s), *s)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let step = width / to_f64(level.len().max(1));
            for (i, (slot, (_, s))) in level.iter_mut().zip(keyed).enumerate() {
                *slot = s;
                x.insert(s, step * (to_f64(i) + 0.5));
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
                    x: x[s],
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
fn hosts_space(hosts: &BTreeMap<u32, Vec<u32>>, draw_hosts: bool) -> f64 {
    if !draw_hosts {
        return 0.0;
    }
    hosts
        .values()
        .map(|h| hosts_height(h.len()))
        .fold(0.0, f64::max)
}

/// All switches in one level (rings, tori, meshes): a circle.
fn circle(switches: &[u32], hosts: &BTreeMap<u32, Vec<u32>>, draw_hosts: bool) -> Layout {
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

fn links(snapshot: &Snapshot, layout: &Layout, out: &mut impl Write) -> fmt::Result {
    let mut bundles: BTreeMap<(u32, u32), Vec<String>> = BTreeMap::new();
    for link in snapshot.links() {
        let a = link.a.node().min(link.b.node());
        let b = link.a.node().max(link.b.node());
        if a != b && layout.at.contains_key(&a) && layout.at.contains_key(&b) {
            let rate = snapshot.reported_link(*link).to_string();
            bundles.entry((a, b)).or_default().push(rate);
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
            escape(&snapshot.node(a).name()),
            escape(&snapshot.node(b).name()),
            rates.len(),
            escape(&rates[0]),
        )?;
    }
    Ok(())
}

fn switch(
    snapshot: &Snapshot,
    node: u32,
    at: Point,
    hosts: &[u32],
    draw_hosts: bool,
    out: &mut impl Write,
) -> fmt::Result {
    let n = snapshot.node(node);
    let x = at.x - BOX_W / 2.0;
    let y = at.y - BOX_H / 2.0;
    writeln!(
        out,
        "<rect class=\"s\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BOX_W}\" height=\"{BOX_H}\" rx=\"3\">\
         <title>{} {}</title></rect>",
        escape(&n.name()),
        n.guid
    )?;
    let port0 = PortIdx::new(node, PortNum::ZERO);
    let lid = snapshot.reported_lid_owner(port0).lid;
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
        host(snapshot, *h, position, hosts.len() <= NAMES_MAX, out)?;
    }
    Ok(())
}

fn host(
    snapshot: &Snapshot,
    node: u32,
    at: Point,
    with_name: bool,
    out: &mut impl Write,
) -> fmt::Result {
    let n = snapshot.node(node);
    let lids = super::lids(snapshot, node);
    let lids = lids.map_or_else(String::new, |lids| format!(", LID {lids}"));
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
    use crate::offline::spec::{observed, snapshot};
    use ferrosm_sim::generate::from_spec;

    fn image(shape: &str) -> String {
        let mut text = String::new();
        let fabric = observed(&from_spec(shape).unwrap());
        render(&snapshot(&fabric, None, None), &mut text).unwrap();
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
        render(&snapshot(&observed(&spec), None, None), &mut text).unwrap();
        assert!(text.contains("a&lt;b&amp;c"));
        assert_eq!(text.matches("<line").count(), 1);
    }
}
