//! A picture: shapes on a page, in the order in which they are drawn.

/// Width of a page.
pub(super) const PAGE_WIDTH: f64 = 1600.0;
/// Height of a page: the format of A4 in landscape.
pub(super) const PAGE_HEIGHT: f64 = 1131.0;

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Color(pub(super) u32);

/// A point on the page; y points down.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct DrawnPoint {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// Which part of a text is at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextAnchor {
    Start,
    Middle,
    /// Turned by 90 degrees: the text ends at its point, below it.
    TurnedEnd,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Line {
        from: DrawnPoint,
        to: DrawnPoint,
        /// How far its middle is beside the straight line; 0 for a straight one.
        bow: f64,
        color: Color,
        width: f64,
        tooltip: String,
    },
    /// A rectangle around a point.
    Rectangle {
        center: DrawnPoint,
        width: f64,
        height: f64,
        color: Color,
        tooltip: String,
    },
    Circle {
        center: DrawnPoint,
        radius: f64,
        color: Color,
        tooltip: String,
    },
    Text {
        at: DrawnPoint,
        text: String,
        size: f64,
        color: Color,
        anchor: TextAnchor,
        is_bold: bool,
    },
}

/// A drawing of a fabric.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    pub(super) title: String,
    pub(super) shapes: Vec<Shape>,
}

/// The control point of the quadratic curve that has its middle `bow` beside a straight line.
pub(super) fn control_point(from: DrawnPoint, to: DrawnPoint, bow: f64) -> DrawnPoint {
    let dx = to.x - from.x;
    let dy = to.y - from.y;
    let length = dx.hypot(dy).max(f64::MIN_POSITIVE);
    DrawnPoint {
        x: f64::midpoint(from.x, to.x) + 2.0 * bow * dy / length,
        y: f64::midpoint(from.y, to.y) - 2.0 * bow * dx / length,
    }
}

/// About the width of a text in a sans-serif font.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let narrow = |c: char| "iljt.,:;'|/()[]-1fI ".contains(c);
    let wide = |c: char| "mwMWOQ@%…".contains(c);
    let widths = text.chars().map(|c| match c {
        c if narrow(c) => 0.36,
        c if wide(c) => 0.86,
        _ => 0.57,
    });
    widths.sum::<f64>() * size
}
