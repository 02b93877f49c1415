//! `ferrosm ports`, and the choice of a port for the other commands.

use core::time::Duration;
use std::io::ErrorKind;
use std::path::PathBuf;

use ferrosm_core::SmConfig;
use ferrosm_mad::transport::umad::{
    self, LocalPort, PortChoiceError, PortSelection, SkipReason, UmadError,
};
use tracing::warn;

use crate::cli::PortsArgs;
use crate::config::PortChoice;
use crate::failure::Failure;
use crate::output::{self, json, table};

const DEMO: &str =
    "`ferrosm demo` runs the same subnet manager on a simulated fabric, without hardware.";
const LIST: &str = "`ferrosm ports` lists the ports of this host.";
const NAME_ONE: &str = "Name the port to serve: --ca NAME --port N, or --port-guid GUID; in the configuration port.ca and port.number, or \
                        port.guid. A [[fabric]] for each port serves both.";

/// Runs the command.
///
/// # Errors
/// If the ports cannot be listed.
pub fn run(args: &PortsArgs) -> Result<(), Failure> {
    let ports = umad::enumerate_ports().map_err(|e| explain(&e, None))?;
    let choice = umad::choose_port(&ports, &PortSelection::default());
    let chosen = choice.as_ref().ok().copied();
    let rows: Vec<json::ports::Port> = ports.iter().map(|p| describe(p, chosen)).collect();
    #[cfg(feature = "verbs")]
    let devices = crate::verbs::devices()
        .map_err(|e| Failure::job(format!("verbs cannot list the devices: {e}")))?;
    if args.json {
        return output::print(&json::pretty(&json::ports::Document {
            schema: json::SCHEMA,
            ports: rows,
            #[cfg(feature = "verbs")]
            devices,
        }));
    }
    let mut text = if rows.is_empty() {
        "This host has no RDMA device.\n".to_owned()
    } else {
        render(&rows)
    };
    #[cfg(feature = "verbs")]
    text.push_str(&crate::verbs::render(&devices));
    if matches!(choice, Err(PortChoiceError::Ambiguous { .. })) {
        text.push_str(&format!(
            "Several ports have a link; `ferrosm run` does not choose between them. {NAME_ONE}\n"
        ));
    } else if !rows.iter().any(|row| row.usable) {
        if !rows.is_empty() {
            text.push_str("No port can run a subnet manager now.\n");
        }
        text.push_str(&format!("{DEMO}\n"));
    }
    output::print(&text)
}

fn render(rows: &[json::ports::Port]) -> String {
    let mut out = table::new([
        "Port",
        "GUID",
        "Link layer",
        "State",
        "Rate",
        "LID",
        "SM LID",
        "Subnet manager",
    ]);
    table::right(&mut out, &[5, 6]);
    for row in rows {
        let serve = match &row.reason {
            Some(why) if row.chosen => {
                format!("no: {why} (`ferrosm run` waits for its link)")
            }
            Some(why) => format!("no: {why}"),
            None if row.chosen => "yes (the choice of `ferrosm run`)".to_owned(),
            None => "yes".to_owned(),
        };
        out.add_row([
            format!("{} {}", row.ca, row.port),
            row.port_guid.to_string(),
            row.link_layer.clone(),
            format!("{} / {}", row.state, row.physical_state),
            format!("{} Gb/s", row.rate_gbps),
            row.lid.to_string(),
            row.sm_lid.to_string(),
            serve,
        ]);
    }
    format!("{out}\n")
}

fn describe(port: &LocalPort, chosen: Option<&LocalPort>) -> json::ports::Port {
    let reason = umad::skip_reason(port).map(|reason| reason.to_string());
    json::ports::Port {
        ca: port.ca.clone(),
        ca_type: port.ca_type.clone(),
        firmware: port.fw_version.clone(),
        port: port.port_num.0,
        port_guid: port.port_guid,
        node_guid: port.node_guid,
        link_layer: port.link_layer.to_string(),
        state: port.state.to_string(),
        physical_state: port.phys_state.to_string(),
        rate_gbps: port.rate_gbps,
        lid: port.lid.0,
        lmc: port.lmc.0,
        sm_lid: port.sm_lid.0,
        usable: reason.is_none(),
        chosen: chosen.is_some_and(|c| c.ca == port.ca && c.port_num == port.port_num),
        reason,
    }
}

/// How long an answer to an SMP is still of use: an answer to any repetition ends the request.
#[must_use]
pub fn answers_count_for_ms(sm: &SmConfig) -> u32 {
    let all = sm.smp_timeout * (u32::from(sm.smp_retries) + 1);
    u32::try_from(all.as_millis()).unwrap_or(u32::MAX)
}

/// What the configuration and the flags name.
#[must_use]
pub fn selection(choice: &PortChoice) -> PortSelection {
    PortSelection {
        ca: choice.ca.clone(),
        port: choice.number,
        port_guid: choice.guid,
    }
}

/// The port to serve at this moment; `Err` within `Ok` if there is none.
///
/// # Errors
/// If the ports cannot be listed.
pub fn find(selection: &PortSelection) -> Result<Result<LocalPort, PortChoiceError>, Failure> {
    let ports = umad::enumerate_ports().map_err(|e| explain(&e, None))?;
    Ok(umad::choose_port(&ports, selection).cloned())
}

/// The port of a command that only reads. If several could be meant, the log names the one that is used.
///
/// # Errors
/// If no port has a link, with the reason for each.
pub fn choose_for_reading(choice: &PortChoice) -> Result<LocalPort, Failure> {
    let ports = umad::enumerate_ports().map_err(|e| explain(&e, None))?;
    let selection = selection(choice);
    let port = umad::choose_read_only_port(&ports, &selection).map_err(|e| refuse(&e))?;
    if matches!(
        umad::choose_port(&ports, &selection),
        Err(PortChoiceError::Ambiguous { .. })
    ) {
        warn!(ca = port.ca, port = port.port_num.0, port_guid = %port.port_guid,
              "port chosen among several with a link");
    }
    Ok(port.clone())
}

/// Why no port was chosen, and what to do.
#[must_use]
pub fn refuse(error: &PortChoiceError) -> Failure {
    let hint = match error {
        PortChoiceError::NoDevice => DEMO.to_owned(),
        PortChoiceError::NoMatch { .. } => LIST.to_owned(),
        PortChoiceError::NoneUsable { skipped, .. } => {
            let down = skipped
                .iter()
                .any(|s| matches!(s.reason, SkipReason::Down(_)));
            if down {
                format!("Plug in a cable, or see why the link does not train. {DEMO}")
            } else {
                DEMO.to_owned()
            }
        }
        PortChoiceError::Ambiguous { .. } => {
            return Failure::Unconfigured {
                what: error.to_string(),
                hint: NAME_ONE.to_owned(),
            };
        }
    };
    Failure::with_hint(error, hint)
}

/// A port whose link did not come up in time.
#[must_use]
pub fn no_link(port: &LocalPort, waited: Duration) -> Failure {
    Failure::with_hint(
        format!(
            "{port} has no link after {} s ({})",
            waited.as_secs(),
            port.phys_state
        ),
        format!("Plug in a cable, or see why the link does not train. {LIST}"),
    )
}

/// Whether ib_umad has made the port's device.
#[must_use]
pub fn has_umad(port: &LocalPort) -> bool {
    device_file("umad", port).is_some()
}

/// Why a port could not be used, and what to do.
#[must_use]
pub fn explain(error: &UmadError, port: Option<&LocalPort>) -> Failure {
    let device = port.and_then(|p| match error {
        UmadError::IsSm { .. } | UmadError::AlreadySm { .. } => device_file("issm", p),
        UmadError::Library(_)
        | UmadError::Enumerate { .. }
        | UmadError::Open { .. }
        | UmadError::Register { .. } => device_file("umad", p),
    });
    // libibumad says EIO whatever `open` said: ask again where the device is known.
    let kind = device.as_ref().and_then(|path| {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .err()
            .map(|e| e.kind())
    });
    sentence(error, device, kind)
}

/// The device file of a port: the kernel numbers them, and says in sysfs which is whose.
fn device_file(prefix: &str, port: &LocalPort) -> Option<PathBuf> {
    let entries = std::fs::read_dir("/sys/class/infiniband_mad").ok()?;
    let read = |path: PathBuf| std::fs::read_to_string(path).ok();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with(prefix)
            && read(entry.path().join("ibdev")).is_some_and(|ca| ca.trim() == port.ca)
            && read(entry.path().join("port"))
                .is_some_and(|n| n.trim() == port.port_num.to_string())
        {
            return Some(PathBuf::from("/dev/infiniband").join(name));
        }
    }
    None
}

/// What is at the bottom of an error.
fn root_cause(error: &dyn core::error::Error) -> String {
    let mut at = error;
    while let Some(cause) = at.source() {
        at = cause;
    }
    at.to_string()
}

fn sentence(error: &UmadError, device: Option<PathBuf>, kind: Option<ErrorKind>) -> Failure {
    let (source, port) = match error {
        UmadError::Library(e) => {
            return Failure::with_hint(
                format!("{error}: {}", root_cause(e)),
                "Install it: `apt install libibumad3` (Debian, Ubuntu) or `dnf install libibumad` (Fedora, RHEL). \
                 `ferrosm demo` needs neither it nor hardware.",
            );
        }
        UmadError::Enumerate { source } => return Failure::job(format!("{error}: {source}")),
        UmadError::AlreadySm { .. } => {
            return Failure::with_hint(
                error,
                "Stop the other one (opensm, ferrosm), or choose another port.",
            );
        }
        UmadError::Register { source, .. } => {
            return Failure::with_hint(
                format!("{error} ({source})"),
                "Stop the program that manages the port.",
            );
        }
        UmadError::Open { source, port } | UmadError::IsSm { source, port } => (source, port),
    };
    let file = device.map_or_else(
        || format!("the device of {port} in /dev/infiniband"),
        |path| path.display().to_string(),
    );
    let kind = kind.unwrap_or_else(|| source.kind());
    if kind == ErrorKind::PermissionDenied {
        Failure::with_hint(
            format!("no permission to open {file} ({port})"),
            "Run as root, or let your user read and write the umad and issm devices in /dev/infiniband.",
        )
    } else if kind == ErrorKind::NotFound {
        Failure::with_hint(
            format!("{file} is not there ({port})"),
            "Load the kernel's module: `modprobe ib_umad`.",
        )
    } else {
        Failure::job(format!("{error}: {source}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    fn open_error(kind: ErrorKind) -> UmadError {
        UmadError::Open {
            port: "mlx5_0 port 1".to_owned(),
            source: io::Error::from(kind),
        }
    }

    #[test]
    fn a_lack_of_rights_names_the_device_and_what_to_do() {
        let device = Some(PathBuf::from("/dev/infiniband/umad0"));
        let told = sentence(
            &open_error(ErrorKind::Other),
            device,
            Some(ErrorKind::PermissionDenied),
        );
        let told = told.to_string();
        assert!(
            told.starts_with("no permission to open /dev/infiniband/umad0 (mlx5_0 port 1)\n"),
            "{told}"
        );
        assert!(told.contains("root"), "{told}");
    }

    #[test]
    fn a_missing_device_names_the_module() {
        let told = sentence(&open_error(ErrorKind::NotFound), None, None).to_string();
        assert!(told.contains("modprobe ib_umad"), "{told}");
    }

    #[test]
    fn no_device_points_to_the_demo() {
        let told = refuse(&PortChoiceError::NoDevice).to_string();
        assert!(
            told.contains("no RDMA device") && told.contains("ferrosm demo"),
            "{told}"
        );
    }
}
