//! A service on a simulated fabric, for one test.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::harness::{program, run_ferrosm};

pub(crate) struct Demo {
    child: Child,
    state_dir: String,
}

impl Demo {
    /// Starts it, and waits until the subnet is up.
    pub(crate) fn start(fabric: &str) -> Self {
        let mut child = program(&["demo", fabric])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let line = lines
            .find(|line| line.contains("ferrosm status --state-dir "))
            .unwrap();
        let dir = line.split("--state-dir ").nth(1).unwrap();
        let state_dir = dir.trim().trim_matches('"').to_owned();
        lines.find(|line| line.contains("subnet up")).unwrap();
        // Reads on, so that the service is never blocked.
        std::thread::spawn(move || lines.for_each(drop));
        let demo = Self { child, state_dir };
        // Answers have the routing of the first sweep.
        assert_eq!(demo.ask(&["health"]).0, Some(0));
        demo
    }

    pub(crate) fn ask(&self, args: &[&str]) -> (Option<i32>, String, String) {
        run_ferrosm(&[args, &["--state-dir", &self.state_dir]].concat())
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.child.wait();
    }
}
