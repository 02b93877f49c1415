//! The server of a simulated fabric, in real time, and its clients.
//!
//! `ferrosm_sim` has the fabric and the MAD layers of hosts, `ferrosm_channel` the connection to
//! attached programs. This crate adds the clock, the threads, the sockets and the console.
//!
//! | module | contents |
//! |---|---|
//! | [`main_loop`] | the thread that owns the fabric |
//! | [`main_loop::datagrams`] | verbs programs and their queue pairs |
//! | [`main_loop::console`] | console commands: scenario statements and queries |
//! | [`socket`] | the socket of the server and its directory |
//! | [`listener`] | threads that accept and read connections |
//! | [`request`] | requests of these threads to the main loop |
//! | [`hosts`] | nodes named by programs |
//! | [`packet_tap`] | packet capture |
//! | [`client`] | client side of the console |
//! | [`attachment`] | start of a program that is attached to a host |
//! | [`paths`] | paths of socket, directory and library |
//! | [`in_process`] | a fabric without a server, for SMs in this process |
//! | [`similar_names`] | suggestions for unknown names |

pub mod attachment;
pub mod client;
pub mod hosts;
pub mod in_process;
pub mod listener;
pub mod main_loop;
pub mod packet_tap;
pub mod paths;
pub mod request;
pub mod similar_names;
pub mod socket;
