//! Files that start OpenSM: `/etc/sysconfig/opensm` of Red Hat, `/etc/default/opensm` of Debian,
//! and scripts with commands such as `rc.local`.

use super::command_line::{self, CommandLine};
use super::finding::{Finding, LineOutcome, Place, may_be_secret, shown_assignment};

/// Most SMs that one file starts.
pub const STARTS_MAX: usize = 256;
/// Longest file that is read.
const LINES_MAX: usize = 10_000;

/// A start of OpenSM.
#[derive(Debug, Clone)]
pub struct Start {
    pub place: Place,
    pub command_line: CommandLine,
}

/// The starts of a file.
#[derive(Debug, Clone, Default)]
pub struct Starts {
    pub list: Vec<Start>,
    /// Lines that start nothing.
    pub findings: Vec<Finding>,
    /// Each port of the host has an SM (`PORTS=ALL`).
    pub all_ports: Option<Place>,
}

/// A file of shell variables. OpenSM's own script passes `OPTIONS` on. Red Hat's script starts an
/// SM for each of `GUIDS`, with a subnet prefix that counts up, and passes `PRIORITY` on. Debian's
/// starts an SM for each of `PORTS`, all with the default prefix.
#[must_use]
pub fn read_variables(file: &str, text: &str) -> Starts {
    let mut starts = Starts::default();
    let variables = variables(file, text);
    let value = |name: &str| variables.iter().rev().find(|v| v.name == name);
    let priority = value("PRIORITY").filter(|variable| !variable.value.is_empty());
    let guids = value("GUIDS").filter(|variable| !variable.value.is_empty());
    let ports = value("PORTS").filter(|variable| !variable.value.is_empty());
    for (number, guid) in guids
        .iter()
        .flat_map(|v| v.value.split_whitespace().enumerate())
    {
        let place = guids.map_or_else(|| Place::file(file), |v| v.place.clone());
        // The script prints the number in decimal, with at least two digits.
        let prefix = format!("0xfe800000000000{number:02}");
        let mut words = vec!["-g", guid, "--subnet_prefix", &prefix];
        if let Some(priority) = priority {
            words.extend(["-p", &*priority.value]);
        }
        starts.add(place, &words);
    }
    if let Some(ports) = ports {
        match &*ports.value {
            "ALL" => starts.all_ports = Some(ports.place.clone()),
            "NONE" => starts.ignore(ports, "no OpenSM is started"),
            list => {
                for guid in list.split_whitespace() {
                    starts.add(ports.place.clone(), &["-g", guid]);
                }
            }
        }
    }
    if let Some(options) = value("OPTIONS").filter(|variable| !variable.value.is_empty()) {
        let words: Vec<&str> = options.value.split_whitespace().collect();
        starts.add(options.place.clone(), &words);
    } else if let Some(priority) = priority
        && guids.is_none()
    {
        starts.add(priority.place.clone(), &["-p", &*priority.value]);
    }
    for variable in &variables {
        match &*variable.name {
            "GUIDS" | "PRIORITY" | "PORTS" | "OPTIONS" => {}
            "OSM_HOSTS" => starts.findings.push(Finding {
                outcome: LineOutcome::NotNeeded,
                ..variable.finding("[replication] keeps the records of standbys in sync")
            }),
            _ => starts.ignore(variable, "not a variable of OpenSM's start scripts"),
        }
    }
    starts
}

/// A script: commands that start `opensm`.
#[must_use]
pub fn read_script(file: &str, text: &str) -> Starts {
    let mut starts = Starts::default();
    let mut lines = text.lines().enumerate().take(LINES_MAX);
    while let Some((index, line)) = lines.next() {
        let mut command = line.to_owned();
        while command.ends_with('\\')
            && let Some((_, next)) = lines.next()
        {
            command.pop();
            command.push_str(next);
        }
        for words in commands(&command) {
            if starts.list.len() < STARTS_MAX {
                starts.list.push(Start {
                    place: Place::line(file, index + 1, 1),
                    command_line: command_line::parse(&words),
                });
            }
        }
    }
    starts
}

/// Whether a text has a command that starts `opensm`.
#[must_use]
pub fn is_script(text: &str) -> bool {
    text.lines()
        .take(LINES_MAX)
        .any(|line| !commands(line).is_empty())
}

impl Starts {
    fn add(&mut self, place: Place, words: &[&str]) {
        if self.list.len() == STARTS_MAX {
            return;
        }
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.list.push(Start {
            place,
            command_line: command_line::parse(&words),
        });
    }

    fn ignore(&mut self, variable: &Variable, why: &str) {
        self.findings.push(variable.finding(why));
    }
}

struct Variable {
    place: Place,
    name: String,
    value: String,
}

impl Variable {
    fn finding(&self, why: &str) -> Finding {
        Finding {
            place: self.place.clone(),
            line: shown_assignment(&self.name, &self.value, may_be_secret(&self.name)),
            outcome: LineOutcome::Ignored,
            text: why.to_owned(),
        }
    }
}

/// Assignments such as `GUIDS="0x1 0x2"`. A value in quotes may span lines.
fn variables(file: &str, text: &str) -> Vec<Variable> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().take(LINES_MAX);
    while let Some((index, line)) = lines.next() {
        let Some((name, value)) = line.trim().split_once('=') else {
            continue;
        };
        let name = name.trim_start_matches("export ").trim();
        if !is_variable_name(name) {
            continue;
        }
        let mut value = value.to_owned();
        for quote in ['"', '\''] {
            let is_open = value.starts_with(quote);
            while is_open && value.matches(quote).count() < 2 {
                let Some((_, next)) = lines.next() else { break };
                value.push(' ');
                value.push_str(next);
            }
        }
        found.push(Variable {
            place: Place::line(file, index + 1, 1),
            name: name.to_owned(),
            value: first_shell_value(&value),
        });
    }
    found
}

/// Whether a text assigns shell variables and has nothing else.
#[must_use]
pub fn has_only_variables(text: &str) -> bool {
    let mut lines = text
        .lines()
        .take(LINES_MAX)
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            line.split_once('=').is_some_and(|(name, _)| {
                is_variable_name(name.trim_start_matches("export ").trim())
            })
        })
}

fn is_variable_name(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_uppercase() || c == '_';
    name.starts_with(is_start) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The text in quotes at the start, or up to a blank or comment.
fn first_shell_value(value: &str) -> String {
    let mut chars = value.chars();
    let inner: String = match chars.next() {
        Some(quote @ ('"' | '\'')) => chars.take_while(|c| *c != quote).collect(),
        Some(_) => value
            .chars()
            .take_while(|c| !c.is_whitespace() && *c != '#' && *c != ';')
            .collect(),
        None => String::new(),
    };
    inner.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words after `opensm` in each command of a line.
fn commands(line: &str) -> Vec<Vec<String>> {
    const PREFIXES: [&str; 7] = ["exec", "nohup", "nice", "setsid", "sudo", "daemon", "then"];
    let mut found = Vec::new();
    for command in split_commands(line) {
        let mut words = command.into_iter();
        let program = words.find(|word| !PREFIXES.contains(&&**word) && !word.contains('='));
        let is_opensm = program.is_some_and(|word| {
            let word = word.trim_start_matches('(');
            word.rsplit('/').next() == Some("opensm") && !word.contains("init.d")
        });
        let rest: Vec<String> = words.collect();
        let has_flags = rest.first().is_none_or(|word| word.starts_with('-'));
        if is_opensm && has_flags {
            found.push(rest);
        }
    }
    found
}

/// The words of each command of a line. Quotes are removed; a redirection or comment ends a
/// command.
fn split_commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut is_redirected = false;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '>' | '<') => {
                // The number before it is a file descriptor.
                word = word.filter(|w| !w.chars().all(|c| c.is_ascii_digit()));
                push_word(&mut commands, &mut word, is_redirected);
                is_redirected = true;
            }
            (None, '&') if is_redirected && word.is_none() => {}
            (None, ';' | '|' | '&' | ')') => {
                push_word(&mut commands, &mut word, is_redirected);
                is_redirected = false;
                commands.push(Vec::new());
            }
            (None, c) if c.is_whitespace() => {
                if word.is_some() {
                    push_word(&mut commands, &mut word, is_redirected);
                    is_redirected = false;
                }
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    push_word(&mut commands, &mut word, is_redirected);
    commands
}

/// Ends a word. The word after a redirection is a file.
fn push_word(commands: &mut [Vec<String>], word: &mut Option<String>, is_redirected: bool) {
    if let Some(word) = word.take()
        && !is_redirected
        && let Some(command) = commands.last_mut()
    {
        command.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::assignments::Assignments;

    fn values(start: &Start, options: &[&str]) -> Vec<String> {
        let mut set = Assignments::default();
        start.command_line.apply(&start.place, &mut set);
        assert!(set.findings.is_empty(), "{:?}", set.findings);
        options
            .iter()
            .map(|name| set.value(name).to_owned())
            .collect()
    }

    const PORT: [&str; 3] = ["guid", "subnet_prefix", "sm_priority"];

    #[test]
    fn prefixes_of_red_hat_count_up_in_decimal() {
        let guids: Vec<String> = (0..12).map(|n| format!("0x{n:x}1")).collect();
        let text = format!("# rails\nPRIORITY=10\nGUIDS=\"{}\"\n", guids.join(" "));
        let starts = read_variables("opensm", &text);
        assert_eq!(starts.list.len(), 12);
        assert_eq!(
            values(&starts.list[1], &PORT),
            ["0x0000000000000011", "0xfe80000000000001", "10"]
        );
        assert_eq!(values(&starts.list[10], &PORT)[1], "0xfe80000000000010");
        assert_eq!(starts.list[1].place.to_string(), "opensm:3");
    }

    #[test]
    fn ports_of_debian_have_the_default_prefix() {
        let starts = read_variables("d", "PORTS=\"0x1\n 0x2\"\nX=1\n");
        assert_eq!(starts.list.len(), 2);
        assert_eq!(
            values(&starts.list[1], &PORT),
            ["0x0000000000000002", "0xfe80000000000000", "0"]
        );
        assert_eq!(starts.findings.len(), 1);
        assert!(read_variables("d", "PORTS=ALL\n").all_ports.is_some());
        assert!(read_variables("d", "PORTS=NONE\n").list.is_empty());
    }

    #[test]
    fn options_of_opensms_own_script_are_flags() {
        let starts = read_variables("opensm", "OSM_HOSTS=\"a b\"\nOPTIONS=\"-p 3 -g 0x5\"\n");
        assert_eq!(values(&starts.list[0], &["sm_priority"]), ["3"]);
        assert_eq!(starts.findings[0].outcome, LineOutcome::NotNeeded);
    }

    #[test]
    fn commands_of_scripts_start_opensm() {
        let text = "#!/bin/sh\n# opensm -p 1\n\
            nohup /usr/sbin/opensm -B -g 0x21 -p 2 -f '/var/log/a b' >/dev/null 2>&1 &\n\
            service opensm start; /etc/init.d/opensm start\n\
            sleep 1 && opensm -p 3 \\\n  -g 0x22\n";
        let starts = read_script("rc.local", text);
        assert_eq!(starts.list.len(), 2, "{starts:?}");
        assert_eq!(
            values(&starts.list[0], &["sm_priority", "log_file"]),
            ["2", "/var/log/a b"]
        );
        assert_eq!(values(&starts.list[1], &["guid"]), ["0x0000000000000022"]);
        assert_eq!(starts.list[1].place.to_string(), "rc.local:5");
        assert!(is_script(text) && !has_only_variables(text));
        assert!(has_only_variables("# x\nPRIORITY=1\n"));
    }
}
