//! Metrics pages, parsed by the reference parser of OpenMetrics (Python).

use std::collections::BTreeMap;
use std::time::Duration;

use crate::programs::paths;
use crate::programs::process::{Launch, poll_until};
use crate::programs::scratch::Scratch;

/// Timeout for all operations; only a failing test reaches it.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The metrics endpoint of a service.
#[derive(Debug)]
pub struct MetricsEndpoint {
    url: String,
    dir: Scratch,
}

/// Values of a page by series, with labels in alphabetical order, such as
/// `ferrosm_nodes{type="ca"}`.
#[derive(Debug)]
pub struct Page(BTreeMap<String, f64>);

impl MetricsEndpoint {
    /// Waits until a service has logged the URL of its metrics.
    ///
    /// # Panics
    /// On timeout.
    pub fn from_log(log: impl Fn() -> String) -> Self {
        let outcome = poll_until(TIMEOUT, POLL_INTERVAL, || {
            let log = log();
            let mut words = log.split(|c: char| c.is_whitespace() || c == '"');
            let url = words.find(|w| w.starts_with("http://") && w.ends_with("/metrics"));
            url.map(str::to_owned).ok_or(log)
        });
        Self {
            url: outcome.unwrap_or_else(|log| panic!("no metrics URL in the log:\n{log}")),
            dir: Scratch::new("metrics"),
        }
    }

    /// Reads the current page.
    ///
    /// # Panics
    /// If the page is not valid OpenMetrics.
    #[must_use]
    pub fn page(&self) -> Page {
        let script = paths::workspace().join("tests/clients/metrics.py");
        // Debian's Python, which finds the modules of Debian packages.
        let read = Launch::new("/usr/bin/python3")
            .args(&[&*script.to_string_lossy(), &self.url])
            .start(self.dir.path())
            .wait(TIMEOUT)
            .expect_success();
        let page = serde_json::from_str(&read.stdout);
        Page(page.unwrap_or_else(|e| panic!("{e}: {}", read.stdout)))
    }

    /// Waits until series have these values; `None` means that a series does not exist.
    ///
    /// # Panics
    /// On timeout.
    pub fn wait_for(&self, series: &[(&str, Option<f64>)]) {
        let outcome = poll_until(TIMEOUT, POLL_INTERVAL, || {
            let page = self.page();
            let different = series.iter().find(|(name, value)| page.get(name) != *value);
            different.map_or(Ok(()), |expected| {
                Err(format!("expected {expected:?}, found {page:#?}"))
            })
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }
}

impl Page {
    /// The value of a series.
    #[must_use]
    pub fn get(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// All series.
    pub fn series(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}
