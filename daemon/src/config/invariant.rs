//! The entries `[[invariant]]`, as invariants.

use ferrosm_api::invariant::InvariantKind;

use super::settings::{InvariantEntry, Settings};
use crate::invariants::group::PortGroup;
use crate::invariants::{INVARIANTS_MAX, Invariant, LoadLimit, Pair, Rule};

const KINDS: [InvariantKind; 4] = [
    InvariantKind::Isolated,
    InvariantKind::MaxHops,
    InvariantKind::Redundant,
    InvariantKind::MaxLoad,
];

/// What is wrong with an entry, apart from its values. `others` are the entries before it.
pub(super) fn check(entry: &InvariantEntry, others: &[InvariantEntry]) -> Vec<String> {
    let mut errors = Vec::new();
    if entry.name.is_empty() {
        errors.push("key `name` is missing".to_owned());
    } else if others.iter().any(|other| other.name == entry.name) {
        errors.push(format!("another entry is named {:?}", entry.name));
    }
    if others.len() >= INVARIANTS_MAX {
        errors.push(format!("there are at most {INVARIANTS_MAX} entries"));
    }
    errors.extend(rule(entry).err().unwrap_or_default());
    errors
}

impl Settings {
    /// The declared invariants. Invalid entries were reported.
    #[must_use]
    pub fn invariants(&self) -> Vec<Invariant> {
        let valid = self.invariant_entries.iter().filter_map(|entry| {
            Some(Invariant {
                name: entry.name.clone(),
                rule: rule(entry).ok()?,
            })
        });
        valid.collect()
    }
}

fn rule(entry: &InvariantEntry) -> Result<Rule, Vec<String>> {
    let Some(kind) = KINDS.into_iter().find(|kind| kind.name() == entry.kind) else {
        return Err(vec![format!(
            "kind: expected {}, found {:?}",
            KINDS.map(InvariantKind::name).join(", "),
            entry.kind
        )]);
    };
    let mut errors = unused_keys(entry, kind);
    let rule = match kind {
        InvariantKind::Isolated => pair(entry).map(Rule::Isolated),
        InvariantKind::Redundant => pair(entry).map(Rule::Redundant),
        InvariantKind::MaxHops if entry.max_hops == 0 => {
            Err(vec!["max-hops: is required, at least 1".to_owned()])
        }
        InvariantKind::MaxHops => pair(entry).map(|between| Rule::MaxHops {
            between,
            max: entry.max_hops,
        }),
        InvariantKind::MaxLoad => {
            let set = |limit: u32| (limit > 0).then(|| u64::from(limit));
            let limit = LoadLimit {
                routes: set(entry.max_routes),
                percent_of_mean: set(entry.max_percent_of_mean),
            };
            match limit.routes.or(limit.percent_of_mean) {
                Some(_) => Ok(Rule::MaxLoad(limit)),
                None => Err(vec![
                    "max-routes or max-percent-of-mean is required".to_owned(),
                ]),
            }
        }
    };
    match rule {
        Ok(rule) if errors.is_empty() => Ok(rule),
        Ok(_) => Err(errors),
        Err(others) => {
            errors.extend(others);
            Err(errors)
        }
    }
}

/// Keys that an invariant of this kind does not have.
fn unused_keys(entry: &InvariantEntry, kind: InvariantKind) -> Vec<String> {
    let has_groups = kind != InvariantKind::MaxLoad;
    let is_max_hops = kind == InvariantKind::MaxHops;
    let keys = [
        ("from", !entry.from.is_empty(), has_groups),
        ("to", !entry.to.is_empty(), has_groups),
        ("max-hops", entry.max_hops != 0, is_max_hops),
        ("max-routes", entry.max_routes != 0, !has_groups),
        (
            "max-percent-of-mean",
            entry.max_percent_of_mean != 0,
            !has_groups,
        ),
    ];
    let unused = keys
        .into_iter()
        .filter(|(_, is_set, is_used)| *is_set && !is_used);
    unused
        .map(|(key, ..)| {
            format!(
                "{key}: has no effect in an invariant of kind {}",
                kind.name()
            )
        })
        .collect()
}

fn pair(entry: &InvariantEntry) -> Result<Pair, Vec<String>> {
    let group = |key: &str, members: &[String]| {
        PortGroup::parse(members).map_err(|error| format!("{key}: {error}"))
    };
    match (group("from", &entry.from), group("to", &entry.to)) {
        (Ok(from), Ok(to)) => Ok(Pair { from, to }),
        (from, to) => Err(from.err().into_iter().chain(to.err()).collect()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::ConfigSource;

    #[test]
    fn entries_are_read_and_printed() {
        let text = "[[invariant]]\nname = \"apart\"\nkind = \"isolated\"\nfrom = [\"partition:A\"]\nto = [\"gpu[01-02]\", \"0x1-0x9\"]\n\
                    [[invariant]]\nname = \"load\"\nkind = \"max-load\"\nmax-percent-of-mean = 150\n";
        let parse = |text: &str| {
            let source = ConfigSource::parse(Path::new("f.toml"), text);
            source.unwrap().settings
        };
        let settings = parse(text);
        let rules: Vec<String> = settings
            .invariants()
            .iter()
            .map(|invariant| invariant.rule.describe())
            .collect();
        assert_eq!(
            rules,
            [
                "partition:A and gpu[01-02], 0x1-0x9 never reach each other",
                "at most 150 % of the mean over any link"
            ]
        );
        let reread = parse(&crate::config::effective(&settings));
        assert_eq!(reread.invariant_entries, settings.invariant_entries);
    }

    /// Each mistake is reported with its place.
    #[test]
    fn invalid_entries_are_errors() {
        for (entry, expected) in [
            (
                "kind = \"max-load\"\nmax-routes = 9",
                "key `name` is missing",
            ),
            (
                "name = \"a\"",
                "kind: expected isolated, max-hops, redundant, max-load, found \"\"",
            ),
            (
                "name = \"a\"\nkind = \"isolated\"\nfrom = [\"ALL\"]",
                "to: a group needs at least one member",
            ),
            (
                "name = \"a\"\nkind = \"max-hops\"\nfrom = [\"ALL\"]\nto = [\"ALL\"]",
                "max-hops: is required",
            ),
            (
                "name = \"a\"\nkind = \"max-load\"",
                "max-routes or max-percent-of-mean is required",
            ),
            (
                "name = \"a\"\nkind = \"redundant\"\nfrom = [\"x[2-1]\"]\nto = [\"ALL\"]\nmax-hops = 2",
                "max-hops: has no effect",
            ),
            (
                "name = \"a\"\nkind = \"redundant\"\nfrom = [\"x[2-1]\"]\nto = [\"ALL\"]",
                "from: `x[2-1]` is no host list",
            ),
            (
                "name = \"a\"\nkind = \"max-load\"\nmax-routes = 9\n[[invariant]]\nname = \"a\"\nkind = \"max-load\"\nmax-routes = 9",
                "another entry is named \"a\"",
            ),
        ] {
            let text = format!("[[invariant]]\n{entry}\n");
            let errors = ConfigSource::parse(Path::new("f.toml"), &text).unwrap_err();
            let errors = errors.to_string();
            assert!(errors.contains(expected), "{entry}: {errors}");
            assert!(errors.starts_with("f.toml:"), "{errors}");
        }
    }
}
