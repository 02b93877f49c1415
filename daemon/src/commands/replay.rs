//! `ferrosm replay`: replays the inputs of a recording and compares the outputs.

use core::fmt::Write;

use ferrosm_core::{Output, ReplicationRole};
use ferrosm_mad::ids::{Lid, Qpn, Sl};
use ferrosm_mad::mad::Address;
use ferrosm_mad::time::Instant;
use ferrosm_recording::{Ending, Replay};

use crate::cli::ReplayArgs;
use crate::failure::Failure;
use crate::output;
use crate::rings::read_recording;

/// Size of the chunks in which output is printed.
const CHUNK: usize = 1 << 16;

/// Runs the command.
///
/// # Errors
/// The file is not a recording or is damaged, or an output differs.
pub fn run(args: &ReplayArgs) -> Result<(), Failure> {
    let file = args.file.display();
    let bytes = read_recording(&args.file)
        .map_err(|e| Failure::runtime(format!("cannot read recording {file}: {e}")))?;
    let mut replay = Replay::open(&bytes).map_err(|e| Failure::runtime(format!("{file}: {e}")))?;
    let recorded_by = replay.program().to_owned();
    let mut text = format!(
        "recording of {} by ferrosm {recorded_by}\n",
        replay.source()
    );
    let mut printed = Ok(());
    let result = replay.run(&mut |now, output| {
        describe(&mut text, now, output, args.outputs);
        if text.len() >= CHUNK && printed.is_ok() {
            printed = output::print(&text);
            text.clear();
        }
    });
    printed?;
    if result.is_ok() {
        let _written = writeln!(
            text,
            "{} inputs replayed, the last at {:?} after the start; all outputs are those recorded",
            replay.entries(),
            replay.now()
        );
    }
    if let Ok(Ending::Truncated(offset)) = result {
        let _written = writeln!(
            text,
            "the recording ends at byte {offset} within an entry: it was truncated, or the program was killed"
        );
    }
    output::print(&text)?;
    result.map(|_| ()).map_err(|e| {
        let hint = if recorded_by == env!("CARGO_PKG_VERSION") {
            String::new()
        } else {
            format!("Replay it with ferrosm {recorded_by}: outputs may differ between versions.")
        };
        Failure::with_hint(
            format!("{file}: {} entries replayed: {e}", replay.entries()),
            hint,
        )
    })
}

/// Appends a line for an event; with `all_outputs`, for every output.
fn describe(text: &mut String, now: Instant, output: &Output, all_outputs: bool) {
    let _written = match output {
        Output::Event(event) => {
            let event = event.to_string();
            let lines: Vec<&str> = event.lines().collect();
            writeln!(text, "{now:?} {}", lines.join(" "))
        }
        _ if !all_outputs => Ok(()),
        Output::Send(out) => {
            let mad = hex::encode(out.mad.as_bytes());
            let to = if out.to == Address::DIRECTED {
                "by directed route".to_owned()
            } else {
                describe_receiver(out.to.lid, out.to.qpn, out.to.sl)
            };
            writeln!(text, "{now:?} send {to}: {mad}")
        }
        Output::Gmp { to, bytes, .. } => {
            let to = describe_receiver(to.lid, to.qpn, to.sl);
            writeln!(text, "{now:?} send {to}: {}", hex::encode(bytes))
        }
        Output::Publish(view) => {
            let content = if view.is_some() { "view" } else { "no view" };
            writeln!(text, "{now:?} publish {content}")
        }
        Output::Compute(job) => writeln!(text, "{now:?} compute routing job {}", job.id),
        Output::Persist { seq, updates } => writeln!(
            text,
            "{now:?} persist batch {seq}: {} records",
            updates.len()
        ),
        Output::PersistSnapshot { seq, .. } => writeln!(text, "{now:?} persist batch {seq}: view"),
        Output::CommandReply { id, reply } => {
            writeln!(text, "{now:?} reply to command {}: {reply}", id.0)
        }
        Output::LoadReplica { load } => writeln!(text, "{now:?} load replica {load}"),
        Output::Replicate(role) => {
            let role = match role {
                ReplicationRole::Master => "master",
                ReplicationRole::Standby => "standby",
                ReplicationRole::Inactive(_) => "none",
            };
            writeln!(text, "{now:?} replication role {role}")
        }
    };
}

fn describe_receiver(lid: Lid, qpn: Qpn, sl: Sl) -> String {
    format!("to LID {lid}, QP {}, SL {sl}", qpn.0)
}
