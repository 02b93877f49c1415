// Answers of the API, as far as the page uses them. The OpenAPI document describes all fields.

export type ClientRole = "view" | "operate" | "admin";

export interface Session {
  token: string;
  role: ClientRole;
  user: string;
  valid_s: number;
}

export interface ObjectName {
  guid: string;
  name: string;
  location: string;
}

/** What every answer has besides its body. */
export interface Answered {
  revision: number;
  at: string;
  age_ms: number;
  role: "not-active" | "discovering" | "standby" | "master";
  master?: ObjectName;
}

export interface Page<T> {
  total: number;
  next?: string;
  items: T[];
}

export interface Sweep {
  number: number;
  kind: string;
  at: string;
  took_us: number;
  problems: number;
  minor_problems: number;
  engine: string;
  smps: number;
}

export interface Status {
  version: string;
  started_at: string;
  recorded_since?: string;
  port?: ObjectName;
  priority: number;
  role_since: string;
  role_reason: string;
  awaits_consent?: string;
  activity: string;
  fabric?: { switches: number; cas: number; routers: number; links: number };
  last_sweep?: Sweep;
}

export interface Finding {
  severe: boolean;
  kind: string;
  location: string;
  text: string;
  since?: string;
  alarm?: number;
}

export interface MaintenanceItem {
  kind: "drained-switch" | "drained-link" | "disabled-port";
  guid: string;
  name: string;
  reason: string;
  until?: string;
}

export interface Health {
  state: "ok" | "unknown" | "degraded" | "down";
  summary: string;
  findings: Finding[];
  maintenance?: MaintenanceItem[];
}

export interface Sm {
  port: ObjectName;
  is_self: boolean;
  priority: number;
  state: string;
}

export interface Limit {
  resource: string;
  used: number;
  limit: number;
  limited_by: string;
}

export interface FabricNode {
  guid: string;
  name: string;
  location: string;
  kind: "switch" | "ca" | "router";
  lids: number[];
  ports: number;
  ports_linked: number;
  state: "present" | "absent";
  since?: string;
}

export interface LinkEnd {
  guid: string;
  name: string;
  port: number;
}

export type LinkState = "down" | "not-active" | "degraded" | "up";

export interface Link {
  a: LinkEnd;
  b: LinkEnd;
  state: LinkState;
  rate: string;
  possible_rate: string;
  mbps: number;
  since?: string;
  times_down: number;
  maintenance?: MaintenanceItem["kind"];
  note?: string;
}

export interface Port {
  guid: string;
  name: string;
  location: string;
  port: number;
  lid: number;
  state: string;
  physical_state: string;
  rate: string;
  mtu: number;
  peer?: LinkEnd;
}

export interface SwitchPlace {
  guid: string;
  level?: number;
  group?: number;
  coordinates?: number[];
}

export interface Structure {
  kind: "tree" | "grid" | "dragonfly" | "unknown";
  summary: string;
  levels: number;
  groups: number;
  dimensions: { kind: "path" | "ring" | "full"; size: number }[];
  switches: SwitchPlace[];
}

export interface LinkLoad {
  busiest: number;
  total: number;
  items: { guid: string; port: number; routes: number }[];
}

export type Severity = "debug" | "info" | "warning" | "error";

export interface Alarm {
  id: number;
  kind: string;
  severity: Severity;
  state: "active" | "acknowledged" | "cleared";
  object: ObjectName;
  text: string;
  raised_at: string;
  cleared_at?: string;
  occurrences: number;
  acknowledged?: { by: string; at: string; until?: string; reason?: string };
  cause?: number;
  parts?: string[];
}

export interface EventEntry {
  number: number;
  at: string;
  severity: Severity;
  event: string;
  fields: Record<string, unknown>;
  text: string;
}

export interface Hop {
  guid: string;
  name: string;
  in_port: number;
  out_port: number;
  vl?: number;
}

export interface FabricPath {
  from: ObjectName;
  to: ObjectName;
  lid: number;
  sl: number;
  hops: Hop[];
  dropped?: string;
  mtu: number;
  narrowest_mbps: number;
  p_keys: string[];
}

export interface NamedPorts {
  total: number;
  items: ObjectName[];
}

export interface Routing {
  engine: string;
  vls: number;
  busiest_routes: number;
  hops: number;
  verified: number;
}

export interface WhatIf {
  lost: string[];
  connected: boolean;
  pairs_cut_off: number;
  cut_off: NamedPorts;
  switches_cut_off: string[];
  sm_cut_off: boolean;
  lose_redundancy: NamedPorts;
  before: Routing;
  after?: Routing;
  failure?: string;
  changes: { destinations_moved: number; entries_moved: number; entries_removed: number; lft_blocks: number };
  violations?: { name: string; text: string }[];
}

export interface SingleLoss {
  name: string;
  kind: "switch" | "link" | "host-link";
  without: string;
  pairs_cut_off: number;
  cut_off: number;
  lose_redundancy: number;
}

export interface ChangePlan {
  kind: string;
  target: string;
  trains_link: boolean;
  prediction?: WhatIf;
  violations?: { name: string; text: string }[];
}

export type PlannedEffect =
  | "lid-changed"
  | "link-changed"
  | "p-key-removed"
  | "m-key-changed"
  | "lmc-changed"
  | "lid-assigned"
  | "activated"
  | "p-key-added"
  | "sm-lid-changed"
  | "reregistered";

export interface SetCount {
  attribute: string;
  count: number;
}

export interface WrittenNode {
  guid: string;
  name: string;
  kind: FabricNode["kind"];
  sets: SetCount[];
  effects?: { effect: PlannedEffect; ports: number[] }[];
}

/** What a start would write. */
export interface Plan {
  sms: { guid: string; name: string; priority: number; state: string; reaction: string }[];
  awaits_consent?: string;
  lids: { kept: number; assigned: number; changed: number };
  p_keys: { p_key: string; removed: number; added: number }[];
  ports: { activated: number; link_changed: number; m_key_changed: number; lmc_changed: number; sm_lid_changed: number; reregistered: number };
  tables: { switches: number; lft_blocks: number; lft_entries: number; mft_blocks: number; sl_to_vl: number; vl_arbitration: number };
  sets: SetCount[];
  nodes?: WrittenNode[];
  engine: string;
  problems: string[];
  violations?: { name: string; text: string }[];
}

/** Limits of the link at a port of a switch. */
export interface PortLimits {
  guid: string;
  /** The switch and the port: `leaf-2-0/5`. */
  name: string;
  mtu?: number;
  width?: number;
  speed?: string;
  reason: string;
  state: "applied" | "not-applied" | "link-down";
  now?: string;
}

export interface CommandEntry {
  command: number;
  kind: string;
  target?: string;
  by: string;
  reason?: string;
  received_at: string;
  state: "in-progress" | "complete" | "failed";
  message: string;
}

export interface Partition {
  number: string;
  name: string;
  added: boolean;
  full: number;
  limited: number;
}

export interface Member {
  guid: string;
  name: string;
  location: string;
  membership?: string;
  join?: string;
}

export interface Group {
  mgid: string;
  mlid: string;
  p_key: string;
  mtu: number;
  rate_gbps: number;
  members: number;
  senders: number;
  switches: number;
}

export interface Host {
  ports: { place: { port: ObjectName; number: number }; partitions: string[]; groups: string[] }[];
}

export interface Change {
  number: number;
  at: string;
  what: string;
  cause?: string;
  effect?: string;
}
