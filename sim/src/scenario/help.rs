//! The commands and what they do, in a line each: what a server answers to `help`.

/// Every command: how it is written, and what it does.
pub const HELP: &[(&str, &str)] = &[
    ("cut PORT", "the link goes down and stays down"),
    ("restore PORT", "a cut link trains"),
    ("bounce PORT", "the link goes down and trains again"),
    (
        "flap PORT period TIME times N",
        "cut and restored so often, cut for half of each period",
    ),
    (
        "training TIME",
        "time that links need to come up from now on",
    ),
    ("unplug PORT", "the cable is pulled out of both ports"),
    ("plug PORT PORT WIDTH SPEED", "a new cable"),
    ("move PORT PORT", "the end of a cable goes to another port"),
    ("swap PORT PORT", "the ends of two cables change places"),
    (
        "degrade PORT WIDTH SPEED",
        "the link comes back with no more than this",
    ),
    ("off NODE", "power off"),
    ("on NODE", "power on"),
    ("reboot NODE", "power off and on: all tables are lost"),
    (
        "hang NODE",
        "the agent answers nothing; a switch goes on forwarding",
    ),
    ("unhang NODE", "it answers again"),
    (
        "srp-target NODE",
        "a storage target (SRP) begins to run there, and trap 144",
    ),
    ("srp-off NODE", "it ends, and trap 144"),
    (
        "keep-vls NODE",
        "Sets of PortInfo leave OperationalVLs of its ports as they are",
    ),
    ("rename NODE TEXT", "a new NodeDescription, and trap 144"),
    ("guid NODE|PORT GUID", "a new node or port GUID"),
    ("lid PORT LID [lmc N]", "a LID that no SM gave"),
    (
        "corrupt-lft NODE lid LID port N",
        "one forwarding entry changes",
    ),
    (
        "trap NUMBER NODE|PORT",
        "the node sends a trap about itself or a port",
    ),
    (
        "sm NODE|PORT [priority N] [guid GUID] [state STATE] [stubborn]",
        "an SM that nobody invited",
    ),
    ("sm NODE|PORT off", "it is gone without a word"),
    ("loss CHANCE [PLACE]", "MADs are lost"),
    ("duplicate CHANCE [PLACE]", "MADs arrive twice"),
    (
        "jitter TIME [PLACE]",
        "MADs take up to so much longer, and overtake each other",
    ),
    (
        "latency TIME [PLACE]",
        "MADs take so long for a link, or so much longer at a node",
    ),
    (
        "drain TIME CABLE",
        "the receiver takes one MAD in this time: the others wait, ever longer",
    ),
    (
        "error attr ATTRIBUTE CHANCE [PLACE]",
        "MADs of one attribute are lost",
    ),
    ("service TIME [NODE]", "time that an agent takes for a MAD"),
    (
        "backlog N [NODE]",
        "MADs that may wait for an agent; 0 is no limit",
    ),
    ("delay TIME [NODE]", "answers leave later"),
    (
        "refuse STATUS|off [NODE]",
        "Sets are answered with this status and not done",
    ),
    (
        "garbage KIND|off [CHANCE] [NODE]",
        "answers are wrong: data, status, tid, attribute, modifier, any",
    ),
    ("heal [PLACE]", "ends the faults of a place, or all of them"),
    ("count PORT COUNTER N", "adds to a counter of the PMA"),
    (
        "counter PORT COUNTER N",
        "gives a counter of the PMA this value",
    ),
    ("counters [NODE|PORT]", "what was counted"),
    ("clients", "the programs that are attached"),
    ("links", "the links and their states"),
    ("status", "the fabric in a few lines"),
    ("help", "this"),
];

/// The same as text, one command a line.
#[must_use]
pub fn help() -> String {
    let width = HELP.iter().map(|(how, _)| how.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (how, what) in HELP {
        text.push_str(&format!("{how:width$}  {what}\n"));
    }
    text
}
