//! Lines of topology.conf, and their comparison with those of a file.

use std::collections::{BTreeMap, BTreeSet};

use super::hierarchy::{Hierarchy, SlurmSwitch};
use super::host_ranges::host_ranges;
use crate::host_list::host_list;

/// Lines for topology/tree.
pub(super) fn tree_lines(hierarchy: &Hierarchy) -> Vec<String> {
    let line = |switch: &SlurmSwitch| {
        let below = if switch.children.is_empty() {
            format!("Nodes={}", host_ranges(&switch.hosts))
        } else {
            format!("Switches={}", host_ranges(&switch.children))
        };
        format!("SwitchName={} {below}", switch.name)
    };
    hierarchy.switches.iter().map(line).collect()
}

/// Lines for topology/block. The planning size of a block is that of the smallest one.
pub(super) fn block_lines(hierarchy: &Hierarchy) -> Vec<String> {
    let blocks = hierarchy.with_hosts();
    let mut lines: Vec<String> = blocks
        .map(|block| {
            format!(
                "BlockName={} Nodes={}",
                block.name,
                host_ranges(&block.hosts)
            )
        })
        .collect();
    if let Some(least) = hierarchy.with_hosts().map(|block| block.hosts.len()).min() {
        lines.push(format!("BlockSizes={least}"));
    }
    lines
}

/// A topology.conf: what each line says, by the name in it, and the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TopologyFile {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Names after each key in small letters; only of keys that ferrosm writes.
    lists: BTreeMap<String, BTreeSet<String>>,
    line: String,
    number: usize,
}

impl TopologyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// The line that Slurm would not read.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut file = Self::default();
        let mut continued = String::new();
        for (i, line) in text.lines().enumerate() {
            let number = i + 1;
            let line = line.split('#').next().unwrap_or_default().trim_end();
            if let Some(start) = line.strip_suffix('\\') {
                continued.push_str(start);
                continue;
            }
            let line = core::mem::take(&mut continued) + line;
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let error = |what: String| format!("line {number}: {what}");
            let mut lists = BTreeMap::new();
            let mut name = String::new();
            for word in &words {
                let Some((key, value)) = word.split_once('=') else {
                    return Err(error(format!("`{word}` has no value")));
                };
                match key.to_ascii_lowercase().as_str() {
                    "switchname" | "blockname" => value.clone_into(&mut name),
                    key @ ("nodes" | "switches" | "blocksizes") => {
                        let names = expand(value).map_err(&error)?;
                        lists.insert(key.to_owned(), names);
                    }
                    // Such as LinkSpeed, which Slurm does not use.
                    _ => {}
                }
            }
            let line = words.join(" ");
            let entry = Entry {
                lists,
                line,
                number,
            };
            if file.entries.insert(name.clone(), entry).is_some() {
                return Err(error(format!("`{name}` is there twice")));
            }
        }
        Ok(file)
    }
}

/// The names of a list of host lists: `a[1-2],b`.
fn expand(text: &str) -> Result<BTreeSet<String>, String> {
    let mut depth = 0;
    let parts = text.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    let mut names = BTreeSet::new();
    for part in parts.filter(|part| !part.is_empty()) {
        names.extend(host_list(part).map_err(|e| e.to_string())?);
    }
    Ok(names)
}

/// The lines in which a file differs from what it should be: `-` those of the file, `+` those that
/// it should have. The order of lines and names does not count.
#[must_use]
pub fn difference(file: &TopologyFile, wanted: &TopologyFile) -> Vec<String> {
    let names: BTreeSet<&String> = file.entries.keys().chain(wanted.entries.keys()).collect();
    let mut differing: Vec<(Option<&Entry>, Option<&Entry>)> = names
        .into_iter()
        .map(|name| (file.entries.get(name), wanted.entries.get(name)))
        .filter(|(own, other)| own.map(|entry| &entry.lists) != other.map(|entry| &entry.lists))
        .collect();
    differing.sort_by_key(|(own, other)| {
        (
            own.map_or(usize::MAX, |entry| entry.number),
            other.map(|entry| entry.number),
        )
    });
    let mut lines = Vec::new();
    for (own, other) in differing {
        lines.extend(own.map(|entry| format!("- {}", entry.line)));
        lines.extend(other.map(|entry| format!("+ {}", entry.line)));
    }
    lines
}
