//! UFM's NDT: CSV with the columns StartDevice, StartPort, EndDevice, EndPort, and optionally
//! LinkType, of which rows other than `Data` are not for InfiniBand.
//!
//! The first column may be called `#StartDevice` or `#Fields:StartDevice`. A port is `Port 5` or
//! `5`; of a director `Blade 2_Port 1/7`: port 7 of ASIC 1 of leaf 2, whose name contains that of
//! the director and ends with `/L02/U1`. Any other text, such as the interface name of a host,
//! stands for any port.

use core::fmt::Write;

use super::fabric::CabledFabric;
use super::plan::{PlanError, PlannedCable, PlannedEnd, PlannedNode};

/// The columns that are read, in this order.
const COLUMNS: [&str; 5] = [
    "startdevice",
    "startport",
    "enddevice",
    "endport",
    "linktype",
];

pub(super) fn read(text: &str) -> Result<Vec<PlannedCable>, PlanError> {
    let mut records = records(text);
    let Some((line, head)) = records.next() else {
        return Err(PlanError::new(1, "the plan is empty"));
    };
    let head: Vec<String> = head.iter().map(|name| plain(name)).collect();
    let columns = COLUMNS.map(|column| head.iter().position(|name| name == column));
    let [
        Some(start),
        Some(start_port),
        Some(end),
        Some(end_port),
        link_type,
    ] = columns
    else {
        return Err(PlanError::new(
            line,
            "this is neither CSV with the columns StartDevice, StartPort, EndDevice and EndPort, nor output of ibnetdiscover, nor XML",
        ));
    };
    let mut cables = Vec::new();
    for (line, fields) in records {
        let field = |column: usize| fields.get(column).map_or("", |field| field.trim());
        if fields.iter().all(|field| field.trim().is_empty()) {
            continue;
        }
        let kind = link_type.map_or("", field);
        if !kind.is_empty() && !kind.eq_ignore_ascii_case("data") {
            continue;
        }
        for column in [start, end] {
            if field(column).is_empty() {
                let problem = format!("no value in column {}", head[column]);
                return Err(PlanError::new(line, problem));
            }
        }
        cables.push(PlannedCable {
            a: planned_end(field(start), field(start_port)),
            b: planned_end(field(end), field(end_port)),
            line,
        });
    }
    Ok(cables)
}

/// The name of a column without case, spaces and prefix.
fn plain(name: &str) -> String {
    let trimmed = name.trim().trim_start_matches('#');
    let plain = trimmed.strip_prefix("Fields:").unwrap_or(trimmed);
    let letters = plain.chars().filter(|c| c.is_ascii_alphanumeric());
    letters.collect::<String>().to_ascii_lowercase()
}

fn planned_end(device: &str, port: &str) -> PlannedEnd {
    if let Some((leaf, asic, port)) = blade_port(port) {
        return PlannedEnd {
            node: PlannedNode {
                guid: None,
                name: format!("*{device}*/L{leaf:02}/U{asic}"),
            },
            port: Some(port),
        };
    }
    let number = port
        .strip_prefix("Port ")
        .or_else(|| port.strip_prefix("port "))
        .unwrap_or(port);
    PlannedEnd {
        node: PlannedNode::named(device),
        port: number.trim().parse().ok(),
    }
}

/// Leaf, ASIC and port of `Blade 2_Port 1/7`.
fn blade_port(text: &str) -> Option<(u8, u8, u8)> {
    let (leaf, rest) = text.strip_prefix("Blade ")?.split_once("_Port ")?;
    let (asic, port) = rest.split_once('/')?;
    Some((
        leaf.trim().parse().ok()?,
        asic.trim().parse().ok()?,
        port.trim().parse().ok()?,
    ))
}

/// Records of CSV (RFC 4180) with the line at which each begins.
fn records(text: &str) -> impl Iterator<Item = (usize, Vec<String>)> {
    let mut chars = text.chars().peekable();
    let mut line = 1;
    core::iter::from_fn(move || {
        chars.peek()?;
        let first_line = line;
        let mut fields = Vec::new();
        let mut field = String::new();
        let mut is_quoted = false;
        while let Some(c) = chars.next() {
            line += usize::from(c == '\n');
            match c {
                '"' if is_quoted && chars.peek() == Some(&'"') => {
                    chars.next();
                    field.push('"');
                }
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => fields.push(core::mem::take(&mut field)),
                '\n' if !is_quoted => break,
                '\r' if !is_quoted => {}
                other => field.push(other),
            }
        }
        fields.push(field);
        Some((first_line, fields))
    })
}

/// The cables of a fabric as a plan. A node whose name is not unique is named by its GUID.
#[must_use]
pub fn write(fabric: &CabledFabric) -> String {
    let device = |node: usize| {
        let CabledNodeName { name, is_unique } = name(fabric, node);
        match is_unique {
            true => quoted(name),
            false => format!("{:#018x}", fabric.nodes[node].guid),
        }
    };
    let mut text = "#StartDevice,StartPort,EndDevice,EndPort,LinkType\n".to_owned();
    for (a, b) in fabric.peers.iter().filter(|(a, b)| a <= b) {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{},Port {},{},Port {},Data",
            device(a.0),
            a.1,
            device(b.0),
            b.1
        );
    }
    text
}

struct CabledNodeName<'f> {
    name: &'f str,
    is_unique: bool,
}

fn name(fabric: &CabledFabric, node: usize) -> CabledNodeName<'_> {
    let name = fabric.nodes[node].name.as_str();
    let same = fabric.nodes.iter().filter(|other| other.name == name);
    CabledNodeName {
        name,
        is_unique: !name.is_empty() && !name.contains('*') && same.count() == 1,
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) || field.starts_with('#') {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_ports_and_quotes_are_read() {
        let text = "#Fields:StartDevice,Rack,StartPort,EndDevice,EndPort,Link Type\r\n\
            leaf-1,r1,Port 21,\"spine \"\"a\"\", b\",22,Data\r\n\
            leaf-1,r1,Port 22,x,Port 1,Power\n\
            \n\
            dir-1,r2,Blade 2_Port 1/7,gpu*,ibp1s0f0,data\n";
        let cables = read(text).unwrap();
        let shown: Vec<String> = cables.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["leaf-1/21 - spine \"a\", b/22", "*dir-1*/L02/U1/7 - gpu*"]
        );
        assert_eq!(cables[1].line, 5);
    }

    #[test]
    fn other_files_and_empty_names_are_refused() {
        assert!(
            read("a,b,c\n1,2,3\n")
                .unwrap_err()
                .problem
                .contains("StartDevice")
        );
        let error = read("StartDevice,StartPort,EndDevice,EndPort\na,1,,2\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: no value in column enddevice");
    }
}
