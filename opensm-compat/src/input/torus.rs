//! `torus-2QoS.conf`: dimensions of a torus or mesh, and links that define its axes.
//!
//! ```text
//! torus 4 4 1t                # or mesh; a radix may end in t (wraps around) or m (does not)
//! xp_link 0x2001 0x2002       # also xm_link, yp_link, ym_link, zp_link, zm_link
//! x_dateline -1               # also y_dateline, z_dateline
//! next_seed                   # the following lines describe another seed
//! portgroup_max_ports 16
//! port_order 3 4 1 2
//! max_changes 32              # accepted, but has no effect
//! ```
//!
//! As in OpenSM, additional words in a line are ignored.

use ferrosm_core::config::hints::{GuidSeed, GuidTorus};
use ferrosm_mad::ids::{NodeGuid, PortNum};

use super::line::{self, Line, Parsed, parse_lines};
use crate::error::InputError;

/// OpenSM's default.
const PORTGROUP_MAX_PORTS: u16 = 16;

const LINKS: [&str; 6] = [
    "xp_link", "xm_link", "yp_link", "ym_link", "zp_link", "zm_link",
];
const DATELINES: [&str; 3] = ["x_dateline", "y_dateline", "z_dateline"];
const OTHER_KEYWORDS: [&str; 6] = [
    "torus",
    "mesh",
    "next_seed",
    "portgroup_max_ports",
    "port_order",
    "max_changes",
];

/// Parser state.
struct TorusParser {
    shape: Option<([u16; 3], [bool; 3])>,
    seeds: Vec<GuidSeed>,
    seed: GuidSeed,
    portgroup_max_ports: u16,
    port_order: Vec<PortNum>,
}

/// Parses the text.
///
/// # Errors
/// Unknown keywords, invalid values, and a file whose first keyword is not `torus` or `mesh`.
pub fn parse(text: &str) -> Result<GuidTorus, Vec<InputError>> {
    let mut parser = TorusParser {
        shape: None,
        seeds: Vec::new(),
        seed: GuidSeed::default(),
        portgroup_max_ports: PORTGROUP_MAX_PORTS,
        port_order: Vec::new(),
    };
    parse_lines(line::lines(text), |line| parser.parse_line(line))?;
    let Some((radix, wraps)) = parser.shape else {
        return Err(vec![InputError::in_file(
            "missing dimensions: expected a line such as `torus 4 4 4` or `mesh 4 4 1`",
        )]);
    };
    parser.next_seed();
    Ok(GuidTorus {
        radix,
        wraps,
        seeds: parser.seeds,
        portgroup_max_ports: parser.portgroup_max_ports,
        port_order: parser.port_order,
    })
}

impl TorusParser {
    fn next_seed(&mut self) {
        let seed = core::mem::take(&mut self.seed);
        if seed != GuidSeed::default() {
            self.seeds.push(seed);
        }
    }

    fn parse_line(&mut self, mut line: Line<'_>) -> Parsed<()> {
        let Some((at, word)) = line.next_word() else {
            return Ok(());
        };
        let position = |candidates: &[&str]| candidates.iter().position(|w| *w == word);
        if self.shape.is_none() && position(&["torus", "mesh"]).is_none() {
            return Err(line.error(at, format!("`{word}` before `torus` or `mesh`")));
        }
        if let Some(direction) = position(&LINKS) {
            return self.parse_link(&mut line, at, direction);
        }
        if let Some(dimension) = position(&DATELINES) {
            return self.parse_dateline(&mut line, dimension);
        }
        match word {
            "torus" | "mesh" => self.parse_shape(&mut line, at, word == "torus")?,
            "next_seed" => self.next_seed(),
            "portgroup_max_ports" => {
                self.portgroup_max_ports = line.number("number of ports", 1, 255)?;
            }
            "port_order" => self.parse_port_order(line)?,
            "max_changes" => {
                line.number::<u32>("number", 0, u64::from(u32::MAX))?;
            }
            _ => {
                let keywords = LINKS
                    .iter()
                    .chain(&DATELINES)
                    .chain(&OTHER_KEYWORDS)
                    .copied();
                let hint = crate::keyword::nearest_keyword(word, keywords)
                    .map_or_else(String::new, |suggestion| {
                        format!(": did you mean `{suggestion}`?")
                    });
                return Err(line.error(at, format!("unknown keyword `{word}`{hint}")));
            }
        }
        Ok(())
    }

    fn parse_shape(&mut self, line: &mut Line<'_>, at: usize, is_torus: bool) -> Parsed<()> {
        if self.shape.is_some() {
            return Err(line.error(at, "duplicate `torus` or `mesh`"));
        }
        let mut radix = [1; 3];
        let mut wraps = [is_torus; 3];
        for (radix, wraps) in radix.iter_mut().zip(&mut wraps) {
            let (at, word) = line.next_word().ok_or_else(|| line.missing("a radix"))?;
            let digits = word.trim_end_matches(['t', 'T', 'm', 'M']);
            match &word[digits.len()..] {
                "" => {}
                "t" | "T" => *wraps = true,
                "m" | "M" => *wraps = false,
                suffix => {
                    return Err(
                        line.error(at, format!("invalid suffix `{suffix}`: expected t or m"))
                    );
                }
            }
            *radix = line::parse_number(digits)
                .and_then(|n| u16::try_from(n).ok())
                .filter(|n| (1..=4096).contains(n))
                .ok_or_else(|| {
                    line.error(
                        at,
                        format!("invalid radix `{word}`: expected a number such as 4, 4t or 4m"),
                    )
                })?;
            // A ring of two switches has two parallel links and does not wrap.
            *wraps &= *radix > 2;
        }
        self.shape = Some((radix, wraps));
        Ok(())
    }

    fn parse_link(&mut self, line: &mut Line<'_>, at: usize, direction: usize) -> Parsed<()> {
        let from = NodeGuid(line.guid()?);
        let to = NodeGuid(line.guid()?);
        if from == to {
            return Err(line.error(at, "a link needs two different switches"));
        }
        if self.seed.links[direction].is_some() {
            let keyword = LINKS[direction];
            return Err(line.error(at, format!("duplicate {keyword} for this seed")));
        }
        let other = self.seed.links.iter().flatten().find(|(f, _)| *f != from);
        if let Some((first, _)) = other {
            let message = format!(
                "all links of a seed must start at one switch: this seed starts at {first}"
            );
            return Err(line.error(at, message));
        }
        self.seed.links[direction] = Some((from, to));
        Ok(())
    }

    fn parse_dateline(&mut self, line: &mut Line<'_>, dimension: usize) -> Parsed<()> {
        let max = self.shape.map_or(1, |(radix, _)| radix[dimension]);
        let (at, word) = line.next_word().ok_or_else(|| line.missing("a number"))?;
        let (negative, digits) = match word.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, word),
        };
        let value = line::parse_number(digits)
            .filter(|n| *n < u64::from(max))
            .and_then(|n| i16::try_from(n).ok())
            .ok_or_else(|| {
                let max = max - 1;
                line.error(
                    at,
                    format!("invalid number `{word}`: expected -{max} to {max}"),
                )
            })?;
        self.seed.dateline[dimension] = if negative { -value } else { value };
        Ok(())
    }

    fn parse_port_order(&mut self, mut line: Line<'_>) -> Parsed<()> {
        let mut ports = vec![line.port()?];
        while line.clone().next_word().is_some() {
            let port = line.port()?;
            // Repeated ports are ignored.
            if !ports.contains(&port) {
                ports.push(port);
            }
        }
        self.port_order = ports;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors_of(text: &str) -> String {
        let errors = parse(text).unwrap_err();
        let lines: Vec<String> = errors
            .iter()
            .map(|e| match e.position {
                Some((line, column)) => format!("{line}:{column}: {}", e.message),
                None => e.message.clone(),
            })
            .collect();
        lines.join("\n")
    }

    #[test]
    fn two_seeds_are_parsed() {
        let torus = parse(
            "# 2D\n torus 1 4 5m\n\nyp_link 0x200000 0x200005  # a remark\nym_link 0x200000 0x20000f and more\n\
             zp_link 0x200000 0x200001\nnext_seed\nyp_link 0x20000b 0x200010\ny_dateline -2\nz_dateline 3\n\
             portgroup_max_ports 20\nport_order 3 4 3 1\nmax_changes 7\n",
        )
        .unwrap();
        assert_eq!(
            (torus.radix, torus.wraps),
            ([1, 4, 5], [false, true, false])
        );
        assert_eq!(torus.seeds.len(), 2);
        let n = |g: u64| NodeGuid(0x20_0000 + g);
        assert_eq!(
            torus.seeds[0].links,
            [
                None,
                None,
                Some((n(0), n(5))),
                Some((n(0), n(0xf))),
                Some((n(0), n(1))),
                None
            ]
        );
        assert_eq!(torus.seeds[1].dateline, [0, -2, 3]);
        assert_eq!(torus.portgroup_max_ports, 20);
        assert_eq!(torus.port_order, [3, 4, 1].map(PortNum));
    }

    /// As in torus-2QoS.conf(5). A ring of two switches does not wrap.
    #[test]
    fn radix_suffixes_override_the_keyword() {
        let shape = |text| parse(text).map(|t| (t.radix, t.wraps)).unwrap();
        assert_eq!(shape("mesh 3T 4 5"), shape("torus 3 4M 5M"));
        assert_eq!(shape("torus 2 3 4").1, [false, true, true]);
        assert_eq!(parse("torus 3 3 3").unwrap().portgroup_max_ports, 16);
    }

    #[test]
    fn invalid_lines_are_reported_with_positions() {
        assert_eq!(
            errors_of("xp_link 1 2\ntorus 4 4\ntorus 4 0 4\ntorus 4 4x 4\ntorus 4 4tm 4\n"),
            "1:1: `xp_link` before `torus` or `mesh`\n\
             2:10: a radix is missing\n\
             3:9: invalid radix `0`: expected a number such as 4, 4t or 4m\n\
             4:9: invalid radix `4x`: expected a number such as 4, 4t or 4m\n\
             5:9: invalid suffix `tm`: expected t or m"
        );
        assert_eq!(
            errors_of(
                "torus 4 4 4\nxp_lnk 1 2\nxp_link 1\nxp_link 1 1\nxp_link 1 2\nxp_link 1 3\nyp_link 9 2\n\
                 x_dateline 4\nx_dateline\nport_order 0\nportgroup_max_ports\nmesh 4 4 4\n"
            ),
            "2:1: unknown keyword `xp_lnk`: did you mean `xp_link`?\n\
             3:10: a GUID is missing\n\
             4:1: a link needs two different switches\n\
             6:1: duplicate xp_link for this seed\n\
             7:1: all links of a seed must start at one switch: this seed starts at 0x0000000000000001\n\
             8:12: invalid number `4`: expected -3 to 3\n\
             9:11: a number is missing\n\
             10:12: invalid port `0`: expected 1 to 254\n\
             11:20: number of ports is missing\n\
             12:1: duplicate `torus` or `mesh`"
        );
        assert_eq!(
            errors_of("# nothing\n"),
            "missing dimensions: expected a line such as `torus 4 4 4` or `mesh 4 4 1`"
        );
    }
}
