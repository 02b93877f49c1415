// The page: the frame around the views, and the way in.

import "./app.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { closeSession } from "./api";
import { Fabric } from "./fabric";
import { Alarms, Events, Groups, Limits, Links, Nodes, Partitions } from "./lists";
import { Maintenance } from "./maintenance";
import { Overview } from "./overview";
import { Failure, Pill, Time } from "./parts";
import { PlanView } from "./plan";
import { logOut, showTime, start, useStore } from "./store";
import { toggleTheme, useTheme } from "./theme";

const VIEWS = [
  ["overview", "Overview"],
  ["fabric", "Fabric"],
  ["nodes", "Nodes"],
  ["links", "Links"],
  ["alarms", "Alarms"],
  ["events", "Events"],
  ["maintenance", "Maintenance"],
  ["plan", "Plan"],
  ["partitions", "Partitions"],
  ["groups", "Groups"],
  ["limits", "Limits"],
] as const;

type ViewName = (typeof VIEWS)[number][0];

interface Route {
  view: ViewName;
  show?: string;
  find?: string;
  /** The drawing shows the plan that was made. */
  showsPlan: boolean;
}

function route(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const view = VIEWS.find(([name]) => name === path)?.[0] ?? "overview";
  const parameters = new URLSearchParams(query);
  return { view, show: parameters.get("show") ?? undefined, find: parameters.get("find") ?? undefined, showsPlan: parameters.has("plan") };
}

function useRoute(): Route {
  const [current, setCurrent] = useState(route());
  useEffect(() => {
    const changed = () => setCurrent(route());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return current;
}

function App() {
  const { session, loginError } = useStore();
  if (session === undefined && !loginError) return <p role="status">…</p>;
  if (!session) {
    return (
      <main class="login">
        <h1>ferrosm</h1>
        {loginError && <Failure error={loginError} />}
        <h2>Open this page with a link</h2>
        <ol>
          <li>On the host of the service, as root, as the user of the service or as a member of the group ferrosm: <pre>ferrosm web login</pre></li>
          <li>Open the link that it prints. It has your role, and works once, within 5 minutes.</li>
          <li>From another computer, first open the tunnel that the command prints: <pre>ssh -L 7475:127.0.0.1:7475 HOST</pre></li>
        </ol>
      </main>
    );
  }
  return <Frame />;
}

function Frame() {
  const { status, answered, health, alarms, session, error, isLive, at, modelAt } = useStore();
  const { view, show, find, showsPlan } = useRoute();
  const theme = useTheme();
  const [text, setText] = useState("");
  const title = VIEWS.find(([name]) => name === view)![1];
  useEffect(() => {
    const state = health ? `${health.state}: ` : "";
    document.title = `${state}${title} – ferrosm`;
  }, [title, health?.state]);
  const active = alarms.filter((alarm) => alarm.state === "active" && alarm.cause === undefined).length;
  const search = (event: Event) => {
    event.preventDefault();
    if (text.trim()) location.hash = `#/fabric?find=${encodeURIComponent(text.trim())}`;
  };
  const leave = async () => {
    await closeSession();
    logOut();
  };
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <header>
        <h1><a href="#/overview">ferrosm</a></h1>
        {health && <Pill kind={health.state}>{health.state}</Pill>}
        {answered && <span class="role">{answered.role}{status?.port && ` at ${status.port.name}`}</span>}
        {status && !at && <span class="activity" title="What the SM is doing">{status.activity}</span>}
        <form role="search" onSubmit={search}>
          <input type="search" aria-label="Search by name, pattern, host list, GUID or LID" placeholder="Search: name, leaf-*, gpu[01-16], GUID, LID" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          <button type="submit">Search</button>
        </form>
        <span class={isLive ? "live on" : "live"} title={isLive ? "Events arrive as they happen" : "Not connected: trying again"}>{isLive ? "live" : "offline"}</span>
        <button type="button" onClick={toggleTheme}>{theme === "dark" ? "Light" : "Dark"}</button>
        <span class="user">{session!.user}, {session!.role}</span>
        <button type="button" onClick={() => void leave()}>Log out</button>
      </header>
      <nav aria-label="Views">
        {VIEWS.map(([name, label]) => (
          <a key={name} href={`#/${name}`} aria-current={name === view ? "page" : undefined}>
            {label}{name === "alarms" && active > 0 && <span class="count"> {active}</span>}
          </a>
        ))}
      </nav>
      <main id="main" tabIndex={-1}>
        {error && <Failure error={error} />}
        {at && <p class="past" role="status">{modelAt === at ? "The fabric as of" : "Asking for the fabric as of"} <Time at={at} />. Alarms, events and groups are those of now. <button type="button" onClick={() => showTime(undefined)}>Show it now</button></p>}
        {view === "overview" && <Overview />}
        {view === "fabric" && <Fabric show={show} find={find} showsPlan={showsPlan} />}
        {view === "nodes" && <Nodes />}
        {view === "links" && <Links />}
        {view === "alarms" && <Alarms />}
        {view === "events" && <Events />}
        {view === "maintenance" && <Maintenance />}
        {view === "plan" && <PlanView />}
        {view === "partitions" && <Partitions />}
        {view === "groups" && <Groups />}
        {view === "limits" && <Limits />}
      </main>
    </>
  );
}

render(<App />, document.getElementById("app")!);
void start();
