//! Flags of `bugreport`.

use core::time::Duration;
use std::path::PathBuf;

use clap::Args;

use super::ServiceDirArgs;
use super::time::parse_since;

/// Flags of `bugreport`.
#[derive(Debug, Clone, Args)]
pub struct BugreportArgs {
    /// How much of events, changes and MADs to pack.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = parse_since)]
    pub since: Duration,
    /// Replace GUIDs, GIDs and names by pseudonyms. Captures and the recording, which contain them
    /// in binary form, are left out.
    #[arg(long)]
    pub anonymize: bool,
    /// The archive [default: ferrosm-bugreport-TIME.tar.gz].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
}
