//! Which SMs the given files and command lines start: each becomes a service of ferrosm with a
//! configuration file of its own.

use ferrosm_mad::ids::PortGuid;

use super::assignments::Assignments;
use super::command_line::CommandLine;
use super::evaluation::{ImportScope, ReadFile};
use super::file_kind::FileKind;
use super::finding::{Finding, LineOutcome, Place};
use super::start_files::{self, Start, Starts};
use crate::options;
use crate::options::value::leading_number;

/// Files that OpenSM reads without `-F`: Debian's and Red Hat's.
const DEFAULT_CONFS: [&str; 2] = ["/etc/opensm/opensm.conf", "/etc/rdma/opensm.conf"];

/// A file that the operator names.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// As the operator typed it.
    pub name: String,
    pub kind: FileKind,
    pub content: Vec<u8>,
}

/// What is imported.
#[derive(Debug, Clone, Default)]
pub struct ImportRequest {
    pub files: Vec<SourceFile>,
    /// A command line of OpenSM, without the program.
    pub command_line: Option<CommandLine>,
    /// GUIDs of the InfiniBand ports of this host, for start files that serve all ports.
    pub host_ports: Vec<PortGuid>,
}

/// An SM that OpenSM's files start.
#[derive(Debug, Clone)]
pub struct SmSource {
    /// The files that it comes from.
    pub names: Vec<String>,
    pub scope: ImportScope,
    pub assignments: Assignments,
}

impl SmSource {
    /// The port that it serves, if it is named.
    #[must_use]
    pub fn port(&self) -> Option<PortGuid> {
        let guid = leading_number(self.assignments.value("guid")).value?;
        Some(PortGuid(guid)).filter(|guid| guid.0 != 0)
    }
}

/// The SMs, and findings about files that start none.
#[must_use]
pub fn services(request: &ImportRequest, read: ReadFile<'_>) -> (Vec<SmSource>, Vec<Finding>) {
    let mut starts = Starts::default();
    for file in &request.files {
        let text = String::from_utf8_lossy(&file.content);
        let further = match file.kind {
            FileKind::Variables => start_files::read_variables(&file.name, &text),
            FileKind::Script => start_files::read_script(&file.name, &text),
            FileKind::Conf
            | FileKind::Input(_)
            | FileKind::State
            | FileKind::NodeNames
            | FileKind::NvidiaPolicy => continue,
        };
        starts.extend(further);
    }
    if let Some(command_line) = &request.command_line {
        starts.list.push(Start {
            place: Place::file("command line"),
            command_line: command_line.clone(),
        });
    }
    starts.add_all_ports(&request.host_ports);
    let mut findings = starts.findings;
    findings.extend(request.files.iter().filter_map(finding_about));
    let confs: Vec<&SourceFile> = request
        .files
        .iter()
        .filter(|file| file.kind == FileKind::Conf)
        .collect();
    let inputs: Vec<(&'static str, &SourceFile)> = request
        .files
        .iter()
        .filter_map(|file| match file.kind {
            FileKind::Input(option) => Some((option, file)),
            FileKind::Conf
            | FileKind::Variables
            | FileKind::Script
            | FileKind::State
            | FileKind::NodeNames
            | FileKind::NvidiaPolicy => None,
        })
        .collect();
    let mut sources = Vec::new();
    for start in &starts.list {
        let names_port = start.names_port();
        match (&start.command_line.config, &confs[..]) {
            // Red Hat's script starts an SM for each file with the same priority.
            (None, [_, _, ..]) if !names_port => {
                for conf in &confs {
                    sources.push(source_of(Some(conf), Some(start), &inputs));
                }
            }
            (None, [conf]) => sources.push(source_of(Some(conf), Some(start), &inputs)),
            (None, _) => {
                let conf = default_conf(read);
                sources.push(source_of(conf.as_ref(), Some(start), &inputs));
            }
            (Some(path), _) => {
                let given = confs.iter().find(|conf| conf.name == *path);
                let named = given
                    .map(|conf| (*conf).clone())
                    .or_else(|| conf_at(path, read));
                if named.is_none() {
                    findings.push(Finding {
                        place: start.place.clone(),
                        line: format!("-F {}", super::finding::shown(path)),
                        outcome: LineOutcome::ChangesBehaviour,
                        text: "cannot be read here: its options are missing".to_owned(),
                    });
                }
                sources.push(source_of(named.as_ref(), Some(start), &inputs));
            }
        }
    }
    if starts.list.is_empty() {
        for conf in &confs {
            sources.push(source_of(Some(conf), None, &inputs));
        }
    }
    if sources.is_empty() && !inputs.is_empty() {
        sources.push(source_of(None, None, &inputs));
    }
    (sources, findings)
}

fn conf_at(path: &str, read: ReadFile<'_>) -> Option<SourceFile> {
    let content = read(path).ok()?;
    Some(SourceFile {
        name: path.to_owned(),
        kind: FileKind::Conf,
        content,
    })
}

fn default_conf(read: ReadFile<'_>) -> Option<SourceFile> {
    DEFAULT_CONFS.iter().find_map(|path| conf_at(path, read))
}

/// The options of one SM: its file, then its flags, then input files that the operator names.
fn source_of(
    conf: Option<&SourceFile>,
    start: Option<&Start>,
    inputs: &[(&'static str, &SourceFile)],
) -> SmSource {
    let mut assignments = Assignments::default();
    let mut names = Vec::new();
    if let Some(conf) = conf {
        assignments.add_file(&conf.name, &conf.content);
        names.push(conf.name.clone());
    }
    if let Some(start) = start {
        start.command_line.apply(&start.place, &mut assignments);
        names.push(start.place.to_string());
    }
    for (option, file) in inputs {
        if let Some(option) = options::by_name(option) {
            let place = Place::file(&file.name);
            assignments.set(option, place, &file.name, None);
        }
        names.push(file.name.clone());
    }
    assignments.correct();
    let scope = match (conf, start) {
        (None, None) => ImportScope::InputFiles,
        (Some(_), _) | (None, Some(_)) => ImportScope::Sm,
    };
    SmSource {
        names,
        scope,
        assignments,
    }
}

/// What happens to files that are no configuration.
fn finding_about(file: &SourceFile) -> Option<Finding> {
    let (outcome, text) = match file.kind {
        FileKind::State => (
            LineOutcome::NotNeeded,
            format!("records, not configuration: `ferrosm state import {}`", file.name),
        ),
        FileKind::NodeNames => (
            LineOutcome::NoEquivalent,
            "nodes have the name of their NodeDescription".to_owned(),
        ),
        FileKind::NvidiaPolicy => (
            LineOutcome::Ignored,
            "a policy of NVIDIA's SM, which OpenSM does not read; ferrosm has no port groups, chains or topologies: list GUIDs in the root GUID file"
                .to_owned(),
        ),
        FileKind::Conf | FileKind::Variables | FileKind::Script | FileKind::Input(_) => return None,
    };
    Some(Finding {
        place: Place::file(&file.name),
        line: String::new(),
        outcome,
        text,
    })
}

impl Starts {
    fn extend(&mut self, other: Self) {
        self.list.extend(other.list);
        self.findings.extend(other.findings);
        self.all_ports = self.all_ports.take().or(other.all_ports);
    }

    /// Debian's `PORTS=ALL`: an SM for each port of the host.
    fn add_all_ports(&mut self, ports: &[PortGuid]) {
        let Some(place) = self.all_ports.take() else {
            return;
        };
        if ports.is_empty() {
            self.findings.push(Finding {
                place,
                line: "PORTS=ALL".to_owned(),
                outcome: LineOutcome::ChangesBehaviour,
                text: "an SM on each port, but this host has no InfiniBand port: list the GUIDs (`ibstat -p`)".to_owned(),
            });
            return;
        }
        for guid in ports {
            let words = ["-g".to_owned(), guid.to_string()];
            self.list.push(Start {
                place: place.clone(),
                command_line: super::command_line::parse(&words),
            });
        }
    }
}

impl Start {
    fn names_port(&self) -> bool {
        let flags = &self.command_line.flags;
        flags.iter().any(|flag| flag.is_of_option("guid"))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::import::file_kind;

    fn no_files(_: &str) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn request(files: &[(&str, &str)]) -> ImportRequest {
        let files = files.iter().map(|(name, text)| {
            let content = text.as_bytes().to_vec();
            let kind = file_kind::detect(std::path::Path::new(name), &content).unwrap();
            SourceFile {
                name: (*name).to_owned(),
                kind,
                content,
            }
        });
        ImportRequest {
            files: files.collect(),
            ..ImportRequest::default()
        }
    }

    fn values(sources: &[SmSource], option: &str) -> Vec<String> {
        let value = |source: &SmSource| source.assignments.value(option).to_owned();
        sources.iter().map(value).collect()
    }

    #[test]
    fn each_port_and_each_file_is_an_sm() {
        let variables = ("opensm", "PRIORITY=10\nGUIDS=\"0x21 0x22\"\n");
        let conf = ("opensm.conf", "sweep_interval 3\n");
        let (sources, findings) = services(&request(&[conf, variables]), &no_files);
        assert_eq!(values(&sources, "sm_priority"), ["10", "10"]);
        assert_eq!(values(&sources, "sweep_interval"), ["3", "3"]);
        assert_eq!(
            values(&sources, "subnet_prefix"),
            ["0xfe80000000000000", "0xfe80000000000001"]
        );
        assert!(findings.is_empty());
        assert_eq!(sources[1].port(), Some(PortGuid(0x22)));
        let confs = request(&[
            ("opensm.conf.1", "guid 0x1\n"),
            ("opensm.conf.2", "guid 0x2\n"),
            ("opensm", "PRIORITY=7\n"),
        ]);
        let (sources, _) = services(&confs, &no_files);
        assert_eq!(values(&sources, "sm_priority"), ["7", "7"]);
        assert_eq!(sources[0].port(), Some(PortGuid(1)));
    }

    #[test]
    fn all_ports_are_those_of_the_host() {
        let mut all = request(&[("opensm", "PORTS=ALL\n")]);
        let (none, findings) = services(&all, &no_files);
        assert!(none.is_empty() && findings[0].text.contains("ibstat -p"));
        all.host_ports = vec![PortGuid(3), PortGuid(4)];
        let (sources, _) = services(&all, &no_files);
        assert_eq!(sources.len(), 2);
    }

    #[test]
    fn default_file_and_named_file_are_read() {
        let read = |path: &str| match path {
            "/etc/rdma/opensm.conf" => Ok(b"sm_priority 4\n".to_vec()),
            "/x" => Ok(b"sm_priority 5\n".to_vec()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let script = request(&[("rc.local", "opensm -B\nopensm -F /x -p 6\nopensm -F /y\n")]);
        let (sources, findings) = services(&script, &read);
        assert_eq!(values(&sources, "sm_priority"), ["4", "6", "0"]);
        assert!(findings[0].text.contains("cannot be read"));
    }

    #[test]
    fn files_without_an_sm_are_reported() {
        let files = [
            ("guid2lid", "0x1 0x2 0x2\n"),
            ("pgrp.conf", "port-group\nend-port-group\n"),
            ("roots", "0x1\n"),
        ];
        let (sources, findings) = services(&request(&files), &no_files);
        assert_eq!(findings.len(), 2);
        assert!(findings[0].text.contains("ferrosm state import guid2lid"));
        assert_eq!(sources.len(), 1);
        assert_eq!(sources[0].scope, ImportScope::InputFiles);
    }
}
