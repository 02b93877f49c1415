//! Commands of simulated fabrics (feature `simulator`): `demo`, `sim`, `attach`, `sim-ctl`.

mod attach;
mod demo;
pub mod port;
mod sim;
mod sim_ctl;

use ferrosm_sim_server::client::SimServerError;

use crate::cli::SimulatorCommand;
use crate::failure::Failure;

/// Runs a command.
///
/// # Errors
/// The failure of the command.
pub fn run(command: &SimulatorCommand) -> Result<(), Failure> {
    match command {
        SimulatorCommand::Demo(args) => demo::run(args),
        SimulatorCommand::Sim(args) => sim::run(args),
        SimulatorCommand::Attach(args) => attach::run(args),
        SimulatorCommand::SimCtl(args) => sim_ctl::run(args),
    }
}

/// The failure of a client of the server, with a hint.
fn server_failure(error: SimServerError) -> Failure {
    let hint = match error {
        SimServerError::PermissionDenied { .. } => "Run the command as the user of the simulator.",
        SimServerError::NotServed { .. } => {
            "Start one with `ferrosm sim SPEC`, or name its socket with --socket."
        }
        SimServerError::UnexpectedReply => "Use the `ferrosm` program that serves the fabric.",
        SimServerError::Closed | SimServerError::Connection(_) | SimServerError::Rejected(_) => "",
    };
    Failure::with_hint(error, hint)
}
