//! The process: log, dumps, console, performance manager, plugins.

use super::super::FlagValue::{Required, Sets};
use super::super::conversion::Conversion;
use super::super::value::ValueFormat::{Boolean, Text};
use super::super::value::{HEX_BYTE, LONG, WORD};
use super::{Equivalent, NotNeeded, OpenSmOption, file};

const NO_PERFMGR: Equivalent = Equivalent::operation("ferrosm has no performance manager");
const NO_PLUGINS: Equivalent =
    Equivalent::operation("ferrosm loads no plugins; the API and the log report events");
const CONSOLE: Equivalent = NotNeeded(
    "commands of the running service: `ferrosm status`, `sweep`, `handover`, `takeover`, `state show`",
);

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("daemon", Boolean, "FALSE", NotNeeded("run it as a service: `systemctl enable --now ferrosm`"))
        .flag("daemon", Some('B'), Sets("TRUE")),
    OpenSmOption::new("fsync_high_avail_files", Boolean, "TRUE", NotNeeded("the store is always synced")),
    OpenSmOption::new("exit_on_fatal", Boolean, "TRUE", NotNeeded("faults of the fabric do not end ferrosm"))
        .flag("stay_on_fatal", Some('y'), Sets("FALSE")),
    OpenSmOption::new("console", Text, "off", CONSOLE)
        .flag("console", Some('q'), Required),
    OpenSmOption::new("console_port", WORD, "10000", NotNeeded("the service listens on a local socket only"))
        .flag("console-port", Some('C'), Required),
    OpenSmOption::new("log_flags", HEX_BYTE, "0x03", Equivalent::key("log.level", Conversion::LogLevel).run_flag("--log-level")
        .differs("ferrosm has levels instead of a mask."))
        .flag("D", Some('D'), Required),
    OpenSmOption::new("force_log_flush", Boolean, "FALSE", NotNeeded("each line is written at once")),
    OpenSmOption::new("log_file", Text, "/var/log/opensm.log", NotNeeded("the log goes to standard error, for the unit to the journal: append `2>>{}` to keep a file, and `--log-format opensm` for scripts that wait for SUBNET UP"))
        .flag("log_file", Some('f'), Required),
    OpenSmOption::new("log_max_size", LONG, "0", NotNeeded("limits of the log are those of the journal"))
        .flag("log_limit", Some('L'), Required),
    OpenSmOption::new("accum_log_file", Boolean, "TRUE", NotNeeded("the log goes to standard error"))
        .flag("erase_log_file", Some('e'), Sets("FALSE")),
    OpenSmOption::new("log_prefix", Text, "(null)", NotNeeded("each subnet has a service, and so a log, of its own"))
        .flag("log_prefix", None, Required),
    OpenSmOption::new("per_module_logging_file", Text, "/etc/opensm/per-module-logging.conf", NotNeeded("`log.level` has levels by module")),
    OpenSmOption::new("dump_files_dir", Text, "/var/log/", file("files.dump-dir").run_flag("--dump-dir")
        .differs("ferrosm writes no dumps unless the key names a directory."))
        .flag("dump_files_dir", None, Required),
    OpenSmOption::new("node_name_map_name", Text, "(null)", Equivalent::operation("nodes have the name of their NodeDescription")),
    OpenSmOption::new("event_plugin_name", Text, "(null)", NO_PLUGINS),
    OpenSmOption::new("event_plugin_options", Text, "(null)", NO_PLUGINS),
    OpenSmOption::new("event_db_dump_file", Text, "(null)", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr", Boolean, "FALSE", NO_PERFMGR)
        .flag("perfmgr", None, Sets("TRUE")),
    OpenSmOption::new("perfmgr_redir", Boolean, "TRUE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_sweep_time_s", WORD, "180", NO_PERFMGR).requires("perfmgr")
        .flag("perfmgr_sweep_time_s", None, Required),
    OpenSmOption::new("perfmgr_max_outstanding_queries", LONG, "500", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_ignore_cas", Boolean, "FALSE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_rm_nodes", Boolean, "TRUE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_log_errors", Boolean, "TRUE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_query_cpi", Boolean, "TRUE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_xmit_wait_log", Boolean, "FALSE", NO_PERFMGR).requires("perfmgr"),
    OpenSmOption::new("perfmgr_xmit_wait_threshold", LONG, "65535", NO_PERFMGR).requires("perfmgr"),
];
