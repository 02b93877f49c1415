//! Captures of MADs, and what the service always keeps for bug reports.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// `max_mib` of a capture that has none.
pub const CAPTURE_MIB_DEFAULT: u32 = 256;
/// Largest `max_mib`.
pub const CAPTURE_MIB_MAX: u32 = 65_536;
/// Longest name of a capture, in bytes.
pub const CAPTURE_NAME_MAX: usize = 100;

/// The query that starts a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CaptureQuery {
    /// Name of the file in the directory `captures` of the state directory: letters, digits, `.`,
    /// `-` and `_`. With the time if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 100, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]*$")]
    pub file: Option<String>,
    /// The capture ends at this size, in MiB; 256 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 65_536)]
    pub max_mib: Option<u32>,
    /// Why, for the audit log; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// The query that ends a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CaptureStopQuery {
    /// Why, for the audit log; at most 500 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(max_length = 500)]
    pub reason: Option<String>,
}

/// The capture on demand, and the rings that are always on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Captures {
    /// The capture that runs, or the last one; none since the start of the service if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Capture>,
    /// The rings; absent if `files.rings-mib` is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<RingFiles>,
}

/// A capture of all MADs of the local port on QP0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Capture {
    /// Its file, in pcapng format.
    pub file: String,
    /// It continues.
    pub is_running: bool,
    /// When it began, in UTC (RFC 3339).
    pub started_at: String,
    /// MADs in the file.
    pub packets: u64,
    /// Size of the file.
    pub bytes: u64,
    /// It ends at this size.
    pub max_bytes: u64,
    /// MADs that are missing, because the disk was too slow.
    pub dropped: u64,
    /// Why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// The rings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RingFiles {
    /// Their directory.
    pub dir: String,
    /// Most bytes of all their files.
    pub limit_bytes: u64,
    /// Bytes of MADs.
    pub mad_bytes: u64,
    /// MADs since the start of the service that are missing, because the disk was too slow or full.
    pub dropped: u64,
    /// The recording of the SM's inputs since its start, for `ferrosm replay`.
    pub recording: Recording,
}

/// A recording of the SM's inputs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Recording {
    /// Its file, compressed; empty before the SM has started.
    pub file: String,
    /// When it began, in UTC (RFC 3339).
    pub began_at: String,
    /// Size of the file.
    pub bytes: u64,
    /// Why it ended before the run did. What is in the file can be replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}
