//! `ferrosm run` and OpenSM on fabrics of Debian's ibsim.

mod bringup;
mod events;
mod judge_on_opensm;
mod opensm_file_engine;
mod opensm_peer;
mod routing_judges;
mod routing_live;
