//! Members of partitions as operators write them: GUIDs, names, host lists, patterns.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::NodeType;

use super::list::invalid;
use super::lookup;
use super::published::FabricState;
use crate::pattern::is_match;

/// Most ports that one request may name.
const PORTS_MAX: usize = 100_000;
/// What stands for ports of a kind, as in the configuration.
const KINDS: [&str; 5] = ["ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"];

/// The members in the form of the configuration: port GUIDs and kinds, each with its membership if
/// it has one.
pub(super) fn resolve(fabric: &FabricState, members: &[String]) -> Result<Vec<String>, ApiError> {
    let mut resolved = Vec::new();
    for member in members {
        let (ports, membership) = match member.split_once('=') {
            Some((ports, membership)) => (ports.trim(), Some(membership.trim())),
            None => (member.trim(), None),
        };
        for port in ports_of(fabric, ports)? {
            resolved.push(match membership {
                Some(membership) => format!("{port}={membership}"),
                None => port,
            });
        }
        if resolved.len() > PORTS_MAX {
            return Err(invalid(format!("more than {PORTS_MAX} members")));
        }
    }
    Ok(resolved)
}

fn ports_of(fabric: &FabricState, text: &str) -> Result<Vec<String>, ApiError> {
    let is_guid = text.starts_with("0x") || text.starts_with("0X");
    if is_guid || KINDS.contains(&text) {
        // A GUID of a port that is not in the subnet yet is a member when it comes.
        return Ok(vec![text.to_owned()]);
    }
    let snapshot = &*fabric.snapshot;
    let mut found = Vec::new();
    for name in host_list(text)? {
        if name.contains('*') {
            found.extend(by_pattern(snapshot, &name)?);
            continue;
        }
        let ports = lookup::end_ports(fabric, &name)?;
        found.extend(
            ports
                .iter()
                .map(|at| snapshot.end_port(*at).guid.to_string()),
        );
    }
    Ok(found)
}

/// GUIDs of the ports of hosts whose name, or its first word, matches a pattern.
fn by_pattern(snapshot: &Snapshot, pattern: &str) -> Result<Vec<String>, ApiError> {
    let is_host = |slot: &u32| snapshot.node(*slot).node_info().node_type == NodeType::Ca;
    let is_named = |slot: &u32| {
        let name = snapshot.node(*slot).name();
        let first_word = name.split_whitespace().next().unwrap_or_default();
        is_match(pattern, &name) || is_match(pattern, first_word)
    };
    let slots = snapshot
        .slots()
        .filter(|slot| is_host(slot) && is_named(slot));
    let ports = slots.flat_map(|slot| snapshot.end_ports_of_node(slot));
    let guids: Vec<String> = ports
        .map(|at| snapshot.end_port(at).guid.to_string())
        .collect();
    if guids.is_empty() {
        return Err(ApiError::new(
            ErrorKind::NotFound,
            format!("no host matches `{pattern}`"),
            "`ferrosm nodes` lists the names.",
        ));
    }
    Ok(guids)
}

/// The names of a host list: `gpu[01-03,07]` stands for gpu01, gpu02, gpu03 and gpu07. A text
/// without brackets is one name.
fn host_list(text: &str) -> Result<Vec<String>, ApiError> {
    let Some((prefix, rest)) = text.split_once('[') else {
        return Ok(vec![text.to_owned()]);
    };
    let error = || {
        invalid(format!(
            "`{text}` is no host list; expected a form such as gpu[01-16,20]"
        ))
    };
    let (ranges, suffix) = rest.split_once(']').ok_or_else(error)?;
    let suffixes = host_list(suffix)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number =
            |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return Err(error());
        }
        let from: u32 = first.parse().map_err(|_| error())?;
        let to: u32 = last.parse().map_err(|_| error())?;
        let count = to.checked_sub(from).ok_or_else(error)? as usize + 1;
        if (names.len() + count).saturating_mul(suffixes.len()) > PORTS_MAX {
            return Err(invalid(format!(
                "`{text}` names more than {PORTS_MAX} hosts"
            )));
        }
        let width = first.len();
        for number in from..=to {
            let start = format!("{prefix}{number:0width$}");
            names.extend(suffixes.iter().map(|suffix| format!("{start}{suffix}")));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_lists_are_expanded() {
        let names = |text: &str| host_list(text).unwrap();
        assert_eq!(names("gpu1"), ["gpu1"]);
        assert_eq!(names("gpu[08-10,2]"), ["gpu08", "gpu09", "gpu10", "gpu2"]);
        assert_eq!(names("r[1-2]n[1-2]"), ["r1n1", "r1n2", "r2n1", "r2n2"]);
        for text in [
            "gpu[",
            "gpu[]",
            "gpu[a-b]",
            "gpu[3-1]",
            "gpu[1-99999999]",
            "a[1-50000]b[1-9]",
        ] {
            assert!(host_list(text).is_err(), "{text}");
        }
    }
}
