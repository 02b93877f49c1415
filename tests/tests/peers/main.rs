//! ferrosm's output files and systemd unit, as ibdmchk, tshark and systemd read them.

mod capture;
mod opensm_flags;
mod routing_shapes;
mod service_unit;
