//! Notifications by syslog (RFC 5424), to a Unix socket or by UDP (RFC 5426).

use ferrosm_api::alarm::{AlarmChange, Notification};
use ferrosm_api::event::EventSeverity;
use tokio::net::{UdpSocket, UnixDatagram};

use super::SendError;

/// Prefix of an address for UDP.
pub(super) const UDP: &str = "udp://";
/// Facility `daemon` (RFC 5424, 6.2.1).
const FACILITY: u8 = 3;
/// Name of the structured data, with the enterprise number for documentation (RFC 5612): ferrosm
/// has none of its own.
const DATA: &str = "alarm@32473";

/// Sends a message to `/dev/log` or another socket, or to `udp://HOST:PORT`.
pub(super) async fn send(address: &str, notice: &Notification) -> Result<(), SendError> {
    let text = message(notice);
    let failed = |e| SendError::new(format!("{address}: {e}"));
    let Some(remote) = address.strip_prefix(UDP) else {
        let socket = UnixDatagram::unbound().map_err(failed)?;
        socket.connect(address).map_err(failed)?;
        socket.send(text.as_bytes()).await.map_err(failed)?;
        return Ok(());
    };
    let mut last = None;
    for to in tokio::net::lookup_host(remote).await.map_err(failed)? {
        let local = match to.is_ipv4() {
            true => "0.0.0.0:0",
            false => "[::]:0",
        };
        let socket = UdpSocket::bind(local).await.map_err(failed)?;
        match socket.send_to(text.as_bytes(), to).await {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(
        || SendError::new(format!("{address}: the name has no address")),
        failed,
    ))
}

/// The message, on one line.
fn message(notice: &Notification) -> String {
    let Notification {
        at,
        host,
        change,
        alarm,
    } = notice;
    let severity = match (change, alarm.severity) {
        (AlarmChange::Cleared | AlarmChange::Test, _) => 6,
        (_, EventSeverity::Error) => 3,
        (_, EventSeverity::Warning) => 4,
        (_, EventSeverity::Info | EventSeverity::Debug) => 6,
    };
    let priority = FACILITY * 8 + severity;
    let host = if host.is_empty() { "-" } else { host };
    let data = format!(
        "[{DATA} change=\"{}\" id=\"{}\" key=\"{}\" kind=\"{}\"]",
        change.name(),
        alarm.id,
        escaped(&alarm.key),
        escaped(&alarm.kind)
    );
    let text = format!(
        "alarm {} {}: {}: {}",
        alarm.id,
        change.name(),
        alarm.object.name,
        alarm.text
    )
    .replace(|c: char| c.is_control(), " ");
    let pid = std::process::id();
    format!(
        "<{priority}>1 {at} {host} ferrosm {pid} {} {data} {text}",
        alarm.kind
    )
}

/// A value of structured data (RFC 5424, 6.3.3).
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars() {
        if ['"', '\\', ']'].contains(&c) {
            text.push('\\');
        }
        text.push(if c.is_control() { ' ' } else { c });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::notification;
    use super::*;

    #[test]
    fn message_has_the_format_of_rfc_5424() {
        let mut notice = Notification::clone(&notification(AlarmChange::Raised, 12));
        notice.alarm.key = "a\"b]".to_owned();
        notice.alarm.text = "down\nnow".to_owned();
        let pid = std::process::id();
        assert_eq!(
            message(&notice),
            format!(
                "<27>1 2026-11-29T12:00:00.000Z sm1 ferrosm {pid} link-down \
                 [alarm@32473 change=\"raised\" id=\"12\" key=\"a\\\"b\\]\" kind=\"link-down\"] \
                 alarm 12 raised: leaf/1 - spine/1: down now"
            )
        );
        notice.change = AlarmChange::Cleared;
        assert!(message(&notice).starts_with("<30>1 "));
    }
}
