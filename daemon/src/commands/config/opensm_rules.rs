//! `ferrosm config check --opensm`: the input files of a configuration by OpenSM's own rules.

use std::path::Path;

use ferrosm_opensm_compat::export::{ExportedKey, KeyValue};
use ferrosm_opensm_compat::import::input_files::{self, FileContext};
use ferrosm_opensm_compat::options::conversion::Conversion;
use ferrosm_opensm_compat::options::{self, Equivalent};

use crate::config::{self, Settings};

/// What OpenSM ignores or drops in the files that the settings name, a line each.
pub(super) fn report(settings: &Settings) -> String {
    let keys = config::exported_keys(settings);
    let context = FileContext {
        qos: settings.qos_policy_file.is_some(),
        partitions: settings.sm.partitions.list(),
    };
    let mut text = String::new();
    for (option, path) in keys.iter().filter_map(named_file) {
        // The check has read it before.
        let Ok(file) = std::fs::read(Path::new(path)) else {
            continue;
        };
        for finding in input_files::examine(option, path, &file, context).findings {
            text.push_str(&format!("  {}: {}\n", finding.place, finding.text));
        }
    }
    match text.is_empty() {
        true => "  OpenSM 3.3 reads its input files in the same way\n".to_owned(),
        false => text,
    }
}

/// The option of OpenSM for a key that names a file, and the file.
fn named_file(key: &ExportedKey) -> Option<(&'static str, &str)> {
    let KeyValue::Text(path) = &key.value else {
        return None;
    };
    let option = options::of_opensm().find(|option| match option.equivalent {
        Equivalent::Key(equivalent) => {
            equivalent.key == key.key && equivalent.conversion == Conversion::Path
        }
        Equivalent::NotNeeded(_) | Equivalent::Absent { .. } => false,
    })?;
    (!path.is_empty() && option.name != "dump_files_dir").then_some((option.name, path))
}
