//! The shapes of a drawing: colours, sizes, names and the legend. Problems are also wider, so that
//! colour is not the only sign.

use std::collections::BTreeSet;

use ferrosm_api::fabric::{LinkState, NodeKind, Presence};
use ferrosm_api::structure::LinkLoad;

use super::boxes::{Boxes, LinkBundle, SwitchBox};
use super::labels::short_labels;
use super::layout::{Layout, real};
use super::picture::{Color, DrawnPoint, PAGE_HEIGHT, Picture, Shape, TextAnchor, text_width};
use super::{Highlight, links_by_port};
use crate::whole_fabric::FabricIndex;

// The colours of the page in a browser.
const TEXT: Color = Color(0x001b_1f24);
const MUTED: Color = Color(0x0055_606c);
const BACKGROUND: Color = Color(0x00ff_ffff);
const SWITCH: Color = Color(0x003b_5b8c);
const HOST: Color = Color(0x008f_a6c4);
const GROUP: Color = Color(0x002f_4a75);
const LINK: Color = Color(0x009a_a7b5);
const LINK_OF_MANY: Color = Color(0x00d0_d7de);
const FAINT: Color = Color(0x00e6_eaee);
const FAINT_NODE: Color = Color(0x00cc_d3db);
const BAD: Color = Color(0x00c8_1e1e);
const WARN: Color = Color(0x00b4_5309);
const MAINTENANCE: Color = Color(0x006d_28d9);
const PATH: Color = Color(0x000f_766e);
const SCALE: [Color; 5] = [
    Color(0x00cb_d5e1),
    Color(0x008f_b4d9),
    Color(0x004f_8fc4),
    Color(0x00c9_761a),
    Color(0x00b9_1c1c),
];

/// Bounds of the colours of load, as multiples of the mean.
const LOAD_STEPS: [f64; 4] = [0.5, 0.9, 1.1, 1.5];
/// Bundles above which links that are up are drawn faintly.
const BUNDLES_DRAWN_STRONGLY_MAX: usize = 600;
/// Size of names.
const NAME_SIZE: f64 = 11.0;
/// Longest label, in characters.
const LABEL_LENGTH: usize = 22;
/// Height of a box with its name inside.
const GROUP_HEIGHT: f64 = 62.0;
/// Hosts up to which their names are drawn.
const HOSTS_NAMED_MAX: usize = 100;

/// How a node or bundle is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stroke {
    color: Color,
    width: f64,
    /// Above all others.
    is_on_top: bool,
}

/// Draws boxes at their places.
pub(super) fn paint(
    index: &FabricIndex<'_>,
    boxes: &Boxes,
    layout: &Layout,
    highlight: &Highlight,
) -> Picture {
    let painter = Painter::new(index, boxes, layout, highlight);
    let mut shapes = Vec::new();
    painter.hosts(&mut shapes);
    painter.bundles(&mut shapes);
    painter.boxes(&mut shapes);
    painter.names(&mut shapes);
    painter.title(&mut shapes);
    painter.legend(&mut shapes);
    Picture {
        title: painter.heading(),
        shapes,
    }
}

struct Painter<'a> {
    index: &'a FabricIndex<'a>,
    boxes: &'a Boxes,
    layout: &'a Layout,
    highlight: &'a Highlight,
    /// Routes over each link, in the direction with more.
    routes: Vec<u64>,
    mean_load: f64,
    /// Half the width of a box of one switch.
    radius: f64,
}

impl<'a> Painter<'a> {
    fn new(
        index: &'a FabricIndex<'a>,
        boxes: &'a Boxes,
        layout: &'a Layout,
        highlight: &'a Highlight,
    ) -> Self {
        let (routes, mean_load) = match highlight {
            Highlight::Load(load) => loads(index, load),
            Highlight::States
            | Highlight::Unmarked
            | Highlight::Alarms { .. }
            | Highlight::Path { .. } => (Vec::new(), 0.0),
        };
        Self {
            index,
            boxes,
            layout,
            highlight,
            routes,
            mean_load,
            radius: (layout.spacing * 0.3).clamp(0.6, 11.0),
        }
    }

    fn hosts(&self, shapes: &mut Vec<Shape>) {
        let radius = (self.layout.host_spacing * 0.32).clamp(0.5, 5.0);
        let mut lines = Vec::new();
        let mut dots = Vec::new();
        for (host, at) in &self.layout.hosts {
            let link = self.index.links_of(*host).first();
            let home = self.layout.boxes[self.boxes.box_of[host]];
            let strokes = link.map(|link| self.stroke_of_links(&[*link]));
            let is_far = (home.y - at.y).abs() > 20.0 || self.layout.room_below == 0.0;
            let strong = strokes.filter(|stroke| is_far || stroke.is_on_top);
            if let Some(stroke) = strong {
                lines.push(Shape::Line {
                    from: home,
                    to: *at,
                    bow: 0.0,
                    color: if stroke.is_on_top {
                        stroke.color
                    } else {
                        FAINT
                    },
                    width: if stroke.is_on_top { 2.0 } else { 0.5 },
                    tooltip: String::new(),
                });
            }
            dots.push(Shape::Circle {
                center: *at,
                radius,
                color: self.node_color(&[*host], HOST),
                tooltip: self.index.name(*host).to_owned(),
            });
        }
        shapes.extend(lines);
        shapes.extend(dots);
    }

    fn bundles(&self, shapes: &mut Vec<Shape>) {
        let bundles = self.boxes.bundles.iter();
        let mut strokes: Vec<(Stroke, &LinkBundle)> = bundles
            .map(|bundle| (self.stroke_of_links(&bundle.links), bundle))
            .collect();
        strokes.sort_by_key(|(stroke, _)| stroke.is_on_top);
        for (stroke, bundle) in strokes {
            let [from, to] = bundle.ends.map(|end| self.layout.boxes[end]);
            shapes.push(Shape::Line {
                from,
                to,
                bow: self.bow(from, to),
                color: stroke.color,
                width: stroke.width,
                tooltip: self.bundle_text(bundle),
            });
        }
    }

    /// In a grid, links that pass by boxes are curves beside them: those that close a ring, and
    /// those of full meshes.
    fn bow(&self, from: DrawnPoint, to: DrawnPoint) -> f64 {
        let dx = (to.x - from.x).abs();
        let dy = (to.y - from.y).abs();
        let is_along = dx < 0.5 || dy < 0.5;
        let passes = |at: &&DrawnPoint| {
            let is_between = |a: f64, b: f64, x: f64| x > a.min(b) + 0.5 && x < a.max(b) - 0.5;
            if dx < 0.5 {
                (at.x - from.x).abs() < 0.5 && is_between(from.y, to.y, at.y)
            } else {
                (at.y - from.y).abs() < 0.5 && is_between(from.x, to.x, at.x)
            }
        };
        let is_curve =
            self.layout.is_grid && is_along && self.layout.boxes.iter().any(|at| passes(&at));
        match is_curve {
            true => (0.25 * self.layout.spacing).min(0.08 * dx.max(dy)),
            false => 0.0,
        }
    }

    fn boxes(&self, shapes: &mut Vec<Shape>) {
        for (own, center) in self.boxes.boxes.iter().zip(&self.layout.boxes) {
            let is_switch = self.index.is_switch(own.nodes[0]);
            let tooltip = self.box_text(own);
            if !is_switch {
                shapes.push(Shape::Circle {
                    center: *center,
                    radius: self.radius,
                    color: self.node_color(&own.nodes, HOST),
                    tooltip,
                });
                continue;
            }
            let usual = if own.nodes.len() > 1 { GROUP } else { SWITCH };
            let (width, height) = self.size(own);
            shapes.push(Shape::Rectangle {
                center: *center,
                width,
                height,
                color: self.node_color(&own.nodes, usual),
                tooltip,
            });
        }
    }

    /// Width and height of a box.
    fn size(&self, own: &SwitchBox) -> (f64, f64) {
        let is_named_inside = self.boxes.is_grouped && self.layout.spacing > 60.0;
        match own.nodes.len() {
            1 if !is_named_inside => (2.0 * self.radius, 2.0 * self.radius),
            _ if is_named_inside => ((self.layout.spacing * 0.86).min(190.0), GROUP_HEIGHT),
            _ => {
                let side = (self.layout.spacing * 0.6).clamp(3.0, 30.0);
                (side, side)
            }
        }
    }

    fn names(&self, shapes: &mut Vec<Shape>) {
        let whole: Vec<&str> = self
            .boxes
            .boxes
            .iter()
            .map(|own| self.box_name(own))
            .collect();
        let in_room = self.layout.room_below - 24.0;
        let length = (1..LABEL_LENGTH)
            .rev()
            .find(|length| real(*length) * 6.3 < in_room);
        let usual = short_labels(&whole, LABEL_LENGTH);
        let is_turned = |labels: &[String]| {
            let widths = labels.iter().map(|label| text_width(label, NAME_SIZE));
            self.layout.room_below > 0.0 && widths.fold(0.0, f64::max) + 6.0 >= self.layout.spacing
        };
        let labels = match length {
            Some(length) if is_turned(&usual) => short_labels(&whole, length),
            Some(_) | None => usual,
        };
        let widest = labels
            .iter()
            .map(|label| text_width(label, NAME_SIZE))
            .fold(0.0, f64::max);
        let spacing = self.layout.spacing;
        for ((own, at), label) in self.boxes.boxes.iter().zip(&self.layout.boxes).zip(&labels) {
            let (width, height) = self.size(own);
            if height >= GROUP_HEIGHT {
                let room = width - 8.0;
                let title = fitting(label, room, 13.0);
                let counts = own.counts().replace(" other switches", " others");
                let lines = lines_fitting(&counts, room, NAME_SIZE);
                let top = at.y + 4.0 - 6.5 * real(lines.len());
                shapes.push(text(
                    at.x,
                    top,
                    &title,
                    13.0,
                    BACKGROUND,
                    TextAnchor::Middle,
                    true,
                ));
                for (i, line) in lines.iter().enumerate() {
                    let y = top + 14.0 + 13.0 * real(i);
                    shapes.push(text(
                        at.x,
                        y,
                        line,
                        NAME_SIZE,
                        BACKGROUND,
                        TextAnchor::Middle,
                        false,
                    ));
                }
                continue;
            }
            if spacing > widest + 6.0 {
                let y = at.y + self.radius + NAME_SIZE + 2.0;
                shapes.push(halo(at.x, y, label, NAME_SIZE));
                shapes.push(text(
                    at.x,
                    y,
                    label,
                    NAME_SIZE,
                    TEXT,
                    TextAnchor::Middle,
                    false,
                ));
                if !self.boxes.draws_hosts && !own.hosts.is_empty() {
                    let y = y + NAME_SIZE + 2.0;
                    shapes.push(text(
                        at.x,
                        y,
                        &own.counts(),
                        10.0,
                        MUTED,
                        TextAnchor::Middle,
                        false,
                    ));
                }
            } else if self.layout.room_below > 0.0 && spacing > NAME_SIZE * 0.8 {
                let size = NAME_SIZE.min(spacing * 0.9);
                let at = DrawnPoint {
                    x: at.x + size * 0.35,
                    y: at.y + self.radius + 4.0,
                };
                shapes.push(turned_halo(at, label, size));
                shapes.push(text(
                    at.x,
                    at.y,
                    label,
                    size,
                    TEXT,
                    TextAnchor::TurnedEnd,
                    false,
                ));
            }
        }
        self.host_names(shapes);
    }

    /// Names of hosts, if there are few; those on a path always.
    fn host_names(&self, shapes: &mut Vec<Shape>) {
        let Highlight::Path { nodes, .. } = self.highlight else {
            if self.layout.hosts.len() <= HOSTS_NAMED_MAX && self.layout.host_spacing > 8.0 {
                self.names_of(shapes, &|_| true);
            }
            return;
        };
        let on_path = |host: usize| nodes.contains(&self.index.fabric.nodes[host].guid);
        self.names_of(shapes, &on_path);
    }

    fn names_of(&self, shapes: &mut Vec<Shape>, is_named: &dyn Fn(usize) -> bool) {
        let hosts: Vec<usize> = self.layout.hosts.keys().copied().collect();
        let whole: Vec<&str> = hosts.iter().map(|host| self.index.name(*host)).collect();
        let labels = short_labels(&whole, LABEL_LENGTH);
        for (host, label) in hosts
            .into_iter()
            .zip(labels)
            .filter(|(host, _)| is_named(*host))
        {
            let at = self.layout.hosts[&host];
            let is_row = self.layout.room_below > 0.0;
            if !is_row {
                let y = at.y + 14.0;
                shapes.push(text(at.x, y, &label, 9.0, MUTED, TextAnchor::Middle, false));
                continue;
            }
            // Beside the host, if there is room.
            let room = text_width(&label, 9.0) + 12.0;
            let is_near = |other: &DrawnPoint| {
                other.x > at.x && other.x < at.x + room && (other.y - at.y).abs() < 1.0
            };
            let is_crowded = self.layout.hosts.values().any(is_near);
            if is_crowded && !matches!(self.highlight, Highlight::Path { .. }) {
                continue;
            }
            shapes.push(text(
                at.x + 8.0,
                at.y + 3.0,
                &label,
                9.0,
                MUTED,
                TextAnchor::Start,
                false,
            ));
        }
    }

    fn heading(&self) -> String {
        let nodes = &self.index.fabric.nodes;
        let switches = nodes
            .iter()
            .filter(|node| node.kind == NodeKind::Switch)
            .count();
        let hosts = (0..nodes.len())
            .filter(|node| self.index.is_host(*node))
            .count();
        let links = self.index.fabric.links.len();
        format!(
            "{}: {switches} switches, {hosts} hosts, {links} links",
            self.index.fabric.structure.summary
        )
    }

    fn title(&self, shapes: &mut Vec<Shape>) {
        let title = match self.highlight {
            Highlight::States | Highlight::Unmarked => "Fabric".to_owned(),
            Highlight::Alarms { .. } => "Fabric: nodes and links with alarms".to_owned(),
            Highlight::Load(_) => "Fabric: routes over each link".to_owned(),
            Highlight::Path { title, .. } => title.clone(),
        };
        shapes.push(text(
            30.0,
            44.0,
            &title,
            24.0,
            TEXT,
            TextAnchor::Start,
            true,
        ));
        shapes.push(text(
            30.0,
            70.0,
            &self.heading(),
            14.0,
            MUTED,
            TextAnchor::Start,
            false,
        ));
    }

    fn legend(&self, shapes: &mut Vec<Shape>) {
        let (items, note) = self.legend_texts();
        let y = PAGE_HEIGHT - 30.0;
        let mut x = 30.0;
        for (color, item) in items {
            shapes.push(Shape::Rectangle {
                center: DrawnPoint {
                    x: x + 6.0,
                    y: y - 4.0,
                },
                width: 12.0,
                height: 12.0,
                color,
                tooltip: String::new(),
            });
            shapes.push(text(
                x + 18.0,
                y,
                &item,
                12.0,
                TEXT,
                TextAnchor::Start,
                false,
            ));
            x += 18.0 + text_width(&item, 12.0) + 24.0;
        }
        shapes.push(text(x, y, &note, 12.0, MUTED, TextAnchor::Start, false));
    }

    fn legend_texts(&self) -> (Vec<(Color, String)>, String) {
        let mut items: Vec<(Color, String)> = Vec::new();
        let mut add = |color, text: &str| items.push((color, text.to_owned()));
        match self.highlight {
            Highlight::States | Highlight::Unmarked => {
                match self.boxes.is_grouped {
                    true => add(GROUP, "group of switches"),
                    false => add(SWITCH, "switch"),
                }
                if self.boxes.draws_hosts {
                    add(HOST, "host");
                }
                if matches!(self.highlight, Highlight::States) {
                    add(BAD, "down or absent");
                    add(WARN, "not Active, or degraded");
                    add(MAINTENANCE, "in maintenance");
                }
            }
            Highlight::Alarms { .. } => {
                add(FAINT_NODE, "no alarm");
                add(BAD, "alarm");
            }
            Highlight::Load(load) => {
                let bounds = LOAD_STEPS.map(|step| step * self.mean_load);
                add(
                    SCALE[0],
                    &format!("fewer than {:.0} routes", bounds[0].ceil()),
                );
                for (i, from) in bounds.iter().enumerate() {
                    add(SCALE[i + 1], &format!("from {:.0}", from.ceil()));
                }
                let note = format!(
                    "mean {:.0}, busiest link {} routes",
                    self.mean_load, load.busiest
                );
                return (items, note);
            }
            Highlight::Path { .. } => add(PATH, "path"),
        }
        let note = match self.boxes.is_grouped {
            true => "--level switches draws each switch",
            false => "",
        };
        (items, note.to_owned())
    }

    fn node_color(&self, nodes: &[usize], usual: Color) -> Color {
        let has = |guids: &BTreeSet<String>| {
            nodes
                .iter()
                .any(|node| guids.contains(&self.index.fabric.nodes[*node].guid))
        };
        match self.highlight {
            Highlight::States | Highlight::Unmarked | Highlight::Load(_) => {
                let is_absent =
                    |node: &usize| self.index.fabric.nodes[*node].state == Presence::Absent;
                if nodes.iter().any(is_absent) {
                    BAD
                } else {
                    usual
                }
            }
            Highlight::Alarms { nodes, .. } if has(nodes) => BAD,
            Highlight::Path { nodes, .. } if has(nodes) => PATH,
            Highlight::Alarms { .. } | Highlight::Path { .. } => FAINT_NODE,
        }
    }

    fn stroke_of_links(&self, links: &[usize]) -> Stroke {
        let is_many = self.boxes.bundles.len() > BUNDLES_DRAWN_STRONGLY_MAX;
        let thinning = if is_many { 0.4 } else { 1.0 };
        let thick = (1.0 + real(links.len()).log2() * 0.5).min(5.0) * thinning;
        let strong = |color| Stroke {
            color,
            width: thick + 1.5,
            is_on_top: true,
        };
        let faint = Stroke {
            color: FAINT,
            width: thick.min(0.8),
            is_on_top: false,
        };
        let up = Stroke {
            color: if is_many { LINK_OF_MANY } else { LINK },
            width: thick,
            is_on_top: false,
        };
        match self.highlight {
            Highlight::Path { links: marked, .. } => {
                match links.iter().any(|link| marked.contains(link)) {
                    true => strong(PATH),
                    false => faint,
                }
            }
            Highlight::Alarms { links: marked, .. } => {
                match links.iter().any(|link| marked.contains(link)) {
                    true => strong(BAD),
                    false => faint,
                }
            }
            Highlight::Load(_) => {
                let routes = links
                    .iter()
                    .map(|link| self.routes[*link])
                    .max()
                    .unwrap_or(0);
                #[allow(clippy::cast_precision_loss, reason = "a number of routes")]
                let is_from = |step: &&f64| routes as f64 >= **step * self.mean_load;
                let step = LOAD_STEPS.iter().filter(is_from).count();
                let wider = real(step) * 0.6;
                Stroke {
                    color: SCALE[step],
                    width: (0.8 + wider) * if is_many { 0.5 } else { 1.0 },
                    is_on_top: step > 2,
                }
            }
            Highlight::Unmarked => up,
            Highlight::States => {
                let links = || links.iter().map(|link| &self.index.fabric.links[*link]);
                if links().any(|link| link.maintenance.is_some()) {
                    strong(MAINTENANCE)
                } else if links().any(|link| link.state == LinkState::Down) {
                    strong(BAD)
                } else if links().any(|link| link.state != LinkState::Up) {
                    strong(WARN)
                } else {
                    up
                }
            }
        }
    }

    fn box_name<'b>(&'b self, own: &'b SwitchBox) -> &'b str {
        match own.nodes.len() {
            1 => self.index.name(own.nodes[0]),
            _ => &own.group_name,
        }
    }

    fn box_text(&self, own: &SwitchBox) -> String {
        let counts = own.counts();
        let name = self.box_name(own);
        match counts.is_empty() {
            true => name.to_owned(),
            false => format!("{name}: {counts}"),
        }
    }

    fn bundle_text(&self, bundle: &LinkBundle) -> String {
        if let [link] = bundle.links[..] {
            let link = &self.index.fabric.links[link];
            let rate = if link.rate.is_empty() { "" } else { ", " };
            let [a, b] = [&link.a, &link.b].map(ferrosm_api::fabric::LinkEnd::location);
            return format!("{a} – {b}: {}{rate}{}", link.state.name(), link.rate);
        }
        let [a, b] = bundle.ends.map(|end| self.box_name(&self.boxes.boxes[end]));
        format!("{a} – {b}: {} links", bundle.links.len())
    }
}

/// Routes over each link, in the direction with more, and the mean over directions.
fn loads(index: &FabricIndex<'_>, load: &LinkLoad) -> (Vec<u64>, f64) {
    let links = links_by_port(index.fabric);
    let mut routes = vec![0; index.fabric.links.len()];
    for item in &load.items {
        if let Some(link) = links.get(&(item.guid.as_str(), item.port)) {
            routes[*link] = routes[*link].max(item.routes);
        }
    }
    #[allow(clippy::cast_precision_loss, reason = "a number of routes")]
    let mean = load.total as f64 / load.items.len().max(1) as f64;
    (routes, mean)
}

fn text(
    x: f64,
    y: f64,
    text: &str,
    size: f64,
    color: Color,
    anchor: TextAnchor,
    is_bold: bool,
) -> Shape {
    Shape::Text {
        at: DrawnPoint { x, y },
        text: text.to_owned(),
        size,
        color,
        anchor,
        is_bold,
    }
}

/// What makes a name readable above lines.
fn halo(x: f64, y: f64, text: &str, size: f64) -> Shape {
    Shape::Rectangle {
        center: DrawnPoint {
            x,
            y: y - size * 0.35,
        },
        width: text_width(text, size) + 4.0,
        height: size + 2.0,
        color: BACKGROUND,
        tooltip: String::new(),
    }
}

fn turned_halo(at: DrawnPoint, text: &str, size: f64) -> Shape {
    let length = text_width(text, size);
    Shape::Rectangle {
        center: DrawnPoint {
            x: at.x - size * 0.35,
            y: at.y + length / 2.0,
        },
        width: size,
        height: length + 2.0,
        color: BACKGROUND,
        tooltip: String::new(),
    }
}

/// A text without its end, if it is too wide.
fn fitting(text: &str, room: f64, size: f64) -> String {
    if text_width(text, size) <= room {
        return text.to_owned();
    }
    let mut out = text.to_owned();
    while !out.is_empty() && text_width(&out, size) + size * 0.86 > room {
        out.pop();
    }
    out + "…"
}

/// A text in lines, broken at commas.
fn lines_fitting(text: &str, room: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in text.split(", ").filter(|part| !part.is_empty()) {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(part, size) + size <= room => {
                line.push_str(", ");
                line.push_str(part);
            }
            Some(_) | None => lines.push(fitting(part, room, size)),
        }
    }
    lines
}
