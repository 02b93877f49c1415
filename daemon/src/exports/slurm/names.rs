//! Names of hosts and switches for Slurm.

use std::collections::BTreeMap;

use regex_lite::Regex;

use crate::whole_fabric::FabricIndex;

/// Hosts by name: the nodes that are their adapters.
pub(super) type HostsByName = BTreeMap<String, Vec<usize>>;

/// How nodes are named.
#[derive(Debug, Clone, Default)]
pub struct NodeNaming {
    /// Names by node GUID, from a node-name-map.
    pub by_guid: BTreeMap<String, String>,
    /// Applied to the names of hosts, one after the other. Without any, the name of a host is the
    /// first word of its NodeDescription.
    pub substitutions: Vec<Substitution>,
}

/// A substitution of sed: `s/ mlx5.*//`.
#[derive(Debug, Clone)]
pub struct Substitution {
    pattern: Regex,
    replacement: String,
    is_global: bool,
}

impl core::str::FromStr for Substitution {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is no substitution such as s/ mlx5.*//");
        let rest = text.strip_prefix('s').ok_or_else(malformed)?;
        let delimiter = rest.chars().next().ok_or_else(malformed)?;
        if delimiter.is_alphanumeric() || delimiter.is_whitespace() || delimiter == '\\' {
            return Err(malformed());
        }
        let parts = split_unescaped(&rest[delimiter.len_utf8()..], delimiter);
        let [pattern, replacement, flags] = &parts[..] else {
            return Err(malformed());
        };
        if !["", "g"].contains(&flags.as_str()) {
            return Err(format!("`{text}`: the only flag is g"));
        }
        Ok(Self {
            pattern: Regex::new(pattern).map_err(|e| format!("`{text}`: {e}"))?,
            replacement: expansion(replacement),
            is_global: !flags.is_empty(),
        })
    }
}

impl Substitution {
    fn apply(&self, text: &str) -> String {
        let replacement = self.replacement.as_str();
        match self.is_global {
            true => self.pattern.replace_all(text, replacement).into_owned(),
            false => self.pattern.replace(text, replacement).into_owned(),
        }
    }
}

/// Splits at a delimiter; after a backslash it is an ordinary character.
fn split_unescaped(text: &str, delimiter: char) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == delimiter {
            parts.push(String::new());
            continue;
        }
        let Some(part) = parts.last_mut() else {
            continue;
        };
        if c != '\\' {
            part.push(c);
            continue;
        }
        match chars.next() {
            Some(next) if next == delimiter => part.push(next),
            Some(next) => part.extend(['\\', next]),
            None => part.push('\\'),
        }
    }
    parts
}

/// A replacement of sed (`\1`, `&`) in the syntax of the regex library (`${1}`, `${0}`).
fn expansion(replacement: &str) -> String {
    let mut out = String::new();
    let mut chars = replacement.chars();
    while let Some(c) = chars.next() {
        match c {
            '&' => out.push_str("${0}"),
            '$' => out.push_str("$$"),
            '\\' => match chars.next() {
                Some(digit) if digit.is_ascii_digit() => out.push_str(&format!("${{{digit}}}")),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(c),
        }
    }
    out
}

impl NodeNaming {
    /// Reads a node-name-map, as OpenSM and infiniband-diags have it: lines of a GUID and a name in
    /// quotes.
    ///
    /// # Errors
    /// The line that is neither empty, a comment nor such a line.
    pub fn read_map(&mut self, text: &str) -> Result<(), String> {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let error = || format!("line {}: expected 0xGUID \"NAME\"", number + 1);
            let (guid, rest) = line.split_once(char::is_whitespace).ok_or_else(error)?;
            let hex = guid.trim_start_matches("0x");
            let guid = u64::from_str_radix(hex, 16).map_err(|_| error())?;
            let quoted = rest.trim_start().strip_prefix('"').ok_or_else(error)?;
            let (name, _) = quoted.split_once('"').ok_or_else(error)?;
            self.by_guid
                .insert(format!("{guid:#018x}"), name.to_owned());
        }
        Ok(())
    }

    /// The hosts of a fabric, and the names of those that Slurm would not accept.
    pub(super) fn hosts(&self, index: &FabricIndex<'_>) -> (HostsByName, Vec<String>) {
        let mut hosts = HostsByName::new();
        let mut unnamed = Vec::new();
        for (at, node) in index.fabric.nodes.iter().enumerate() {
            if !index.is_host(at) {
                continue;
            }
            match self.host_name(self.description(index, at)) {
                Some(name) => hosts.entry(name).or_default().push(at),
                None => unnamed.push(format!("{} \"{}\"", node.guid, node.name)),
            }
        }
        (hosts, unnamed)
    }

    /// The name of a host. `None`: Slurm would not accept it, or it is one that adapters or hosts
    /// have before they get a name.
    fn host_name(&self, description: &str) -> Option<String> {
        let name = if self.substitutions.is_empty() {
            let word = description.split_whitespace().next();
            word.unwrap_or_default().to_owned()
        } else {
            let mut name = description.to_owned();
            for substitution in &self.substitutions {
                name = substitution.apply(&name);
            }
            name.trim().to_owned()
        };
        let is_valid = !name.is_empty() && name.chars().all(is_in_names);
        let is_default = name
            .strip_prefix("MT")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let is_unset = is_default || name == "localhost";
        (is_valid && !is_unset).then_some(name)
    }

    /// The name of a switch: `leaf-1` for `MF0;leaf-1:MQM8700/U1`, `core-L03-U1` for a chip of a
    /// director. Characters that Slurm does not accept become `-`.
    pub(super) fn switch_name(&self, index: &FabricIndex<'_>, node: usize) -> String {
        let description = self.description(index, node);
        let system = description
            .split_once(';')
            .map_or(description, |(_, rest)| rest);
        let name = match system.split_once(':') {
            Some((name, chip)) => {
                let chip = chip.split_once('/').map_or("", |(_, chip)| chip);
                let is_only_chip = ["", "U1"].contains(&chip);
                if is_only_chip {
                    name.to_owned()
                } else {
                    format!("{name}/{chip}")
                }
            }
            None => system.to_owned(),
        };
        let mut out = String::new();
        for c in name.trim().chars() {
            match is_in_names(c) {
                true => out.push(c),
                false if out.ends_with('-') => {}
                false => out.push('-'),
            }
        }
        match out.trim_matches('-') {
            "" => index.fabric.nodes[node].guid.clone(),
            name => name.to_owned(),
        }
    }

    fn description<'a>(&'a self, index: &FabricIndex<'a>, node: usize) -> &'a str {
        let guid = index.fabric.nodes[node].guid.as_str();
        let mapped = self.by_guid.get(guid).map(String::as_str);
        mapped.unwrap_or_else(|| &index.fabric.nodes[node].name)
    }
}

/// Whether a character may be in names that Slurm reads from host lists.
fn is_in_names(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}
