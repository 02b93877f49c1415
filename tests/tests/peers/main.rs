//! ferrosm's output files and systemd unit, as ibdmchk, tshark and systemd read them.

mod capture;
mod routing_shapes;
mod service_unit;
