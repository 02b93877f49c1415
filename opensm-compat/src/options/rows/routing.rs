//! Unicast routing.

use super::super::Availability::AliasOf;
use super::super::FlagValue::{Required, Sets};
use super::super::conversion::Conversion;
use super::super::value::ValueFormat::{Boolean, Text};
use super::super::value::{BYTE, LONG, WORD};
use super::{Equivalent, NotNeeded, OpenSmOption, file, whole};

const BALANCED: Equivalent = NotNeeded("the engines balance routes over all links");

#[rustfmt::skip]
pub(super) const OPTIONS: &[OpenSmOption] = &[
    OpenSmOption::new("port_profile_switch_nodes", Boolean, "FALSE", Equivalent::fabric("routes to switches do not count as load")),
    OpenSmOption::new("port_prof_ignore_file", Text, "(null)", file("routing.port-prof-ignore-file"))
        .flag("ignore_guids", Some('i'), Required),
    OpenSmOption::new("hop_weights_file", Text, "(null)", file("routing.hop-weights-file"))
        .flag("hop_weights_file", Some('w'), Required),
    OpenSmOption::new("port_search_ordering_file", Text, "(null)", file("routing.port-search-ordering-file"))
        .flag("port_search_ordering_file", Some('O'), Required),
    OpenSmOption::new("dimn_ports_file", Text, "(null)", file("routing.port-search-ordering-file"))
        .flag("dimn_ports_file", None, Required)
        .availability(AliasOf("port_search_ordering_file")),
    OpenSmOption::new("routing_engine", Text, "(null)", Equivalent::key("routing.engines", Conversion::Engines).run_flag("--engine")
        .differs("Unset, OpenSM uses minhop and ferrosm selects by topology (`auto`): an import writes minhop. If all engines fail, OpenSM uses minhop, and ferrosm nue or updn, which are free of deadlocks. ferrosm rejects unknown names; OpenSM skips them."))
        .flag("routing_engine", Some('R'), Required),
    OpenSmOption::new("avoid_throttled_links", Boolean, "FALSE", Equivalent::fabric("the rate of a link does not influence routes")),
    OpenSmOption::new("connect_roots", Boolean, "FALSE", NotNeeded("routes reach all switches, roots too"))
        .flag("connect_roots", Some('z'), Sets("TRUE")),
    OpenSmOption::new("use_ucast_cache", Boolean, "FALSE", NotNeeded("a lost link changes only the routes that used it"))
        .flag("ucast_cache", Some('A'), Sets("TRUE")),
    OpenSmOption::new("lid_matrix_dump_file", Text, "(null)", Equivalent::fabric("hop counts come from discovery"))
        .flag("lid_matrix_file", Some('M'), Required),
    OpenSmOption::new("lfts_file", Text, "(null)", file("routing.lfts-file")
        .differs("Used by the engine `file`, as in OpenSM."))
        .flag("lfts_file", Some('U'), Required),
    OpenSmOption::new("root_guid_file", Text, "(null)", file("routing.root-guid-file"))
        .flag("root_guid_file", Some('a'), Required),
    OpenSmOption::new("cn_guid_file", Text, "(null)", file("routing.cn-guid-file"))
        .flag("cn_guid_file", Some('u'), Required),
    OpenSmOption::new("io_guid_file", Text, "(null)", file("routing.io-guid-file"))
        .flag("io_guid_file", Some('G'), Required),
    OpenSmOption::new("quasi_ftree_indexing", Boolean, "FALSE", Equivalent::fabric("ftree orders switches from the leaves")),
    OpenSmOption::new("max_reverse_hops", WORD, "0", Equivalent::fabric("ftree routes to I/O nodes without reverse hops"))
        .flag("max_reverse_hops", Some('H'), Required),
    OpenSmOption::new("ids_guid_file", Text, "(null)", file("routing.ids-guid-file"))
        .flag("ids_guid_file", Some('m'), Required),
    OpenSmOption::new("guid_routing_order_file", Text, "(null)", file("routing.guid-routing-order-file"))
        .flag("guid_routing_order_file", Some('X'), Required),
    OpenSmOption::new("guid_routing_order_no_scatter", Boolean, "FALSE", NotNeeded("ports are never selected at random"))
        .flag("guid_routing_order_no_scatter", None, Sets("TRUE")),
    OpenSmOption::new("do_mesh_analysis", Boolean, "FALSE", NotNeeded("`auto` detects meshes and tori"))
        .flag("do_mesh_analysis", None, Sets("TRUE")),
    OpenSmOption::new("lash_start_vl", BYTE, "0", Equivalent::fabric("lash starts at VL 0"))
        .flag("lash_start_vl", None, Required),
    OpenSmOption::new("nue_max_num_vls", BYTE, "1", whole("routing.vls", 0, 15).run_flag("--vls")
        .differs("The key limits the VLs of every engine, the option those of nue."))
        .flag("nue_max_num_vls", None, Required),
    OpenSmOption::new("nue_include_switches", Boolean, "FALSE", NotNeeded("routes between switches are verified as well")),
    OpenSmOption::new("port_shifting", Boolean, "FALSE", BALANCED)
        .flag("port-shifting", None, Sets("TRUE")),
    OpenSmOption::new("scatter_ports", LONG, "0", BALANCED)
        .flag("scatter-ports", None, Required),
    OpenSmOption::new("torus_config", Text, "/etc/opensm/torus-2QoS.conf", file("routing.torus-config")
        .differs("No file is read unless the key names one."))
        .flag("torus_config", None, Required),
    OpenSmOption::new("use_optimized_slvl", Boolean, "FALSE", NotNeeded("the plain SLtoVLMappingTable gives the same tables")),
];
