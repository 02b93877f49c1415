//! Input files of path replies: the QoS policy and the prefix routes.

use std::path::Path;
use std::sync::Arc;

use ferrosm_core::config::partitions::Partition;
use ferrosm_opensm_compat::InputError;
use ferrosm_opensm_compat::input::{self, ReadFile, prefix_routes, qos_policy};
use ferrosm_sa::qos::QosPolicy;
use ferrosm_sa::settings::PrefixRoute;

use super::error::ConfigError;
use super::settings::Settings;

/// Contents of the files.
#[derive(Debug, Clone, Default)]
pub(super) struct PathInputs {
    pub(super) qos: Option<Arc<QosPolicy>>,
    pub(super) prefix_routes: Arc<[PrefixRoute]>,
}

/// Reads the files, and returns warnings about probable mistakes.
pub(super) fn read_path_inputs(
    settings: &Settings,
    partitions: &[Partition],
    file: ReadFile<'_>,
) -> Result<(PathInputs, Vec<ConfigError>), Vec<ConfigError>> {
    let mut paths = PathInputs::default();
    let mut messages = Vec::new();
    if let Some(name) = &settings.qos_policy_file {
        let path = settings.dir.join(name);
        match read(file, &path, |text| qos_policy::parse(text, partitions)) {
            Ok(parsed) => {
                paths.qos = Some(Arc::new(parsed.policy));
                let warnings = parsed.warnings.into_iter();
                messages.extend(warnings.map(|warning| ConfigError::of_input(&path, warning)));
            }
            Err(errors) => messages.extend(errors),
        }
    }
    if let Some(name) = &settings.prefix_routes_file {
        match read(file, &settings.dir.join(name), prefix_routes::parse) {
            Ok(routes) => paths.prefix_routes = routes.into(),
            Err(errors) => messages.extend(errors),
        }
    }
    if messages.iter().all(|message| message.is_warning) {
        Ok((paths, messages))
    } else {
        Err(messages)
    }
}

fn read<T>(
    file: ReadFile<'_>,
    path: &Path,
    parse: impl Fn(&str) -> Result<T, Vec<InputError>>,
) -> Result<T, Vec<ConfigError>> {
    let read = input::read_file(file, path, parse);
    read.map_err(|errors| errors.into_iter().map(ConfigError::from).collect())
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::PortGuid;

    use crate::config::{ConfigErrors, ConfigSource, Settings, effective};
    use crate::testing::TempDir;

    fn resolve(dir: &TempDir, text: &str) -> Result<Settings, ConfigErrors> {
        let path = dir.path().join("f.toml");
        ConfigSource::parse(&path, text)?.resolve(|_| {})
    }

    const TOML: &str = "[routing]\nprefix-routes-file = \"prefix\"\n[qos]\npolicy-file = \"qos\"\n\
        [[partition]]\nname = \"Blue\"\npkey = 0x55\n[[partition]]\nname = \"Default\"\npkey = 0x7fff\n";

    /// Files are relative to the configuration; port groups may name its partitions.
    #[test]
    fn qos_and_prefix_files_are_read_with_the_file() {
        let dir = TempDir::new("config-qos");
        std::fs::write(dir.path().join("prefix"), "* 0x7\n").unwrap();
        let policy = "port-groups\nport-group\nname: a\npartition: Blue\nend-port-group\nend-port-groups\n\
            qos-levels\nqos-level\nname: DEFAULT\nsl: 2\nend-qos-level\nend-qos-levels\nqos-match-rules\nqos-match-rule\n\
            source: a\nqos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\nqos-setup\nvlarb-tables\n\
            end-vlarb-tables\nend-qos-setup\n";
        std::fs::write(dir.path().join("qos"), policy).unwrap();
        let settings = resolve(&dir, TOML).unwrap();
        let rules = &settings.sm.qos.as_ref().unwrap().rules;
        assert!(rules[0].source[0].pkeys.contains(0x55));
        assert_eq!(settings.sm.prefix_routes[0].router, Some(PortGuid(7)));
        assert_eq!(settings.warnings.len(), 1);
        assert_eq!(settings.warnings[0].at, Some((20, 1)));
        // The effective configuration can be read back.
        let reread = resolve(&dir, &effective(&settings)).unwrap();
        assert_eq!(reread.sm, settings.sm);
        assert!(resolve(&dir, "").unwrap().sm.qos.is_none());
    }

    #[test]
    fn qos_and_prefix_errors_are_reported_together() {
        let dir = TempDir::new("config-qos-bad");
        std::fs::write(dir.path().join("prefix"), "x 0x7\n").unwrap();
        let text = resolve(&dir, TOML).unwrap_err().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].contains("qos: cannot read file"), "{text}");
        assert!(
            lines[1].contains("prefix:1:1: invalid prefix `x`"),
            "{text}"
        );
    }
}
