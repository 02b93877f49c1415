//! Files that describe fabrics in formats without a reader here: what they are, and which file to
//! use instead.

/// A format that is recognised but not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherFormat {
    /// What the file is.
    pub name: &'static str,
    /// What to use instead.
    pub instead: &'static str,
}

const IBNETDISCOVER: &str = "use the output of `ibnetdiscover` without options";
const IBDIAGNET: &str = "use ibdiagnet2.lst or ibdiagnet2.ibnetdiscover of the same run";
const CABLES: &str = "use a file with links and GUIDs, such as the output of `ibnetdiscover`";

type IsLine = fn(&str) -> bool;

/// Formats, with a test of a line that no other format has.
const FORMATS: [(IsLine, OtherFormat); 10] = [
    (
        |line| line.contains(": IB#") && line.contains(": N#"),
        OtherFormat {
            name: "ibdiagnet2.net_dump, which does not contain the neighbours of switches",
            instead: IBDIAGNET,
        },
    ),
    (
        is_ports_report,
        OtherFormat {
            name: "the ports report of `ibnetdiscover -p`",
            instead: IBNETDISCOVER,
        },
    ),
    (
        |line| line.contains("==(") && line.contains(")==>"),
        OtherFormat {
            name: "the output of `iblinkinfo`",
            instead: IBNETDISCOVER,
        },
    ),
    (
        |line| {
            let kind = ["Ca", "Switch", "Router"]
                .iter()
                .find_map(|word| line.strip_prefix(word));
            kind.is_some_and(|rest| rest.trim_start().starts_with(": 0x") && rest.contains("devid"))
        },
        OtherFormat {
            name: "a list of nodes (`ibnetdiscover -l`, `ibswitches`, `ibhosts`) without links",
            instead: IBNETDISCOVER,
        },
    ),
    (
        |line| line == "START_NODES" || line == "START_LINKS",
        OtherFormat {
            name: "ibdiagnet's or UFM's db_csv",
            instead: IBDIAGNET,
        },
    ),
    (
        |line| line.to_ascii_lowercase().starts_with("startdevice,"),
        OtherFormat {
            name: "UFM's cable list (.ndt)",
            instead: CABLES,
        },
    ),
    (
        |line| line.starts_with("SwitchName="),
        OtherFormat {
            name: "Slurm's topology.conf",
            instead: CABLES,
        },
    ),
    (
        |line| line.starts_with("Unicast lids ["),
        OtherFormat {
            name: "a dump of LFTs (`dump_fts`, opensm-lfts.dump)",
            instead: "use opensm-subnet.lst of the same dump, or the output of `ibnetdiscover`",
        },
    ),
    (
        // `    P1 -4x-10G-> MTS3610 sw1 P3`
        |line| {
            let mut words = line.split_whitespace().skip(1);
            words
                .next()
                .is_some_and(|word| word.starts_with('-') && word.ends_with("->"))
        },
        OtherFormat {
            name: "a topology file of ibutils (.topo)",
            instead: CABLES,
        },
    ),
    (
        |line| matches!(line, "{" | "[") || line.starts_with("{\"") || line.starts_with("[{"),
        OtherFormat {
            name: "JSON",
            instead: "use `--format ibnet` for files that are read again, or the output of `ibnetdiscover`",
        },
    ),
];

/// `CA     7  1 0x0002c90400000061 4x HDR - SW     5  2 0x0002c90300000040 ( 'h' - 'leaf' )`
fn is_ports_report(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().take(4).collect();
    matches!(words[..], ["CA" | "SW" | "RT", lid, port, guid]
        if [lid, port].iter().all(|word| word.bytes().all(|b| b.is_ascii_digit())) && guid.starts_with("0x"))
}

/// The format of a text in which no node was found, and the first line that shows it, from 1.
pub(super) fn detect(text: &str) -> Option<(usize, OtherFormat)> {
    let lines = text.lines().enumerate();
    let mut formats = lines.filter_map(|(index, line)| {
        let line = line.trim();
        let found = FORMATS.iter().find(|(is_line, _)| is_line(line))?;
        Some((index + 1, found.1))
    });
    formats.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_other_programs_are_named() {
        for (line, name) in [
            (
                "#  : IB# : Sta : PhysSta : LWA : LSA : Neighbor Guid : N# : NLID",
                "net_dump",
            ),
            (
                "CA     7  1 0x0002c90400000061 4x HDR - SW     5  2 0x0002c90300000040 ( 'h' - 'leaf' )",
                "`ibnetdiscover -p`",
            ),
            (
                "SW     5  3 0x0002c90300000040 4x ???  'leaf'",
                "`ibnetdiscover -p`",
            ),
            (
                "           5    3[  ] ==( 4X  53.125 Gbps Active/  LinkUp)==>       2    3[  ] \"spine-0\" ( )",
                "`iblinkinfo`",
            ),
            (
                "Switch\t: 0x0002c90300000040 ports 4 devid 0xd2f0 vendid 0x2c9 \"leaf\"",
                "list of nodes",
            ),
            ("START_NODES", "db_csv"),
            (
                "StartDevice,StartPort,StartDeviceLocation,EndDevice,EndPort,EndDeviceLocation",
                ".ndt",
            ),
            ("SwitchName=leaf Nodes=n[1-4]", "Slurm"),
            (
                "Unicast lids [0x0-0x5] of switch DR path slid 0 guid 0x1 (leaf):",
                "LFTs",
            ),
            ("   P1 -4x-10G-> MTS3610 sw1 P3", "ibutils"),
            ("{\"nodes\": []}", "JSON"),
            ("[", "JSON"),
        ] {
            let (at, format) = detect(&format!("\n{line}\n")).unwrap_or_else(|| panic!("{line}"));
            assert!(at == 2 && format.name.contains(name), "{line}: {format:?}");
        }
        assert_eq!(detect("nothing\n[1] \"x\"[1]\n{ a }\n"), None);
    }
}
