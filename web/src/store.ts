// What the page knows, and when it asks again: after events, and at an interval.

import { useEffect, useReducer } from "preact/hooks";
import { ApiError, followEvents, get, getAll, openSession, whenLoggedOut } from "./api";
import { Model } from "./model";
import type { Alarm, Answered, EventEntry, FabricNode, Health, Link, LinkLoad, Page, Plan, Session, Status, Structure } from "./types";

const EVENTS_KEPT = 500;
const POLL_MS = 5000;
/** Shortest time between two answers with all nodes and links. */
const FABRIC_MS = 1000;
/** The page waits this many times as long as the last answers took. */
const PAUSE_SHARE = 3;

export interface State {
  /** `undefined`: not known yet. */
  session?: Session | null;
  loginError?: ApiError;
  /** Why the service does not answer. */
  error?: ApiError;
  isLive: boolean;
  answered?: Answered;
  status?: Status;
  health?: Health;
  alarms: Alarm[];
  /** The newest first. */
  events: EventEntry[];
  model?: Model;
  fabricError?: ApiError;
  load?: LinkLoad;
  /** The plan of a start that was made last. */
  plan?: Plan & Answered;
  planError?: ApiError;
  isPlanning: boolean;
  /** The time that is asked for, in UTC; `undefined`: now. */
  at?: string;
  /** The time of `model`. */
  modelAt?: string;
}

export let state: State = { isLive: false, isPlanning: false, alarms: [], events: [] };
const listeners = new Set<() => void>();

function update(change: Partial<State>) {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

export function useStore(): State {
  const [, rerender] = useReducer((count: number) => count + 1, 0);
  const rendered = state;
  useEffect(() => {
    const listener = () => rerender(undefined);
    listeners.add(listener);
    // It may have changed before this ran.
    if (state !== rendered) listener();
    return () => void listeners.delete(listener);
  }, []);
  return state;
}

let fabricRevision = -1;
let wantsLoad = false;
let loadRevision = -1;

async function refreshSummary() {
  const at = state.at;
  // The first time, nothing decides whether the fabric is asked for.
  const fabric = fabricRevision < 0 ? refreshFabric() : undefined;
  try {
    const [status, health, alarms] = await Promise.all([
      get<Status>("status", { at }),
      get<Health>("health", { at }),
      get<Page<Alarm>>("alarms", { limit: 1000, where: "state!=cleared" }),
    ]);
    if (at !== state.at) return;
    update({ status, answered: status, health, alarms: alarms.items, error: undefined });
    if (fabric) await fabric;
    else if (status.revision !== fabricRevision) await refreshFabric();
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401) update({ error });
  }
}

let structure: Structure | undefined;
/** Nodes and links for which `structure` was computed. */
let structureOf = "";

/** The structure; `undefined` without routes: the drawing then has no levels. */
async function detectStructure(): Promise<Structure | undefined> {
  try {
    return await get<Structure>("structure");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return undefined;
  }
}

async function refreshFabric() {
  const at = state.at;
  try {
    const [nodes, links] = await Promise.all([
      getAll<FabricNode>("nodes", { at }),
      getAll<Link>("links", { at }),
    ]);
    const shape = `${nodes.items.filter((node) => node.state === "present").length} ${links.items.filter((link) => link.state !== "down").length}`;
    const hasSwitches = nodes.items.some((node) => node.kind === "switch" && node.state === "present");
    if (!hasSwitches) structure = undefined;
    if (!at && hasSwitches && (shape !== structureOf || !structure)) {
      structure = await detectStructure();
      if (structure) structureOf = shape;
    }
    if (at !== state.at) return;
    fabricRevision = nodes.revision;
    update({ model: new Model(nodes.items, links.items, structure), modelAt: at, fabricError: undefined });
    if (wantsLoad && !at) await refreshLoad();
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401) update({ fabricError: error, model: undefined, modelAt: at });
  }
}

async function refreshLoad() {
  if (loadRevision === fabricRevision && state.load) return;
  const revision = fabricRevision;
  update({ load: await get<LinkLoad>("load") });
  loadRevision = revision;
}

/** From now on the load of links is kept up to date. */
export async function wantLoad() {
  wantsLoad = true;
  try {
    await refreshLoad();
  } catch (error) {
    if (error instanceof ApiError && error.status !== 401) update({ error });
  }
}

/** Makes the plan of a start, with this consent. */
export async function makePlan(accepted: string[]) {
  update({ isPlanning: true, planError: undefined });
  try {
    update({ plan: await get<Plan>("plan", { accept: accepted.join(",") }) });
  } catch (error) {
    if (error instanceof ApiError) update({ planError: error });
  }
  update({ isPlanning: false });
}

let running = false;
let isAsked = false;

/** Asks for everything again, soon, and once for many calls. */
export function refresh() {
  isAsked = true;
  if (running) return;
  running = true;
  void (async () => {
    while (isAsked) {
      isAsked = false;
      const start = performance.now();
      if (state.session) await refreshSummary();
      // Large fabrics that change often cost the service and the browser at most a part of their time.
      const pause = Math.max(FABRIC_MS, PAUSE_SHARE * (performance.now() - start));
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    running = false;
  })();
}

/** Shows the fabric at a time, or now. */
export function showTime(at: string | undefined) {
  fabricRevision = -1;
  update({ at });
  isAsked = false;
  void refreshSummary();
}

let stop: (() => void) | undefined;

export async function start() {
  whenLoggedOut((loginError) => {
    stop?.();
    update({ session: null, loginError, model: undefined, plan: undefined, isLive: false });
  });
  try {
    const session = await openSession();
    update({ session: session ?? null });
    if (!session) return;
  } catch (error) {
    if (error instanceof ApiError) update({ session: null, loginError: error });
    return;
  }
  refresh();
  const poll = () => {
    if (!document.hidden) refresh();
  };
  const timer = setInterval(poll, POLL_MS);
  document.addEventListener("visibilitychange", poll);
  let last = 0;
  try {
    const events = await get<{ last: number; items: EventEntry[] }>("events");
    last = events.last;
    update({ events: events.items.slice(-EVENTS_KEPT).reverse() });
  } catch {
    // The stream sends them.
  }
  const unfollow = followEvents(
    last,
    (event) => {
      update({ events: [event, ...state.events].slice(0, EVENTS_KEPT) });
      if (!state.at) refresh();
    },
    (isLive) => isLive !== state.isLive && update({ isLive }),
  );
  stop = () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", poll);
    unfollow();
  };
}

export function mayOperate(): boolean {
  return state.session?.role === "operate" || state.session?.role === "admin";
}

export function logOut() {
  stop?.();
  update({ session: null, loginError: undefined, model: undefined, plan: undefined });
}
