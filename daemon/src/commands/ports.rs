//! `ferrosm ports --local`: the ports of this host.

use ferrosm_api::answer::Page;
use ferrosm_api::fabric::Port;
use ferrosm_umad::libibumad::{self, LocalPort, PortChoiceError, PortSelection};

use super::ask::{ask_at, list_query};
use crate::cli::PortsArgs;
use crate::failure::Failure;
use crate::output::{self, answers, json, table};
use crate::port::local_port::{self, DEMO, LOAD_DRIVER, NAME_ONE};

/// Runs the command.
///
/// # Errors
/// The ports cannot be listed.
pub fn run(args: &PortsArgs) -> Result<(), Failure> {
    if args.local {
        return local(args.list.ask.json);
    }
    let query = list_query(&args.list, None);
    let asked = ask_at::<Page<Port>>(&args.list.ask, &args.time, "ports", &query, answers::ports);
    match asked {
        // A program that reads JSON asked for the other list.
        Err(Failure::NoService { message, .. }) if !args.list.ask.json => {
            output::print(&format!("{message}; the ports of this host:\n"))?;
            local(false)
        }
        other => other.map(drop),
    }
}

/// Lists the ports of this host.
fn local(is_json: bool) -> Result<(), Failure> {
    let ports = local_port::enumerate()?;
    let choice = libibumad::choose_port(&ports, &PortSelection::default(), None);
    let chosen = choice.as_ref().ok().copied();
    let rows: Vec<json::ports::Port> = ports.iter().map(|p| describe(p, chosen)).collect();
    if is_json {
        #[cfg(feature = "verbs")]
        let devices = crate::run::verbs::devices()
            .map_err(|e| Failure::runtime(format!("verbs cannot list the devices: {e}")))?;
        return output::print(&json::pretty(&json::ports::Document {
            schema: json::SCHEMA,
            ports: rows,
            #[cfg(feature = "verbs")]
            devices,
        }));
    }
    let mut text = if rows.is_empty() {
        format!("This host has no RDMA device. {LOAD_DRIVER}\n")
    } else {
        render(&rows)
    };
    if matches!(choice, Err(PortChoiceError::Ambiguous { .. })) {
        text.push_str(&format!(
            "Several ports have a link; `ferrosm run` does not choose between them, unless its state directory names the port that it served \
             last. {NAME_ONE}\n"
        ));
    } else if !rows.iter().any(|row| row.usable) {
        if !rows.is_empty() {
            text.push_str("ferrosm can serve none of these ports now.\n");
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
        "ferrosm can serve it",
    ]);
    table::right(&mut out, &[5, 6]);
    for row in rows {
        let serve = match &row.reason {
            Some(reason) if row.chosen => {
                format!("no, it {reason}; `ferrosm run` waits for its link")
            }
            Some(reason) => format!("no, it {reason}"),
            None if row.chosen => "yes, `ferrosm run` selects it".to_owned(),
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
    let reason =
        libibumad::skip_reason(port, &PortSelection::default()).map(|reason| reason.to_string());
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
