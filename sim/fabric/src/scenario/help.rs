//! Help texts of all commands, for `help`.

/// Every command: its syntax and effect.
pub const HELP: &[(&str, &str)] = &[
    ("cut PORT", "take the link down"),
    ("restore PORT", "retrain a cut link"),
    ("bounce PORT", "take the link down and retrain it"),
    (
        "flap PORT period TIME times N",
        "cut and restore N times, cut for the first half of each period",
    ),
    ("training TIME", "set the training time of links"),
    ("unplug PORT", "remove the cable"),
    ("plug PORT PORT WIDTH SPEED", "add a cable"),
    ("move PORT PORT", "move a cable end to another port"),
    ("swap PORT PORT", "swap two cable ends"),
    (
        "degrade PORT WIDTH SPEED",
        "retrain the link with this maximum width and speed",
    ),
    ("off NODE", "power off"),
    ("on NODE", "power on"),
    ("reboot NODE", "power off and on: all tables are reset"),
    (
        "hang NODE",
        "stop all replies of the agent; a switch still forwards",
    ),
    ("unhang NODE", "resume replies"),
    ("srp-target NODE", "start an SRP target; sends trap 144"),
    ("srp-off NODE", "stop the SRP target; sends trap 144"),
    (
        "ignore-operational-vls NODE",
        "ignore OperationalVLs in Sets of PortInfo",
    ),
    (
        "separate-smi NODE",
        "give QP0 an RDMA device of its own, before a program attaches to its host",
    ),
    (
        "rename NODE TEXT",
        "change the NodeDescription; sends trap 144",
    ),
    ("guid NODE|PORT GUID", "change a node or port GUID"),
    ("lid PORT LID [lmc N]", "change the LID without the SM"),
    (
        "corrupt-lft NODE lid LID port N",
        "change an LFT entry without the SM",
    ),
    (
        "trap NUMBER NODE|PORT",
        "send a trap about the node or port",
    ),
    (
        "sm NODE|PORT [priority N] [guid GUID] [state STATE] [ignore-controls]",
        "add a foreign SM",
    ),
    ("sm NODE|PORT off", "kill the foreign SM without handover"),
    ("loss PERCENT [SCOPE]", "lose MADs"),
    ("duplicate PERCENT [SCOPE]", "duplicate MADs"),
    (
        "jitter TIME [SCOPE]",
        "add up to this latency to MADs, which can reorder them",
    ),
    (
        "latency TIME [SCOPE]",
        "set the latency of links, or add latency at a node",
    ),
    (
        "drain TIME LINK",
        "let the receiver drain one MAD in this time; others wait",
    ),
    (
        "error attr ATTRIBUTE PERCENT [SCOPE]",
        "lose MADs of one attribute",
    ),
    ("service TIME [NODE]", "set the processing time per MAD"),
    (
        "backlog N [NODE]",
        "set the length of the agent's queue; 0 is unlimited",
    ),
    ("delay TIME [NODE]", "delay replies"),
    ("refuse STATUS|off [NODE]", "reject Sets with this status"),
    (
        "refuse attr ATTRIBUTE STATUS [NODE]",
        "reject Sets of one attribute with this status",
    ),
    (
        "garbage KIND|off [PERCENT] [NODE]",
        "corrupt replies: data, status, tid, attribute, modifier, unused, any",
    ),
    ("heal [SCOPE]", "end the faults of a scope, or all faults"),
    ("count PORT COUNTER N", "add to a PMA counter"),
    ("counter PORT COUNTER N", "set a PMA counter"),
    ("counters [NODE|PORT]", "show port counters"),
    ("clients", "show attached programs"),
    ("links", "show links and their states"),
    ("status", "show a summary of the fabric"),
    ("help", "show this help"),
];

/// The help text, one command per line.
#[must_use]
pub fn help() -> String {
    let width = HELP.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (form, effect) in HELP {
        text.push_str(&format!("{form:width$}  {effect}\n"));
    }
    text
}
