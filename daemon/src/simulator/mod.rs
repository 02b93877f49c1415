//! The server of a simulated fabric: `ferrosm sim`.
//!
//! What a fabric and a host's MAD layer are is `ferrosm_sim`'s; how bytes pass is `ferrosm_channel`'s.
//! Here are the clock, the threads, the sockets and the words.
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`] | the thread that owns the fabric |
//! | [`engine::datagrams`] | verbs programs and their queue pairs |
//! | [`front`] | the threads that listen |
//! | [`order`] | what the latter ask of the former |
//! | [`engine::console`] | console commands: scenario statements and queries |
//! | [`hosts`] | which nodes a program means |
//! | [`link`] | a client's side of the requests |
//! | [`tap`] | packets into a pcapng file |
//! | [`place`] | paths: socket, directory, library |

pub mod client;
pub mod engine;
pub mod hosts;
pub mod listener;
pub mod packet_tap;
pub mod paths;
pub mod request;
