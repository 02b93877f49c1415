//! The ports of this host: their list, the choice of one, and what an operator can do if it cannot
//! be used.

use core::time::Duration;
use std::io::ErrorKind;
use std::path::PathBuf;

use ferrosm_core::SmConfig;
use ferrosm_umad::libibumad::{
    self, LocalPort, PortChoiceError, PortSelection, SkipReason, UmadError,
};
use tracing::warn;

use crate::failure::Failure;

pub(crate) const DEMO: &str =
    "`ferrosm demo` runs the same subnet manager on a simulated fabric, without hardware.";
pub(crate) const LOAD_DRIVER: &str =
    "With an InfiniBand adapter, load its driver and ib_umad: `modprobe mlx5_ib ib_umad`.";
const LIST: &str = "`ferrosm ports --local` lists the ports of this host.";
pub(crate) const NAME_ONE: &str = "Name the port to serve: --ca NAME --port N, or --port-guid GUID; in the configuration port.ca and port.number, or \
                        port.guid. A service for each port serves both: ferrosm@NAME with /etc/ferrosm/NAME.toml.";

/// Time within which a response to an SMP is useful: a response to any retry completes the request.
#[must_use]
pub fn response_timeout_ms(sm: &SmConfig) -> u32 {
    let max_wait = sm.smp_timeout * (u32::from(sm.smp_retries) + 1);
    u32::try_from(max_wait.as_millis()).unwrap_or(u32::MAX)
}

/// The ports of this host.
///
/// # Errors
/// The ports cannot be listed.
pub fn enumerate() -> Result<Vec<LocalPort>, Failure> {
    libibumad::enumerate_ports().map_err(|e| open_failure(&e, None))
}

/// The port for a read-only command. If the selection is ambiguous, the port is logged.
///
/// # Errors
/// No port has a link, with the reason for each.
pub fn choose_for_reading(selection: &PortSelection) -> Result<LocalPort, Failure> {
    let ports = enumerate()?;
    let port = libibumad::choose_port_for_discovery(&ports, selection)
        .map_err(|e| selection_failure(&e))?;
    if matches!(
        libibumad::choose_port(&ports, selection, None),
        Err(PortChoiceError::Ambiguous { .. })
    ) {
        warn!(ca = port.ca, port = port.port_num.0, port_guid = %port.port_guid,
              "port chosen among several with a link");
    }
    Ok(port.clone())
}

/// Failure if no port can be selected.
#[must_use]
pub fn selection_failure(error: &PortChoiceError) -> Failure {
    let hint = match error {
        PortChoiceError::NoDevice => format!("{LOAD_DRIVER} {DEMO}"),
        PortChoiceError::NoMatch { .. } => {
            format!("{LIST} Correct the name or GUID, or load the driver of the adapter.")
        }
        PortChoiceError::NoneUsable { skipped, .. } => {
            let down = skipped
                .iter()
                .any(|s| matches!(s.reason, SkipReason::Down(_)));
            if down {
                format!("Connect a cable, or check why the link does not train. {DEMO}")
            } else {
                LIST.to_owned()
            }
        }
        PortChoiceError::LastAbsent { .. } => {
            format!("Check the adapter and its driver (`dmesg`), or name another port. {LIST}")
        }
        PortChoiceError::Ambiguous { .. } => NAME_ONE.to_owned(),
    };
    Failure::with_hint(error, hint)
}

/// Failure if the link did not come up in time.
#[must_use]
pub fn no_link(port: &LocalPort, waited: Duration) -> Failure {
    Failure::with_hint(
        format!(
            "{port} has no link after {} s ({})",
            waited.as_secs(),
            port.phys_state
        ),
        format!("Connect a cable, or check why the link does not train. {LIST}"),
    )
}

/// Whether ib_umad has created the port's device.
#[must_use]
pub fn has_umad(port: &LocalPort) -> bool {
    device_file("umad", port).is_some()
}

/// Failure if a port cannot be opened.
#[must_use]
pub fn open_failure(error: &UmadError, port: Option<&LocalPort>) -> Failure {
    let device = port.and_then(|p| match error {
        UmadError::IsSm { .. } | UmadError::AlreadySm { .. } => device_file("issm", p),
        UmadError::Library(_)
        | UmadError::Enumerate { .. }
        | UmadError::Open { .. }
        | UmadError::Register { .. } => device_file("umad", p),
    });
    // libibumad reports EIO for any error of `open`; opening the device file directly yields the
    // cause.
    let kind = device.as_ref().and_then(|path| {
        std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .err()
            .map(|e| e.kind())
    });
    describe_failure(error, device, kind)
}

/// Device file of a port, found through sysfs.
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

/// The innermost cause of an error.
fn root_cause(error: &dyn core::error::Error) -> String {
    let mut at = error;
    while let Some(cause) = at.source() {
        at = cause;
    }
    at.to_string()
}

fn describe_failure(
    error: &UmadError,
    device: Option<PathBuf>,
    kind: Option<ErrorKind>,
) -> Failure {
    let (source, port) = match error {
        UmadError::Library(e) => {
            return Failure::with_hint(
                format!("{error}: {}", root_cause(e)),
                "Install it: `apt install libibumad3` (Debian, Ubuntu) or `dnf install libibumad` (Fedora, RHEL). \
                 `ferrosm demo` needs neither it nor hardware.",
            );
        }
        UmadError::Enumerate { source } => return Failure::runtime(format!("{error}: {source}")),
        UmadError::AlreadySm { .. } => {
            return Failure::with_hint(
                error,
                "Stop the other SM (opensm, ferrosm), or choose another port.",
            );
        }
        UmadError::Register { source, .. } => {
            return Failure::with_hint(
                format!("{error}: {source}"),
                "Another subnet manager may use the port: stop it (opensm, ferrosm), or choose another port.",
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
            "Run as root, or give the user read and write access to the umad and issm devices in /dev/infiniband.",
        )
    } else if kind == ErrorKind::NotFound {
        Failure::with_hint(
            format!("{file} does not exist ({port})"),
            "Load the kernel module: `modprobe ib_umad`.",
        )
    } else {
        Failure::runtime(format!("{error}: {source}"))
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
    fn permission_error_names_the_device_and_a_remedy() {
        let device = Some(PathBuf::from("/dev/infiniband/umad0"));
        let text = describe_failure(
            &open_error(ErrorKind::Other),
            device,
            Some(ErrorKind::PermissionDenied),
        );
        let text = text.to_string();
        assert!(
            text.starts_with("no permission to open /dev/infiniband/umad0 (mlx5_0 port 1)\n"),
            "{text}"
        );
        assert!(text.contains("root"), "{text}");
    }

    #[test]
    fn missing_device_error_names_the_module() {
        let text = describe_failure(&open_error(ErrorKind::NotFound), None, None).to_string();
        assert!(text.contains("modprobe ib_umad"), "{text}");
    }

    #[test]
    fn missing_hardware_error_names_the_demo() {
        let text = selection_failure(&PortChoiceError::NoDevice).to_string();
        assert!(
            text.contains("no RDMA device") && text.contains("ferrosm demo"),
            "{text}"
        );
    }
}
