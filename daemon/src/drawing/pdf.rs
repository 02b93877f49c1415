//! A picture as PDF 1.4: one page, with the fonts that every reader has.

use core::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::picture::{Color, DrawnPoint, PAGE_HEIGHT, PAGE_WIDTH, Picture, Shape, TextAnchor};
use super::picture::{control_point, text_width};

/// Width of A4 in landscape, in points.
const PAPER_WIDTH: f64 = 841.89;
/// A circle as four Bezier curves: distance of control points, in radii.
const CIRCLE: f64 = 0.5523;

/// Renders a picture.
pub(super) fn render(picture: &Picture) -> Vec<u8> {
    let scale = PAPER_WIDTH / PAGE_WIDTH;
    let mut page = format!("{scale:.5} 0 0 {scale:.5} 0 0 cm\n");
    for shape in &picture.shapes {
        write_shape(&mut page, shape);
    }
    let content = compressed(page.as_bytes());
    let paper_height = PAGE_HEIGHT * scale;
    let font = |name: &str| {
        format!("<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>")
    };
    let objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {PAPER_WIDTH:.2} {paper_height:.2}] /Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>").into_bytes(),
        [
            format!("<< /Length {} /Filter /FlateDecode >>\nstream\n", content.len()).as_bytes(),
            &content,
            b"\nendstream",
        ]
        .concat(),
        font("Helvetica").into_bytes(),
        font("Helvetica-Bold").into_bytes(),
        [b"<< /Producer (ferrosm) /Title (", &win_ansi(&picture.title)[..], b") >>"].concat(),
    ];
    let mut out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut offsets = Vec::new();
    for (i, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        out.extend_from_slice(format!("{} 0 obj\n", i + 1).as_bytes());
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let start = out.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1);
    for offset in offsets {
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{offset:010} 00000 n ");
    }
    let _ = write!(
        table,
        "trailer\n<< /Size {} /Root 1 0 R /Info {} 0 R >>\nstartxref\n{start}\n%%EOF\n",
        objects.len() + 1,
        objects.len()
    );
    out.extend_from_slice(table.as_bytes());
    out
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
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
            tooltip: _,
        } => {
            let control = control_point(*from, *to, *bow);
            // A quadratic curve as a cubic one.
            let towards = |end: &DrawnPoint| {
                coordinates(DrawnPoint {
                    x: end.x + (control.x - end.x) * 2.0 / 3.0,
                    y: end.y + (control.y - end.y) * 2.0 / 3.0,
                })
            };
            let color = rgb(*color);
            let start = coordinates(*from);
            let end = coordinates(*to);
            let _ = write!(out, "{color} RG {width:.2} w {start} m ");
            match *bow == 0.0 {
                true => writeln!(out, "{end} l S"),
                false => writeln!(out, "{} {} {end} c S", towards(from), towards(to)),
            }
        }
        Shape::Rectangle {
            center,
            width,
            height,
            color,
            tooltip: _,
        } => {
            let corner = coordinates(DrawnPoint {
                x: center.x - width / 2.0,
                y: center.y + height / 2.0,
            });
            let color = rgb(*color);
            writeln!(out, "{color} rg {corner} {width:.2} {height:.2} re f")
        }
        Shape::Circle {
            center,
            radius,
            color,
            tooltip: _,
        } => {
            let at = |dx: f64, dy: f64| {
                coordinates(DrawnPoint {
                    x: center.x + dx * radius,
                    y: center.y + dy * radius,
                })
            };
            let quarters = [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)];
            let _ = write!(out, "{} rg {} m", rgb(*color), at(1.0, 0.0));
            for (x, y) in quarters {
                let first = at(x - y * CIRCLE, y + x * CIRCLE);
                let second = at(-y + x * CIRCLE, x + y * CIRCLE);
                let _ = write!(out, " {first} {second} {} c", at(-y, x));
            }
            writeln!(out, " f")
        }
        Shape::Text {
            at,
            text,
            size,
            color,
            anchor,
            is_bold,
        } => {
            let font = if *is_bold { "F2" } else { "F1" };
            let width = text_width(text, *size);
            let (matrix, x, y) = match anchor {
                TextAnchor::Start => ("1 0 0 1", at.x, at.y),
                TextAnchor::Middle => ("1 0 0 1", at.x - width / 2.0, at.y),
                TextAnchor::TurnedEnd => ("0 1 -1 0", at.x, at.y + width),
            };
            let position = coordinates(DrawnPoint { x, y });
            let _ = write!(
                out,
                "BT {} rg /{font} {size:.1} Tf {matrix} {position} Tm <",
                rgb(*color)
            );
            for byte in win_ansi_bytes(text) {
                let _ = write!(out, "{byte:02x}");
            }
            writeln!(out, "> Tj ET")
        }
    };
}

/// In PDF, y points up.
fn coordinates(at: DrawnPoint) -> String {
    format!("{:.2} {:.2}", at.x, PAGE_HEIGHT - at.y)
}

fn rgb(color: Color) -> String {
    let [_, r, g, b] = color.0.to_be_bytes();
    let part = |byte: u8| f64::from(byte) / 255.0;
    format!("{:.3} {:.3} {:.3}", part(r), part(g), part(b))
}

/// A text in the encoding of the fonts; other characters are `?`.
fn win_ansi_bytes(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.chars().map(|c| match c {
        '…' => 0x85,
        '–' => 0x96,
        ' '..='~' | '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).unwrap_or(b'?'),
        _ => b'?',
    })
}

/// The content of a string object.
fn win_ansi(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in win_ansi_bytes(text) {
        if b"()\\".contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out
}
