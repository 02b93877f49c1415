//! `ferrosm config export opensm`: the configuration as files of OpenSM.

use std::path::Path;

use ferrosm_opensm_compat::export::{self, ExportLoss, ExportedConf, KeyValue};
use ferrosm_store::atomic;

use crate::cli::{ExportArgs, ExportFormat};
use crate::config::{self, Settings};
use crate::failure::Failure;
use crate::output::{self, table};

/// Runs the command.
///
/// # Errors
/// All errors of the configuration; a file exists or cannot be written; status 1 if something is
/// lost.
pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let ExportFormat::Opensm = args.format;
    let settings = super::source(args.file.as_deref())?.resolve(|_| {})?;
    let directory = std::path::absolute(&args.output).map_err(Failure::runtime)?;
    std::fs::create_dir_all(&directory)
        .map_err(|e| Failure::runtime(format!("cannot create {}: {e}", directory.display())))?;
    let conf = directory.join("opensm.conf");
    let partitions = directory.join("partitions.conf");
    for path in [&conf, &partitions] {
        if path.exists() && !args.force {
            return Err(Failure::with_hint(
                format!("{} exists", path.display()),
                "--force replaces it.",
            ));
        }
    }
    let exported = exported(&settings, &partitions);
    write(&conf, &exported.text)?;
    let list = settings.sm.partitions.list();
    let has_partitions =
        settings.partitions.file.is_some() || !settings.partition_entries.is_empty();
    if has_partitions {
        write(&partitions, &export::partitions_conf(list))?;
    } else if partitions.exists() {
        std::fs::remove_file(&partitions).map_err(|e| {
            Failure::runtime(format!("cannot remove {}: {e}", partitions.display()))
        })?;
    }
    output::print(&report(&conf, &exported.losses))?;
    match exported.losses.is_empty() || args.accept {
        true => Ok(()),
        false => Err(Failure::Status(1)),
    }
}

fn exported(settings: &Settings, partitions: &Path) -> ExportedConf {
    let keys = config::exported_keys(settings);
    let policy = keys
        .iter()
        .find(|key| key.key == "qos.policy-file" && !key.is_default)
        .and_then(|key| match &key.value {
            KeyValue::Text(path) => Some(path.as_str()),
            KeyValue::Flag(_)
            | KeyValue::Whole(_)
            | KeyValue::List(_)
            | KeyValue::Milliseconds(_) => None,
        });
    export::conf(&keys, &partitions.to_string_lossy(), policy)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    atomic::write_private(path, |out| out.write_all(text.as_bytes()))
        .map_err(|e| Failure::runtime(format!("cannot write {}: {e}", path.display())))
}

fn report(conf: &Path, losses: &[ExportLoss]) -> String {
    let mut text = String::new();
    if !losses.is_empty() {
        let mut rows = table::new(["Key", "Lost with OpenSM"]);
        table::wrap(&mut rows);
        for loss in losses {
            rows.add_row([&loss.key, &loss.reason]);
        }
        text.push_str(&format!("{rows}\n"));
    }
    let conf = conf.display();
    text.push_str(&format!(
        "{}; start OpenSM with `opensm -F {conf}`\n",
        match losses.len() {
            0 => "OpenSM can do the same".to_owned(),
            count => table::count(count, "key is lost", "keys are lost"),
        }
    ));
    text
}
