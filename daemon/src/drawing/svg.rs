//! A picture as SVG. Tooltips are titles of its elements.

use core::fmt::Write;

use super::picture::{Color, PAGE_HEIGHT, PAGE_WIDTH, Picture, Shape, TextAnchor, control_point};

/// Renders a picture.
pub(super) fn render(picture: &Picture) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {PAGE_WIDTH} {PAGE_HEIGHT}\" width=\"{PAGE_WIDTH}\" height=\"{PAGE_HEIGHT}\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escaped(&picture.title)
    );
    for shape in &picture.shapes {
        write_shape(&mut out, shape);
    }
    out.push_str("</svg>\n");
    out
}

fn write_shape(out: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Line {
            from,
            to,
            bow,
            color,
            width,
            tooltip,
        } if *bow != 0.0 => {
            let control = control_point(*from, *to, *bow);
            write!(
                out,
                "<path d=\"M{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width:.1}\"{}",
                from.x,
                from.y,
                control.x,
                control.y,
                to.x,
                to.y,
                hex(*color),
                end("path", tooltip)
            )
        }
        Shape::Line {
            from,
            to,
            bow: _,
            color,
            width,
            tooltip,
        } => write!(
            out,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{}\" stroke-width=\"{width:.1}\"{}",
            from.x,
            from.y,
            to.x,
            to.y,
            hex(*color),
            end("line", tooltip)
        ),
        Shape::Rectangle {
            center,
            width,
            height,
            color,
            tooltip,
        } => write!(
            out,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{}\"{}",
            center.x - width / 2.0,
            center.y - height / 2.0,
            hex(*color),
            end("rect", tooltip)
        ),
        Shape::Circle {
            center,
            radius,
            color,
            tooltip,
        } => write!(
            out,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{}\"{}",
            center.x,
            center.y,
            hex(*color),
            end("circle", tooltip)
        ),
        Shape::Text {
            at,
            text,
            size,
            color,
            anchor,
            is_bold,
        } => {
            let placed = match anchor {
                TextAnchor::Start => String::new(),
                TextAnchor::Middle => " text-anchor=\"middle\"".to_owned(),
                TextAnchor::TurnedEnd => format!(
                    " text-anchor=\"end\" transform=\"rotate(-90 {:.1} {:.1})\"",
                    at.x, at.y
                ),
            };
            let weight = if *is_bold {
                " font-weight=\"bold\""
            } else {
                ""
            };
            writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size:.1}\" fill=\"{}\"{weight}{placed}>{}</text>",
                at.x,
                at.y,
                hex(*color),
                escaped(text)
            )
        }
    };
}

/// The end of an element, with its tooltip.
fn end(element: &str, tooltip: &str) -> String {
    match tooltip {
        "" => "/>\n".to_owned(),
        text => format!("><title>{}</title></{element}>\n", escaped(text)),
    }
}

fn hex(color: Color) -> String {
    format!("#{:06x}", color.0)
}

/// A text as XML. Control characters, which XML does not allow, are left out.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars().filter(|c| !c.is_control()) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}
