//! The server of a simulated fabric: `ferrosm sim`.
//!
//! `ferrosm_sim` contains the fabric and the MAD layers of hosts, `ferrosm_channel` the transport,
//! and this module the clock, the threads, the sockets and the console.
//!
//! | module | contents |
//! |---|---|
//! | [`main_loop`] | the thread that owns the fabric |
//! | [`main_loop::datagrams`] | verbs programs and their queue pairs |
//! | [`listener`] | threads that accept and read connections |
//! | [`request`] | requests of these threads to the main loop |
//! | [`main_loop::console`] | console commands: scenario statements and queries |
//! | [`hosts`] | nodes named by programs |
//! | [`client`] | client side of the requests |
//! | [`packet_tap`] | packet capture |
//! | [`paths`] | paths of socket, directory and library |

pub mod client;
pub mod hosts;
pub mod listener;
pub mod main_loop;
pub mod packet_tap;
pub mod paths;
pub mod request;
