//! Subnet administration and multicast.

use super::super::Availability::Later;
use super::super::FlagValue::{Required, Sets};
use super::super::conversion::Conversion;
use super::super::value::BYTE;
use super::super::value::ValueFormat::{Boolean, Text};
use super::{Equivalent, NotNeeded, OpenSmOption, file, flag};

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("disable_multicast", Boolean, "FALSE", Equivalent::fabric("multicast is always served")),
    OpenSmOption::new("ipoib_mcgroup_creation_validation", Boolean, "TRUE", Equivalent::fabric("parameters of new IPoIB groups are always compared with those of the broadcast group")),
    OpenSmOption::new("mcgroup_join_validation", Boolean, "TRUE", Equivalent::fabric("the parameters of a join are always compared with those of the group")),
    OpenSmOption::new("use_original_extended_sa_rates_only", Boolean, "FALSE", Equivalent::fabric("paths have their real rates; very old drivers do not understand the newer codes")),
    OpenSmOption::new("max_rate_enum", BYTE, "63", Equivalent::fabric("paths have their real rates")).availability(Later),
    OpenSmOption::new("drop_event_subscriptions", Boolean, "FALSE", Equivalent::fabric("subscriptions stay until the client deletes them")),
    OpenSmOption::new("no_clients_rereg", Boolean, "FALSE", Equivalent::key("subnet.client-reregister", Conversion::InvertedFlag)),
    OpenSmOption::new("consolidate_ipv6_snm_req", Boolean, "FALSE", flag("sa.consolidate-solicited-node"))
        .flag("consolidate_ipv6_snm_req", None, Sets("TRUE")),
    OpenSmOption::new("prefix_routes_file", Text, "/etc/opensm/prefix-routes.conf", file("routing.prefix-routes-file").run_flag("--prefix-routes-file")
        .differs("No file is read unless the key names one."))
        .flag("prefix_routes_file", None, Required),
    OpenSmOption::new("sa_db_file", Text, "(null)", NotNeeded("`ferrosm state import opensm-sa.dump` imports it once, under that name; ferrosm keeps registrations in its own store"))
        .flag("sadb_file", Some('S'), Required),
    OpenSmOption::new("sa_db_dump", Boolean, "FALSE", NotNeeded("registrations are in the store; `ferrosm state export` prints them")),
    OpenSmOption::new("babbling_port_policy", Boolean, "FALSE", Equivalent::fabric("traps of a port are limited in rate; the port is not disabled")),
    OpenSmOption::new("enable_quirks", Boolean, "FALSE", Equivalent::fabric("there is no table of quirks")),
];
