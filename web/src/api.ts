// Requests to the API, the session, and the stream of events.

import type { Answered, EventEntry, Page, Session } from "./types";

/** Where the token of the session is kept. The storage belongs to this address and port. */
const TOKEN_KEY = "ferrosm-token";
const RETRY_MS = 2000;
/** The service answers `busy` while another prediction is computed. */
const BUSY_TRIES = 5;

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
    readonly remedy: string,
  ) {
    super(message);
  }
}

type Query = Record<string, string | number | boolean | undefined>;

let onLoggedOut: (error: ApiError) => void = () => {};

/** Calls back when the service no longer knows the session. */
export function whenLoggedOut(callback: (error: ApiError) => void) {
  onLoggedOut = callback;
}

function headers(): Record<string, string> {
  const token = localStorage.getItem(TOKEN_KEY);
  return token ? { "x-ferrosm-token": token } : {};
}

async function request(method: string, target: string, body?: unknown): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(target, {
      method,
      headers: body === undefined ? headers() : { ...headers(), "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
  } catch {
    throw new ApiError(0, "unreachable", "the service does not answer", "Check that ferrosm runs, and the tunnel if there is one.");
  }
  if (response.status === 204) return undefined;
  let answer: { error?: { kind: string; message: string; remedy: string } } | undefined;
  try {
    answer = await response.json();
  } catch {
    throw new ApiError(response.status, "internal", `status ${response.status} without an answer`, "");
  }
  if (!response.ok) {
    const { kind, message, remedy } = answer?.error ?? { kind: "internal", message: `status ${response.status}`, remedy: "" };
    const error = new ApiError(response.status, kind, message, remedy);
    if (response.status === 401 && target !== "/session") onLoggedOut(error);
    throw error;
  }
  return answer;
}

function target(resource: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return `/v1/${resource}${text ? `?${text}` : ""}`;
}

export async function get<T>(resource: string, query: Query = {}): Promise<T & Answered> {
  for (let tries = 1; ; tries += 1) {
    try {
      return (await request("GET", target(resource, query))) as T & Answered;
    } catch (error) {
      const isBusy = error instanceof ApiError && error.kind === "busy" && tries < BUSY_TRIES;
      if (!isBusy) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * tries));
    }
  }
}

/** Most objects on a page of a list (docs/api.md). */
const PAGE_MAX = 10_000;

/** All objects of a list, page by page. */
export async function getAll<T>(resource: string, query: Query = {}): Promise<Page<T> & Answered> {
  let page = await get<Page<T>>(resource, { ...query, limit: PAGE_MAX });
  const first = page;
  const items = [...page.items];
  while (page.next) {
    page = await get<Page<T>>(resource, { ...query, limit: PAGE_MAX, cursor: page.next });
    items.push(...page.items);
  }
  return { ...first, items };
}

export async function post<T>(resource: string, query: Query = {}, body?: unknown): Promise<T & Answered> {
  return (await request("POST", target(resource, query), body)) as T & Answered;
}

/** Saves the drawing of the fabric that the service makes, on one page, as a file. */
export async function saveDrawing(query: Query): Promise<void> {
  // A link cannot send the token.
  const response = await fetch(target("drawing.svg", query), { headers: headers(), cache: "no-store" });
  if (!response.ok) throw new ApiError(response.status, "internal", `no drawing: status ${response.status}`, "Without routes there is no drawing.");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = "fabric.svg";
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The session of this browser, or of the link in the address. `undefined`: there is none. */
export async function openSession(): Promise<Session | undefined> {
  const link = /^#login=(.+)$/.exec(location.hash)?.[1];
  if (link) {
    history.replaceState(null, "", "/#/overview");
    const session = (await request("POST", "/session", { link })) as Session;
    localStorage.setItem(TOKEN_KEY, session.token);
    return session;
  }
  if (!localStorage.getItem(TOKEN_KEY)) return undefined;
  return (await request("GET", "/session")) as Session;
}

export async function closeSession(): Promise<void> {
  await request("DELETE", "/session");
  localStorage.removeItem(TOKEN_KEY);
}

/**
 * Follows events from a number on, until the returned function is called. Reconnects by itself. A hidden page does not follow: a browser
 * has six connections to the service for all its pages.
 */
export function followEvents(since: number, onEvent: (event: EventEntry) => void, onConnected: (is: boolean) => void): () => void {
  let abort = new AbortController();
  let isEnded = false;
  let last = since;
  const read = async () => {
    // EventSource cannot send the token.
    const response = await fetch(`/v1/events?since=${last}`, {
      headers: { ...headers(), accept: "text/event-stream" },
      signal: abort.signal,
    });
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    onConnected(true);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (text + value).split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) {
        const field = (name: string) => block.split("\n").find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trim();
        const number = Number(field("id"));
        if (number) last = number;
        const data = field("data");
        if (data && field("event") === undefined) onEvent(JSON.parse(data) as EventEntry);
      }
    }
  };
  const run = async () => {
    while (!isEnded) {
      if (document.hidden) {
        await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
        continue;
      }
      abort = new AbortController();
      try {
        await read();
      } catch {
        // The next attempt shows whether the service is back.
      }
      onConnected(false);
      if (!document.hidden) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const pause = () => {
    if (document.hidden) abort.abort();
  };
  document.addEventListener("visibilitychange", pause);
  void run();
  return () => {
    isEnded = true;
    document.removeEventListener("visibilitychange", pause);
    abort.abort();
  };
}
