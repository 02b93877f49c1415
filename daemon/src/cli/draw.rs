//! Flags of `draw`.

use std::path::PathBuf;

use clap::Args;

use super::FabricSourceArgs;
use crate::drawing::{DrawingDetail, DrawingFormat};

/// Flags of `draw`.
#[derive(Debug, Clone, Args)]
pub struct DrawArgs {
    /// Format of the drawing [default: that of the file's extension, otherwise svg].
    #[arg(long, value_enum)]
    pub format: Option<DrawingFormat>,
    /// What a box stands for [default: a switch if there are at most 60 (2,500 in a grid),
    /// otherwise a group].
    #[arg(long, value_enum)]
    pub level: Option<DrawingDetail>,
    /// What is drawn strongly: `alarms`, `load` (routes over each link), or `path A B`. Without it,
    /// what is down, degraded or in maintenance.
    #[arg(long, num_args = 1..=3, value_names = ["WHAT", "A", "B"])]
    pub highlight: Vec<String>,
    /// File for the drawing [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The fabric.
    #[command(flatten)]
    pub fabric: FabricSourceArgs,
}

/// What is drawn strongly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HighlightKind {
    /// What is not up.
    States,
    /// Nodes and links with alarms.
    Alarms,
    /// Routes over each link.
    Load,
    /// The path between two ports.
    Path { from: String, to: String },
}

impl DrawArgs {
    /// The format of the drawing.
    #[must_use]
    pub fn format(&self) -> DrawingFormat {
        let extension = self.output.as_deref().and_then(|file| file.extension());
        let by_extension = extension.and_then(|extension| match extension.to_str()? {
            "pdf" => Some(DrawingFormat::Pdf),
            "html" | "htm" => Some(DrawingFormat::Html),
            _ => None,
        });
        self.format.or(by_extension).unwrap_or(DrawingFormat::Svg)
    }

    /// What is drawn strongly.
    ///
    /// # Errors
    /// A message for the operator, if it is none of these.
    pub fn highlight(&self) -> Result<HighlightKind, String> {
        let words: Vec<&str> = self.highlight.iter().map(String::as_str).collect();
        match words[..] {
            [] => Ok(HighlightKind::States),
            ["alarms"] => Ok(HighlightKind::Alarms),
            ["load"] => Ok(HighlightKind::Load),
            ["path", from, to] => Ok(HighlightKind::Path {
                from: from.to_owned(),
                to: to.to_owned(),
            }),
            _ => Err("--highlight is `alarms`, `load` or `path A B`".to_owned()),
        }
    }
}
