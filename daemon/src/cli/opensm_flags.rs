//! Flags of OpenSM on ferrosm's command line, with their equivalents.
//!
//! Operators type them from memory or copy them from an init script. clap would report one of them
//! at a time and may suggest a flag of another meaning, so `main` calls [`explain`] before it
//! prints clap's message. The flags are those of opensm(8), 3.3.23.

use core::fmt::Write as _;

/// What replaces a flag. `{}` stands for its value.
#[derive(Debug, Clone, Copy)]
enum Equivalent {
    /// A flag of `ferrosm run`.
    Flag(&'static str),
    /// A line of the configuration file.
    Key(&'static str),
    /// No setting.
    Note(&'static str),
}

/// Whether a flag has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Required,
    /// A value only if the next word is no flag (OpenSM's `--console`).
    Optional,
}

struct OpenSmFlag {
    long: &'static str,
    short: Option<char>,
    value: Value,
    equivalent: Equivalent,
}

const fn flag(
    long: &'static str,
    short: Option<char>,
    value: Value,
    equivalent: Equivalent,
) -> OpenSmFlag {
    OpenSmFlag {
        long,
        short,
        value,
        equivalent,
    }
}

use Equivalent::{Flag, Key, Note};
use Value::{None as NoValue, Optional, Required};

/// Flags that `ferrosm run` does not have, or has with another short form.
#[rustfmt::skip]
const OPENSM_FLAGS: &[OpenSmFlag] = &[
    flag("config", Some('F'), Required, Flag("--config FILE (ferrosm's own format, not opensm.conf: `ferrosm config print --default`)")),
    flag("create-config", Some('c'), Required, Note("`ferrosm config print --default` prints every key with its default")),
    flag("guid", Some('g'), Required, Flag("--port-guid {}")),
    flag("lmc", Some('l'), Required, Flag("--lmc {}")),
    flag("priority", Some('p'), Required, Flag("--priority {}")),
    flag("subnet_prefix", None, Required, Key("subnet.prefix = \"{}\"")),
    flag("smkey", Some('k'), Required, Key("sm.sm-key = \"{}\"")),
    flag("reassign_lids", Some('r'), NoValue, Key("lids.reassign = true")),
    flag("routing_engine", Some('R'), Required, Flag("--engine {}")),
    flag("do_mesh_analysis", None, NoValue, Note("not needed: `auto` detects meshes and tori")),
    flag("lash_start_vl", None, Required, Note("no equivalent: lash starts at VL 0")),
    flag("sm_sl", None, Required, Note("no equivalent: the routing selects the SL of paths to the SM")),
    flag("nue_max_num_vls", None, Required, Flag("--vls {}")),
    flag("connect_roots", Some('z'), NoValue, Note("not needed: routes reach all switches, roots too")),
    flag("ucast_cache", Some('A'), NoValue, Note("not needed: a lost link changes only the routes that used it")),
    flag("lid_matrix_file", Some('M'), Required, Note("no equivalent: hop counts come from discovery")),
    flag("lfts_file", Some('U'), Required, Key("routing.lfts-file = \"{}\" (with engine file)")),
    flag("sadb_file", Some('S'), Required, Note("`ferrosm state import opensm-sa.dump` imports it once, under that name; ferrosm keeps registrations in its own store")),
    flag("root_guid_file", Some('a'), Required, Key("routing.root-guid-file = \"{}\"")),
    flag("cn_guid_file", Some('u'), Required, Key("routing.cn-guid-file = \"{}\"")),
    flag("io_guid_file", Some('G'), Required, Key("routing.io-guid-file = \"{}\"")),
    flag("port-shifting", None, NoValue, Note("not needed: the engines balance routes over all links")),
    flag("scatter-ports", None, Required, Note("not needed: the engines balance routes over all links")),
    flag("max_reverse_hops", Some('H'), Required, Note("no equivalent: ftree routes to I/O nodes without reverse hops")),
    flag("ids_guid_file", Some('m'), Required, Key("routing.ids-guid-file = \"{}\"")),
    flag("guid_routing_order_file", Some('X'), Required, Key("routing.guid-routing-order-file = \"{}\"")),
    flag("guid_routing_order_no_scatter", None, NoValue, Note("not needed: ports are never selected at random")),
    flag("torus_config", None, Required, Key("routing.torus-config = \"{}\"")),
    flag("once", Some('o'), NoValue, Flag("--once")),
    flag("sweep", Some('s'), Required, Key("sweep.interval = \"{}s\"")),
    flag("timeout", Some('t'), Required, Key("sweep.smp-timeout = \"{}ms\"")),
    flag("retries", None, Required, Key("sweep.smp-retries = {}")),
    flag("maxsmps", Some('n'), Required, Key("sweep.max-outstanding = {} (0, unlimited: 4096)")),
    flag("console", Some('q'), Optional, Note("commands of the running service: `ferrosm sweep`, `handover`, `takeover`, `state show`")),
    flag("console-port", Some('C'), Required, Note("the service listens on a local socket only")),
    flag("ignore_guids", Some('i'), Required, Key("routing.port-prof-ignore-file = \"{}\"")),
    flag("hop_weights_file", Some('w'), Required, Key("routing.hop-weights-file = \"{}\"")),
    flag("port_search_ordering_file", Some('O'), Required, Key("routing.port-search-ordering-file = \"{}\"")),
    flag("dimn_ports_file", None, Required, Key("routing.port-search-ordering-file = \"{}\"")),
    flag("honor_guid2lid", Some('x'), NoValue, Note("not needed: persisted LIDs always apply; `ferrosm state import guid2lid` imports OpenSM's")),
    flag("dump_files_dir", None, Required, Flag("--dump-dir {}")),
    flag("log_file", Some('f'), Required, Note("the log goes to standard error, for the unit to the journal: append `2>>{}` to keep a file, and `--log-format opensm` for scripts that wait for SUBNET UP")),
    flag("log_limit", Some('L'), Required, Note("limits of the log are those of the journal")),
    flag("erase_log_file", Some('e'), NoValue, Note("the log goes to standard error")),
    flag("Pconfig", None, Required, Flag("-P {}")),
    flag("no_part_enforce", Some('N'), NoValue, Key("partitions.enforce = \"off\"")),
    flag("part_enforce", Some('Z'), Required, Key("partitions.enforce = \"{}\"")),
    flag("allow_both_pkeys", Some('W'), NoValue, Key("partitions.allow-both-pkeys = true")),
    flag("qos", Some('Q'), NoValue, Note("not needed: a QoS policy (-Y FILE) applies without it")),
    flag("congestion_control", None, NoValue, Note("ferrosm does not configure congestion control")),
    flag("cc_key", None, Required, Note("ferrosm does not configure congestion control")),
    flag("stay_on_fatal", Some('y'), NoValue, Note("not needed: faults of the fabric do not end ferrosm")),
    flag("daemon", Some('B'), NoValue, Note("run it as a service: `systemctl enable --now ferrosm`")),
    flag("inactive", Some('I'), NoValue, Note("no equivalent: do not start the service")),
    flag("perfmgr", None, NoValue, Note("ferrosm has no performance manager")),
    flag("perfmgr_sweep_time_s", None, Required, Note("ferrosm has no performance manager")),
    flag("consolidate_ipv6_snm_req", None, NoValue, Key("sa.consolidate-solicited-node = true")),
    flag("log_prefix", None, Required, Note("not needed: each subnet has a service, and so a log, of its own")),
    flag("verbose", Some('v'), NoValue, Flag("--log-level debug")),
    flag("D", Some('D'), Required, Note("levels instead of a mask: `--log-level error`, `info` or `debug`")),
    flag("debug", Some('d'), Required, Note("no equivalent (-d0, ignore other SMs: `sm.allowed-guids`)")),
];

/// Long flags of OpenSM that `ferrosm run` accepts with the same meaning.
const SHARED: &[&str] = &["config", "lmc", "priority", "once", "Pconfig"];

/// A flag of OpenSM with its value, as typed.
struct Found {
    typed: String,
    value: Option<String>,
    flag: &'static OpenSmFlag,
}

/// The equivalents of all flags of OpenSM in the arguments of `run` and `demo`, or of a command
/// line without a command; `None` if there are none.
#[must_use]
pub fn explain(arguments: &[String]) -> Option<String> {
    let flags = match arguments.first().map(String::as_str) {
        Some("run" | "demo") => &arguments[1..],
        Some(word) if word.starts_with('-') => arguments,
        Some(_) | None => return None,
    };
    let (found, kept) = split(flags);
    (!found.is_empty()).then(|| render(&found, &kept))
}

/// The flags of OpenSM, and the other words.
fn split(words: &[String]) -> (Vec<Found>, Vec<String>) {
    let mut found = Vec::new();
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let Some((flag, attached)) = parse_word(word) else {
            kept.push(word.clone());
            continue;
        };
        let mut typed = word.clone();
        let mut value = attached.map(str::to_owned);
        let takes_next = match flag.value {
            NoValue => false,
            Required => value.is_none(),
            Optional => value.is_none() && words.peek().is_some_and(|next| !next.starts_with('-')),
        };
        if takes_next && let Some(next) = words.next() {
            let _ = write!(typed, " {next}");
            value = Some(next.clone());
        }
        found.push(Found { typed, value, flag });
    }
    (found, kept)
}

/// A flag of OpenSM, and the value in the same word.
fn parse_word(word: &str) -> Option<(&'static OpenSmFlag, Option<&str>)> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let same_letters =
            |flag: &&OpenSmFlag| flag.long.replace('_', "-") == name.replace('_', "-");
        let is_shared = SHARED.contains(&name);
        let flag = OPENSM_FLAGS
            .iter()
            .find(same_letters)
            .filter(|_| !is_shared)?;
        return Some((flag, value));
    }
    let mut letters = word.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    let flag = OPENSM_FLAGS
        .iter()
        .find(|flag| flag.short == Some(letter))?;
    let rest = letters.as_str();
    Some((flag, (!rest.is_empty()).then_some(rest)))
}

fn render(found: &[Found], kept: &[String]) -> String {
    let mut out = String::from("flags of OpenSM:");
    let mut command = vec!["ferrosm run".to_owned()];
    let mut keys = Vec::new();
    let width = found
        .iter()
        .map(|f| f.typed.chars().count())
        .max()
        .unwrap_or(0);
    for Found { typed, value, flag } in found {
        let fill = |text: &str| text.replace("{}", value.as_deref().unwrap_or("..."));
        let text = match (flag.short, value.as_deref()) {
            (Some('p'), Some(value)) if value.parse::<u8>().is_err() => {
                command.push(format!("-P {value}"));
                format!("-P {value} (OpenSM's -p is the priority, -P the partition file)")
            }
            _ => match flag.equivalent {
                Flag(text) => {
                    let text = fill(text);
                    command.push(text.split(" (").next().unwrap_or_default().to_owned());
                    text
                }
                Key(text) => {
                    let text = fill(text);
                    keys.push(text.split(" (").next().unwrap_or_default().to_owned());
                    text
                }
                Note(text) => fill(text),
            },
        };
        // Writing into a String cannot fail, here and below.
        let _ = write!(out, "\n  {typed:width$}  {text}");
    }
    command.extend_from_slice(kept);
    let _ = write!(out, "\n  ferrosm's command: {}", command.join(" "));
    if !keys.is_empty() {
        let _ = write!(out, "\n  in its configuration file: {}", keys.join(", "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(line: &str) -> Option<String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        explain(&words)
    }

    #[test]
    fn all_flags_are_explained_at_once() {
        let text = explained(
            "run -g 0x0002c90300aa0001 -p 11 -P partitions.conf -R ftree,updn,minhop --port-shifting --part_enforce both -B -f sm.log",
        )
        .unwrap();
        for line in [
            "-g 0x0002c90300aa0001  --port-guid 0x0002c90300aa0001",
            "-p 11                  --priority 11",
            "-R ftree,updn,minhop   --engine ftree,updn,minhop",
            "--port-shifting        not needed",
            "--part_enforce both    partitions.enforce = \"both\"",
            "-B                     run it as a service",
            "-f sm.log              the log goes to standard error",
            "ferrosm's command: ferrosm run --port-guid 0x0002c90300aa0001 --priority 11 --engine ftree,updn,minhop -P partitions.conf",
            "in its configuration file: partitions.enforce = \"both\"",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    /// A mistake seen on a mailing list, in a cluster that ran with it.
    #[test]
    fn priority_flag_with_a_file_name_means_the_partitions() {
        let text = explained("run -p /etc/opensm/partitions.conf").unwrap();
        assert!(
            text.contains("OpenSM's -p is the priority, -P the partition file"),
            "{text}"
        );
        assert!(
            text.ends_with("ferrosm run -P /etc/opensm/partitions.conf"),
            "{text}"
        );
    }

    #[test]
    fn spellings_of_flags_and_values_are_recognised() {
        for (line, expected) in [
            ("run --part-enforce=in", "partitions.enforce = \"in\""),
            ("run -s30", "sweep.interval = \"30s\""),
            ("-B -g 0x1", "--port-guid 0x1"),
            ("run --console --once", "ferrosm run --once"),
            ("demo -R lash", "--engine lash"),
        ] {
            let text = explained(line).unwrap();
            assert!(text.contains(expected), "{line}: {text}");
        }
    }

    #[test]
    fn flags_of_ferrosm_are_left_to_the_parser() {
        for line in [
            "run --priority 3 --lmc 2 --config f.toml --once -P p -Y q --Pconfig p",
            "run --prot 1",
            "sweep -R",
            "-h",
            "",
        ] {
            assert_eq!(explained(line), None, "{line}");
        }
    }

    /// OpenSM's own help lists the flags that are recognised here or have the same meaning in
    /// ferrosm.
    #[test]
    fn no_short_flag_is_listed_twice() {
        for (i, flag) in OPENSM_FLAGS.iter().enumerate() {
            let twin = OPENSM_FLAGS[..i].iter().find(|other| {
                other.long == flag.long || (flag.short.is_some() && other.short == flag.short)
            });
            assert!(twin.is_none(), "{}", flag.long);
        }
    }
}
