//! Reads the partitions, either from a `partitions.conf` or from `[[partition]]` entries.

use std::path::Path;

use ferrosm_core::config::partitions::{DEFAULT_PARTITION, Partition, Partitions};
use ferrosm_opensm_compat::InputError;
use ferrosm_opensm_compat::input::{self, ReadFile, partitions as partitions_conf};

use super::error::ConfigError;
use super::settings::{PartitionEntry, Settings};

/// Partitions, and warnings about probable mistakes.
pub(super) type PartitionsAndWarnings = (Partitions, Vec<ConfigError>);

/// Reads the partitions of a configuration. `path` is its file, and `error_at` an error at a
/// `[[partition]]`.
pub(super) fn read_partitions(
    settings: &Settings,
    path: Option<&Path>,
    read: ReadFile<'_>,
    error_at: impl Fn(usize, String) -> ConfigError,
) -> Result<PartitionsAndWarnings, Vec<ConfigError>> {
    let rules = &settings.partitions;
    let file = rules.file.as_ref().map(|file| settings.dir.join(file));
    let (list, mut warnings) = match (&file, &settings.partition_entries[..]) {
        (None, []) => return Ok((Partitions::default(), Vec::new())),
        (Some(file), []) => from_file(file, read)?,
        (None, entries) => from_entries(entries, &error_at)?,
        (Some(file), entries) => {
            let message = "partitions.file and [[partition]] are mutually exclusive";
            let mut errors = vec![error_at(0, message.to_owned())];
            errors.extend(from_file(file, read).err().unwrap_or_default());
            errors.extend(from_entries(entries, &error_at).err().unwrap_or_default());
            return Err(errors);
        }
    };
    if list.iter().all(|p| p.number != DEFAULT_PARTITION) {
        let rule = match &file {
            Some(_) => "`Default=0x7fff, ipoib : ALL=full ;`",
            None => {
                "a [[partition]] with name = \"Default\", pkey = 0x7fff, ipoib = true, members = [\"ALL=full\"]"
            }
        };
        let message = format!(
            "no rule for the default partition 0x7fff: all ports but the SM's are limited members of it, and it has no IPoIB group; \
             add {rule} to keep full members"
        );
        let warning = ConfigError::of_file(file.as_deref().or(path), message);
        warnings.push(warning.into_warning());
    }
    match Partitions::new(list, rules.enforce, rules.allow_both_pkeys) {
        Ok(partitions) => Ok((partitions, warnings)),
        Err(error) => {
            let error = ConfigError::of_file(file.as_deref().or(path), error.to_string());
            warnings.push(error);
            Err(warnings)
        }
    }
}

/// The partitions of the entries `[[partition]]`.
fn from_entries(
    entries: &[PartitionEntry],
    error_at: impl Fn(usize, String) -> ConfigError,
) -> Result<(Vec<Partition>, Vec<ConfigError>), Vec<ConfigError>> {
    let mut list = Vec::new();
    let mut errors = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        match entry.partition() {
            Ok(partition) => list.push(partition),
            Err(messages) => errors.extend(
                messages
                    .into_iter()
                    .map(|message| error_at(i, format!("[[partition]] {}: {message}", entry.name))),
            ),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let warnings = shared_names(&list)
        .into_iter()
        .map(|(i, message)| error_at(i, message).into_warning())
        .collect();
    Ok((list, warnings))
}

/// Indices of partitions with the name of an earlier one, and the warnings.
fn shared_names(list: &[Partition]) -> Vec<(usize, String)> {
    let mut warnings = Vec::new();
    for (i, partition) in list.iter().enumerate() {
        let name = &partition.name;
        if let Some(other) = list[..i].iter().find(|other| other.name == *name) {
            warnings.push((i, partitions_conf::shared_name(name, other.number)));
        }
    }
    warnings
}

fn from_file(
    file: &Path,
    read: ReadFile<'_>,
) -> Result<(Vec<Partition>, Vec<ConfigError>), Vec<ConfigError>> {
    match input::read_file(read, file, partitions_conf::parse) {
        Ok(conf) => {
            let warnings = conf
                .warnings
                .into_iter()
                .map(|warning| ConfigError::of_input(file, warning))
                .collect();
            Ok((conf.partitions, warnings))
        }
        Err(errors) => Err(errors.into_iter().map(ConfigError::from).collect()),
    }
}

impl PartitionEntry {
    /// Formats the entry in OpenSM's grammar and parses it, so that both forms are checked alike.
    /// Warnings of the parser are errors here.
    ///
    /// # Errors
    /// All messages about it.
    pub fn partition(&self) -> Result<Partition, Vec<String>> {
        let reserved = [',', ':', ';', '#', '=', '\n', '\r'];
        let mut errors = Vec::new();
        let mut check = |key: &str, value: &str, allowed: &[char]| {
            if value.contains(|c| reserved.contains(&c) && !allowed.contains(&c)) {
                errors.push(format!("{key}: `{value}` has an invalid character"));
            }
        };
        check("name", &self.name, &[]);
        check("pkey", &self.pkey, &[]);
        check("default-membership", &self.default_membership, &[]);
        self.flags.iter().for_each(|f| check("flags", f, &['=']));
        self.members
            .iter()
            .for_each(|m| check("members", m, &['=']));
        self.groups
            .iter()
            .for_each(|g| check("groups", g, &['=', ',', ':']));
        if self.name.is_empty() {
            errors.push("name: must not be empty".to_owned());
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut text = format!("{}={}", self.name, self.pkey);
        for (is_set, flag) in [(self.index0, "indx0"), (self.ipoib, "ipoib")] {
            if is_set {
                text.push_str(&format!(",{flag}"));
            }
        }
        for flag in &self.flags {
            text.push_str(&format!(",{flag}"));
        }
        text.push_str(&format!(",defmember={}:\n", self.default_membership));
        for member in &self.members {
            text.push_str(&format!("{member},\n"));
        }
        for group in &self.groups {
            text.push_str(&format!("mgid={group},\n"));
        }
        let parsed = partitions_conf::parse(&text).map_err(messages)?;
        if !parsed.warnings.is_empty() {
            return Err(messages(parsed.warnings));
        }
        let mut partitions = parsed.partitions;
        match (partitions.pop(), partitions.is_empty()) {
            (Some(partition), true) => Ok(partition),
            (Some(_) | None, _) => Err(vec![
                "the entry does not define exactly one partition".to_owned(),
            ]),
        }
    }
}

/// The error about a value that partitions.conf permits with a warning: here it is not read as
/// another value.
fn rejected_value(warning: &str) -> String {
    match warning.split_once(": read as `") {
        Some((error, _)) => error.to_owned(),
        None => warning.replacen(" read as ", ": expected ", 1),
    }
}

fn messages(list: Vec<InputError>) -> Vec<String> {
    let message = |found: InputError| match found.is_warning {
        true => rejected_value(&found.message),
        false => found.message,
    };
    list.into_iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use ferrosm_core::config::partitions::{Enforcement, MemberSelector, Membership};
    use ferrosm_mad::ids::PortGuid;

    use crate::config::{ConfigErrors, ConfigSource, Settings, effective};
    use crate::testing::TempDir;

    fn resolve(dir: &TempDir, text: &str) -> Result<Settings, ConfigErrors> {
        let path = dir.path().join("f.toml");
        ConfigSource::parse(&path, text)?.resolve(|_| {})
    }

    /// Warnings, except that there is no rule for the default partition.
    fn warnings(settings: &Settings) -> Vec<String> {
        settings
            .warnings
            .iter()
            .map(ToString::to_string)
            .filter(|warning| !warning.contains("no rule for the default partition"))
            .collect()
    }

    /// Hosts that used ib0 lose each other, which surprises operators of OpenSM too.
    #[test]
    fn missing_rule_for_the_default_partition_is_reported() {
        let dir = TempDir::new("config-no-default");
        let file = "[partitions]\nfile = \"p.conf\"\n";
        std::fs::write(
            dir.path().join("p.conf"),
            "Storage=0x8010, ipoib, defmember=full : ALL ;\n",
        )
        .unwrap();
        let all = |text: &str| -> Vec<String> {
            let settings = resolve(&dir, text).unwrap();
            settings.warnings.iter().map(ToString::to_string).collect()
        };
        let [warning] = &all(file)[..] else {
            panic!("{:?}", all(file));
        };
        assert!(
            warning.contains("p.conf: no rule for the default partition 0x7fff: all ports but the SM's are limited members of it")
                && warning.contains("add `Default=0x7fff, ipoib : ALL=full ;` to keep full members"),
            "{warning}"
        );
        let [warning] = &all("[[partition]]\nname = \"a\"\npkey = 1\n")[..] else {
            panic!("no warning");
        };
        assert!(warning.contains("pkey = 0x7fff, ipoib = true"), "{warning}");
        assert_eq!(all(""), [""; 0]);
        std::fs::write(
            dir.path().join("p.conf"),
            "Default=0x7fff, ipoib : ALL=limited, SELF=full ;\n",
        )
        .unwrap();
        assert_eq!(all(file), [""; 0]);
    }

    const TOML: &str = "[partitions]\nenforce = \"out\"\nallow-both-pkeys = true\n\
        [[partition]]\nname = \"Storage\"\npkey = 0x8040\nipoib = true\nflags = [\"mtu=4096\", \"rate=400G\"]\n\
        default-membership = \"full\"\nmembers = [\"0x1\", \"ALL_SWITCHES=both\"]\ngroups = [\"ff12:1234::1,scope=5\"]\n\
        [[partition]]\nname = \"Tests\"\npkey = \"0x51\"\nindex0 = true\n";

    /// The same partitions in TOML and in OpenSM's grammar.
    #[test]
    fn both_forms_are_equivalent() {
        let dir = TempDir::new("config-partitions");
        let conf = "Storage=0x40,ipoib,mtu=5,rate=400G,defmember=full:0x1,ALL_SWITCHES=both,mgid=ff12:1234::1,scope=5\n;\
            Tests=0x51,indx0:;";
        std::fs::write(dir.path().join("p.conf"), conf).unwrap();
        let in_toml = resolve(&dir, TOML).unwrap();
        let text = "[partitions]\nfile = \"p.conf\"\nenforce = \"out\"\nallow-both-pkeys = true\n";
        let in_file = resolve(&dir, text).unwrap();
        assert_eq!(in_toml.sm.partitions, in_file.sm.partitions);
        let list = in_toml.sm.partitions.list();
        let full = (MemberSelector::Port(PortGuid(1)), Membership::Full);
        assert_eq!(list[0].members[0], full);
        assert!(list[1].index0);
        assert_eq!(in_toml.sm.partitions.enforcement(), Enforcement::Out);
        // The effective configuration can be read back.
        let reread = resolve(&dir, &effective(&in_toml)).unwrap();
        assert_eq!(reread.sm.partitions, in_toml.sm.partitions);
    }

    #[test]
    fn errors_name_the_file_or_the_partition() {
        let dir = TempDir::new("config-partitions-bad");
        std::fs::write(dir.path().join("bad"), "a=1:x;\nb:ALL;\nc=y:ALL;").unwrap();
        std::fs::write(dir.path().join("warned"), "a=1:ALL=f;\n").unwrap();
        let error = |text: &str| resolve(&dir, text).unwrap_err().to_string();
        let file_error = error("[partitions]\nfile = \"bad\"\n");
        assert_eq!(file_error.lines().count(), 3, "{file_error}");
        let warning = format!(
            "warning: {}:2:1: no P_Key",
            dir.path().join("bad").display()
        );
        assert!(file_error.contains(&warning), "{file_error}");
        assert!(
            file_error.contains("bad:1:5: invalid member `x`"),
            "{file_error}"
        );
        let missing = error("[partitions]\nfile = \"none\"\n");
        assert!(missing.contains("none: cannot read file"), "{missing}");
        assert!(missing.ends_with("(named by partitions.file)"), "{missing}");
        let combined_error = error(&format!(
            "{}\n",
            TOML.replace("enforce", "file = \"warned\"\nenforce")
        ));
        assert!(
            combined_error.contains("mutually exclusive"),
            "{combined_error}"
        );
        let entry = error("[[partition]]\nname = \"a\"\npkey = 0x8000\n");
        assert!(
            entry.contains("f.toml:1:1: [[partition]] a: invalid P_Key `0x8000`"),
            "{entry}"
        );
        let abbreviated = error("[[partition]]\nname = \"a\"\npkey = 1\nmembers = [\"A\"]\n");
        assert!(
            abbreviated.contains("a: `A`: expected `ALL`"),
            "{abbreviated}"
        );
        let membership = error("[[partition]]\nname = \"a\"\npkey = 1\nmembers = [\"0x1=foo\"]\n");
        assert!(
            membership.ends_with("invalid membership `foo` (expected full, limited or both)"),
            "{membership}"
        );
        let both = error(
            "[partitions]\nfile = \"bad\"\n[[partition]]\nname = \"a\"\npkey = 0x8000\nmembers = [\"h\"]\n",
        );
        for word in [
            "mutually exclusive",
            "bad:1:5: invalid member `x`",
            "a: invalid P_Key `0x8000`",
            "a: invalid member `h`",
        ] {
            assert!(both.contains(word), "{both}");
        }
        let invalid_name = error("[[partition]]\nname = \"a:b;\"\npkey = 1\n");
        assert!(
            invalid_name.contains("name: `a:b;` has an invalid character"),
            "{invalid_name}"
        );
        let twice =
            "[[partition]]\nname = \"a\"\npkey = 1\n[[partition]]\nname = \"b\"\npkey = 0x8001\n";
        assert!(error(twice).contains("same P_Key 0x0001"));
        let twice =
            "[[partition]]\nname = \"a\"\npkey = 1\n[[partition]]\nname = \"a\"\npkey = 2\n";
        let shared = resolve(&dir, twice).unwrap();
        let file = dir.path().join("f.toml");
        let warning = format!(
            "warning: {}:4:1: `a` is also the name of partition 0x0001: these are two partitions",
            file.display()
        );
        assert_eq!(warnings(&shared), [warning]);
        let warned = resolve(&dir, "[partitions]\nfile = \"warned\"\n").unwrap();
        assert_eq!(warnings(&warned).len(), 1);
        assert!(
            warned
                .warnings
                .iter()
                .any(|warning| warning.at == Some((1, 9)))
        );
    }

    #[test]
    fn none_are_configured_by_default() {
        let dir = TempDir::new("config-partitions-none");
        assert!(!resolve(&dir, "").unwrap().sm.partitions.is_configured());
    }
}
