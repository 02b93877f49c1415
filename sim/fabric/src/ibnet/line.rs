//! Parser of a single line.

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, Lmc};

use super::error::ReadErrorKind;

/// A parsed line.
#[derive(Debug, PartialEq)]
pub(super) enum IbnetLine<'a> {
    /// `Switch 36 "S-..."  # "name" enhanced port 0 lid 1 lmc 0`
    Node {
        kind: NodeType,
        ports: u8,
        id: &'a str,
        description: Option<&'a str>,
        lid: PortLid<'a>,
        enhanced: bool,
    },
    /// `[1](guid) "H-..."[1](guid)  # ...`; without a node ID it is a port without cable.
    Port {
        port: u8,
        guid: Option<u64>,
        peer: Option<(&'a str, u8)>,
        lid: Option<PortLid<'a>>,
        /// LID of the other port.
        peer_lid: Option<PortLid<'a>>,
        rate: Rate,
        /// A rate that the writer of the file did not know.
        unknown_rate: Option<&'a str>,
    },
    /// `@[1] "name"`
    Alias {
        port: u8,
        name: &'a str,
    },
    /// `switchguid=0x1(2)` and similar.
    Guid {
        kind: NodeType,
        guid: Guid,
        port0: Option<u64>,
    },
    Vendor(u32),
    Device(u16),
    SystemImage(u64),
    Width(u8),
    Speed(u8),
    ExtSpeed(u8),
    Module(&'a str),
    /// `include "FILE"`
    Include(&'a str),
    /// `do COMMAND`
    Command(&'a str),
    /// A known line without effect.
    Other,
    /// A prompt, a banner, or a misspelt keyword.
    Unknown,
}

/// LID and LMC of a port.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
pub(super) struct PortLid<'a> {
    pub(super) lid: Lid,
    pub(super) lmc: Lmc,
    /// A text in the place of the LID that is no unicast LID; the port has none then.
    pub(super) ignored: Option<&'a str>,
}

/// An absolute GUID, or one relative to the previous GUID.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(super) enum Guid {
    At(u64),
    Plus(u64),
}

/// Rate of a link.
#[derive(Debug, Default, PartialEq, Clone, Copy)]
pub(super) struct Rate {
    pub(super) width: Option<LinkWidth>,
    pub(super) speed: Option<LinkSpeed>,
}

type Parsed<'a> = Result<IbnetLine<'a>, ReadErrorKind>;

/// A keyword at the start of a line, and the parser of the line.
type KeyParser = for<'a> fn(&'a str) -> Parsed<'a>;

const KEYS: &[(&str, KeyParser)] = &[
    ("switchguid", |v| guid_line(NodeType::Switch, v)),
    ("hcaguids", |v| guid_line(NodeType::Ca, v)),
    ("hcaguid", |v| guid_line(NodeType::Ca, v)),
    ("caguids", |v| guid_line(NodeType::Ca, v)),
    ("caguid", |v| guid_line(NodeType::Ca, v)),
    ("rtguids", |v| guid_line(NodeType::Router, v)),
    ("rtguid", |v| guid_line(NodeType::Router, v)),
    ("vendid", |v| {
        Ok(IbnetLine::Vendor(number("vendor id", value(v))?))
    }),
    ("devid", |v| {
        Ok(IbnetLine::Device(number("device id", value(v))?))
    }),
    ("sysimgguid", |v| {
        Ok(IbnetLine::SystemImage(number("GUID", value(v))?))
    }),
    ("width", |v| {
        Ok(IbnetLine::Width(bits("width (1 to 31)", value(v), 31)?))
    }),
    ("speed", |v| {
        Ok(IbnetLine::Speed(bits("speed (0 to 7)", value(v), 7)?))
    }),
    ("extspeed", |v| {
        Ok(IbnetLine::ExtSpeed(bits(
            "extended speed (0 to 31)",
            value(v),
            31,
        )?))
    }),
    ("module", |v| {
        Ok(IbnetLine::Module(v[1..].trim().trim_matches('"')))
    }),
    ("pdebug", |_| Ok(IbnetLine::Other)),
];

/// Parses a line that has no surrounding blanks.
pub(super) fn parse(text: &str) -> Parsed<'_> {
    if text.is_empty() || text.starts_with('#') {
        return Ok(IbnetLine::Other);
    }
    if let Some(remaining) = text.strip_prefix('[') {
        let after = remaining.trim_start_matches(|c: char| c.is_ascii_digit());
        return match after.len() < remaining.len() {
            true if after.starts_with(']') => port_line(remaining),
            true if after.contains('"') => Err(ReadErrorKind::BadPortLine),
            // A shell prompt such as `[root@head ~]#` or `[12:30] head>`.
            _ => Ok(IbnetLine::Unknown),
        };
    }
    if let Some(remaining) = text.strip_prefix("@[") {
        let (port, remaining) = bracketed(remaining).ok_or(ReadErrorKind::BadPortLine)?;
        let (name, _) = quoted(remaining).ok_or(ReadErrorKind::BadPortLine)?;
        return Ok(IbnetLine::Alias {
            port: number("port", port)?,
            name,
        });
    }
    if let Some((word, kind, rest)) = header(text) {
        return node_line(word, kind, rest);
    }
    for (key, parser) in KEYS {
        if let Some(remaining) = text.strip_prefix(key)
            && remaining.starts_with(['=', '+'])
        {
            return parser(remaining);
        }
    }
    if let Some(name) = include(text) {
        return Ok(IbnetLine::Include(name));
    }
    if text.starts_with("do ") || text.starts_with("do\t") {
        return Ok(IbnetLine::Command(text));
    }
    // Grouping lines of ibnetdiscover between records.
    if text.starts_with("Chassis ") || text.starts_with("Non-Chassis Nodes") {
        return Ok(IbnetLine::Other);
    }
    Ok(IbnetLine::Unknown)
}

/// The keyword and node type of a node record's first line, and the text after the keyword.
pub(super) fn header(text: &str) -> Option<(&'static str, NodeType, &str)> {
    [
        ("Switch", NodeType::Switch),
        ("Hca", NodeType::Ca),
        ("Ca", NodeType::Ca),
        ("Rt", NodeType::Router),
    ]
    .into_iter()
    .find_map(|(word, kind)| {
        // Copies from a terminal lose the tab after the keyword.
        let remaining = text.strip_prefix(word)?.trim_start();
        remaining
            .starts_with(|c: char| c.is_ascii_digit() || c == '"')
            .then_some((word, kind, remaining))
    })
}

/// The name of an included file.
pub(super) fn include(text: &str) -> Option<&str> {
    let remaining = text.strip_prefix("include")?.trim_start();
    let name = remaining.strip_prefix('"')?;
    Some(name.split_once('"').map_or(name, |(name, _)| name))
}

fn node_line<'a>(word: &'static str, kind: NodeType, rest: &'a str) -> Parsed<'a> {
    let parse_error = || ReadErrorKind::BadHeader(word);
    let digits = rest
        .split(|c: char| !c.is_ascii_digit())
        .next()
        .unwrap_or_default();
    let after = rest[digits.len()..].trim_start();
    let (id, remaining) = quoted(after).ok_or_else(parse_error)?;
    if id.is_empty() || digits.is_empty() || !after.starts_with('"') {
        return Err(parse_error());
    }
    let ports = number("number of ports (1 to 254)", digits)?;
    if ports == 0 || ports == u8::MAX {
        return Err(ReadErrorKind::BadNumber {
            description: "number of ports (1 to 254)",
            text: digits.to_owned(),
        });
    }
    let comment = remaining.split_once('#').map_or("", |(_, c)| c);
    let (_, description, tail) = outer_quotes(comment);
    Ok(IbnetLine::Node {
        kind,
        ports,
        id,
        description,
        lid: lid_and_lmc(tail)?.unwrap_or_default(),
        enhanced: tail.contains("enhanced port 0"),
    })
}

/// Parses a port line; `remaining` follows the opening bracket.
fn port_line(remaining: &str) -> Parsed<'_> {
    let parse_error = || ReadErrorKind::BadPortLine;
    let (port, remaining) = bracketed(remaining).ok_or_else(parse_error)?;
    let port = number("port", port)?;
    let (guid, remaining) = port_guid(skip_ext(remaining));
    let comment_at = remaining.find('#').unwrap_or(remaining.len());
    let (peer, remaining) = match remaining.find('"').filter(|quote| *quote < comment_at) {
        None => (None, &remaining[comment_at..]),
        Some(_) => {
            let (id, remaining) = quoted(remaining).ok_or_else(parse_error)?;
            match remaining.trim_start().strip_prefix('[') {
                None => (Some((id, 1)), remaining),
                Some(remaining) => {
                    let (peer_port, remaining) = bracketed(remaining).ok_or_else(parse_error)?;
                    (Some((id, number("port", peer_port)?)), remaining)
                }
            }
        }
    };
    let (_, remaining) = port_guid(skip_ext(remaining));
    let (options, comment) = remaining.split_once('#').unwrap_or((remaining, ""));
    let (before, name, tail) = outer_quotes(comment);
    let mut rate = rate_options(options)?;
    let (tail_rate, unknown_rate) = match rate_tail(tail) {
        Ok(found) => found,
        // Without a quoted name, the text is an ordinary comment.
        Err(_) if name.is_none() => (Rate::default(), None),
        Err(kind) => return Err(kind),
    };
    rate = Rate {
        width: tail_rate.width.or(rate.width),
        speed: tail_rate.speed.or(rate.speed),
    };
    Ok(IbnetLine::Port {
        port,
        guid,
        peer,
        lid: lid_and_lmc(before)?,
        peer_lid: match name {
            Some(_) => lid_and_lmc(tail)?,
            None => None,
        },
        rate,
        unknown_rate,
    })
}

/// The text up to `]`, and the rest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (inside, remaining) = text.split_once(']')?;
    Some((inside.trim(), remaining))
}

/// The text between the first two quotes, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.split_once('"')?.1.split_once('"')
}

/// Names may contain quotes and hashes: a name is the text between the first and the last quote.
fn outer_quotes(text: &str) -> (&str, Option<&str>, &str) {
    match (text.find('"'), text.rfind('"')) {
        (Some(first), Some(last)) if first < last => (
            &text[..first],
            Some(&text[first + 1..last]),
            &text[last + 1..],
        ),
        // Without a name, the values are in the comment itself.
        _ => (text, None, text),
    }
}

/// Skips `[ext 3]`, which recent ibnetdiscover prints after a port of a split cage.
fn skip_ext(text: &str) -> &str {
    match text.trim_start().strip_prefix("[ext") {
        Some(remaining) => bracketed(remaining).map_or(text, |(_, remaining)| remaining),
        None => text,
    }
}

/// `(2c903000a1b2)`: a hexadecimal port GUID. ibdiagnet repeats the port number there instead.
fn port_guid(text: &str) -> (Option<u64>, &str) {
    let Some((inside, rest)) = text
        .trim_start()
        .strip_prefix('(')
        .and_then(|t| t.split_once(')'))
    else {
        return (None, text);
    };
    let inside = inside.trim();
    let hex = inside.strip_prefix("0x").unwrap_or(inside);
    (
        u64::from_str_radix(hex, 16)
            .ok()
            .filter(|guid| *guid > 0xFFF),
        skip_ext(rest),
    )
}

/// The words after `lid` and `lmc`. LID 0 and LID 65535 mean no LID.
fn lid_and_lmc(text: &str) -> Result<Option<PortLid<'_>>, ReadErrorKind> {
    let mut words = text.split_whitespace().peekable();
    let mut lid = None;
    let mut lmc = None;
    while let Some(word) = words.next() {
        let slot = match word {
            "lid" => &mut lid,
            "lmc" => &mut lmc,
            _ => continue,
        };
        // ibnetdiscover prints no number for a port without a LID.
        slot.get_or_insert(words.peek().copied().filter(|next| *next != "lmc"));
    }
    if lid.is_none() && lmc.is_none() {
        return Ok(None);
    }
    let is_number = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit());
    let lmc: u8 = match lmc.flatten().filter(is_number) {
        Some(text) => number("LMC", text)?,
        None => 0,
    };
    if lmc > 7 {
        return Err(ReadErrorKind::BadNumber {
            description: "LMC",
            text: lmc.to_string(),
        });
    }
    let mut found = PortLid {
        lmc: Lmc(lmc),
        ..PortLid::default()
    };
    // A dump of a sick fabric must be readable, whatever its devices report.
    match lid.flatten() {
        Some(text) if is_number(&text) => match Lid(number("LID", text)?) {
            Lid(u16::MAX) => {}
            lid if lid == Lid::NONE || lid.is_unicast() => found.lid = lid,
            _ => found.ignored = Some(text),
        },
        Some(text) => found.ignored = Some(text),
        None => {}
    }
    Ok(Some(found))
}

/// `4xHDR` among the words of the tail. A rate that the writer did not know (`4x???`, `??xHDR`) is
/// returned as text.
fn rate_tail(tail: &str) -> Result<(Rate, Option<&str>), ReadErrorKind> {
    for word in tail.split_whitespace() {
        let suffix = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '?');
        let digits = &word[..word.len() - suffix.len()];
        let Some(name) = suffix
            .strip_prefix(['x', 'X'])
            .filter(|_| !digits.is_empty())
        else {
            continue;
        };
        let width = match digits.parse::<u8>() {
            Ok(n) if matches!(n, 1 | 2 | 4 | 8 | 12) => Some(LinkWidth(n)),
            _ if digits.contains('?') => None,
            _ => return Err(ReadErrorKind::UnknownWidth(word.to_owned())),
        };
        let speed = speed_named(name);
        if speed.is_none() && !name.starts_with('?') {
            return Err(ReadErrorKind::UnknownSpeed(name.to_owned()));
        }
        let unknown = (width.is_none() || speed.is_none()).then_some(word);
        return Ok((Rate { width, speed }, unknown));
    }
    Ok((Rate::default(), None))
}

/// A speed by its name, ignoring case.
pub(super) fn speed_named(name: &str) -> Option<LinkSpeed> {
    LinkSpeed::ALL
        .into_iter()
        .find(|s| s.name().eq_ignore_ascii_case(name))
}

/// ibsim's `w=`, `s=` and `e=`.
fn rate_options(text: &str) -> Result<Rate, ReadErrorKind> {
    let mut rate = Rate::default();
    let mut extended = None;
    for (at, _) in text.match_indices('=') {
        let name = text[..at].trim_end().chars().next_back();
        let value = text[at + 1..].split_whitespace().next().unwrap_or_default();
        match name {
            Some('w') => {
                rate.width = width_of(bits("width (1 to 31)", value, 31)?).or(rate.width);
            }
            Some('s') => rate.speed = speed_of(bits("speed (0 to 7)", value, 7)?),
            Some('e') => extended = ext_speed_of(bits("extended speed (0 to 31)", value, 31)?),
            _ => {}
        }
    }
    rate.speed = extended.or(rate.speed);
    Ok(rate)
}

/// An Enabled bit mask, at most `max`.
fn bits(description: &'static str, text: &str, max: u8) -> Result<u8, ReadErrorKind> {
    match number::<u8>(description, text)? {
        n if n > max => Err(ReadErrorKind::BadNumber {
            description,
            text: text.to_owned(),
        }),
        n => Ok(n),
    }
}

/// The largest width of LinkWidthEnabled.
pub(super) fn width_of(bits: u8) -> Option<LinkWidth> {
    [8, 4, 2, 16, 1]
        .into_iter()
        .find(|bit| bits & bit != 0)
        .and_then(LinkWidth::from_bit)
}

/// The highest speed of LinkSpeedEnabled; as in ibsim, 0 means 4.
pub(super) fn speed_of(bits: u8) -> Option<LinkSpeed> {
    match bits {
        0 | 4..=7 => Some(LinkSpeed::Qdr),
        2 | 3 => Some(LinkSpeed::Ddr),
        1 => Some(LinkSpeed::Sdr),
        _ => None,
    }
}

/// The highest speed of LinkSpeedExtEnabled.
pub(super) fn ext_speed_of(bits: u8) -> Option<LinkSpeed> {
    match bits {
        16..=31 => Some(LinkSpeed::Xdr),
        8..=15 => Some(LinkSpeed::Ndr),
        4..=7 => Some(LinkSpeed::Hdr),
        2 | 3 => Some(LinkSpeed::Edr),
        1 => Some(LinkSpeed::Fdr),
        _ => None,
    }
}

fn guid_line(kind: NodeType, remaining: &str) -> Parsed<'_> {
    let text = value(remaining);
    let guid = if remaining.starts_with('+') {
        Guid::Plus(number("GUID", text)?)
    } else {
        Guid::At(number("GUID", text)?)
    };
    // ibnetdiscover prints the GUID of a switch's port 0 after the node GUID.
    let port0 = remaining
        .split_once('(')
        .and_then(|(_, p)| port_guid_text(p));
    Ok(IbnetLine::Guid { kind, guid, port0 })
}

fn port_guid_text(text: &str) -> Option<u64> {
    let hex = text.split(')').next()?.trim();
    u64::from_str_radix(hex.strip_prefix("0x").unwrap_or(hex), 16).ok()
}

/// The value after the equals sign, up to a blank, a bracket or a comment.
fn value(remaining: &str) -> &str {
    let remaining = remaining.get(1..).unwrap_or_default().trim_start();
    remaining
        .split(|c: char| c.is_whitespace() || c == '(' || c == '#')
        .next()
        .unwrap_or_default()
}

/// A decimal or `0x` hexadecimal number within the range of `T`.
pub(super) fn number<T: TryFrom<u64>>(
    description: &'static str,
    text: &str,
) -> Result<T, ReadErrorKind> {
    let parsed = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    parsed
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| ReadErrorKind::BadNumber {
            description,
            text: text.to_owned(),
        })
}
