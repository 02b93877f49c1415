//! A page of metrics, as the reference parser of OpenMetrics reads it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::process::{Launch, poll_until};
use crate::programs;
use crate::scratch::Scratch;

/// Only a broken test waits so long.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Where a service serves its metrics.
#[derive(Debug)]
pub struct Monitor {
    url: String,
    dir: Scratch,
}

/// What a page says: values by series, with labels in the order of the alphabet, such as `ferrosm_nodes{fabric="a",type="ca"}`.
#[derive(Debug)]
pub struct Page(BTreeMap<String, f64>);

impl Monitor {
    /// Waits until a service has logged where its page is.
    ///
    /// # Panics
    /// If it does not.
    pub fn of(log: impl Fn() -> String) -> Self {
        let found = poll_until(GUARD, PAUSE, || {
            let log = log();
            let mut words = log.split(|c: char| c.is_whitespace() || c == '"');
            let url = words.find(|w| w.starts_with("http://") && w.ends_with("/metrics"));
            url.map(str::to_owned).ok_or(log)
        });
        Self {
            url: found.unwrap_or_else(|log| panic!("no metrics in\n{log}")),
            dir: Scratch::new("metrics"),
        }
    }

    /// What it says now.
    ///
    /// # Panics
    /// If the page is not as OpenMetrics has it.
    #[must_use]
    pub fn page(&self) -> Page {
        let script = programs::workspace().join("tests/clients/metrics.py");
        // Debian's, which has Debian's modules.
        let read = Launch::new("/usr/bin/python3")
            .args(&[&*script.to_string_lossy(), &self.url])
            .start(self.dir.path())
            .wait(GUARD)
            .expect_success();
        let page = serde_json::from_str(&read.stdout);
        Page(page.unwrap_or_else(|e| panic!("{e}: {}", read.stdout)))
    }

    /// Waits until series have these values; `None`: until they are not there.
    ///
    /// # Panics
    /// If they do not get them.
    pub fn wait(&self, series: &[(&str, Option<f64>)]) {
        let found = poll_until(GUARD, PAUSE, || {
            let page = self.page();
            let wrong = series.iter().find(|(name, value)| page.get(name) != *value);
            wrong.map_or(Ok(()), |wrong| {
                Err(format!("{wrong:?} is not so: {page:#?}"))
            })
        });
        found.unwrap_or_else(|why| panic!("{why}"));
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
