// The first view: what the SM is and does, what is wrong, and what to do on an empty fabric.

import { EventText, Failure, Pill, Time } from "./parts";
import { useStore } from "./store";
import { Advice } from "./advice";

export function Overview() {
  const { status, health, alarms, events, error, model, at } = useStore();
  if (error && !status) return <Failure error={error} />;
  if (!status || !health) return <p role="status">Asking the service…</p>;
  const { fabric, last_sweep: sweep } = status;
  const active = alarms.filter((alarm) => alarm.state === "active" && alarm.cause === undefined);
  return (
    <div class="overview">
      <section class={`card state ${health.state}`} aria-labelledby="health-title">
        <h2 id="health-title">Health</h2>
        <p class="big">{health.state.toUpperCase()}</p>
        <p>{health.summary}</p>
        {health.findings.length > 0 && (
          <ul class="findings">
            {health.findings.slice(0, 20).map((finding) => (
              <li key={`${finding.kind} ${finding.location}`}>
                <span class={finding.severe ? "mark bad" : "mark warn"} aria-label={finding.severe ? "severe" : "minor"}>{finding.severe ? "!" : "~"}</span>
                <a href={`#/fabric?show=${encodeURIComponent(finding.location)}`}>{finding.location}</a>: {finding.text}
                {finding.since && <> since <Time at={finding.since} /></>}
              </li>
            ))}
          </ul>
        )}
        {health.findings.length > 20 && <p>and {health.findings.length - 20} more: <code>ferrosm health</code></p>}
      </section>
      <Advice />
      <section class="card" aria-labelledby="size-title">
        <h2 id="size-title">Fabric</h2>
        {fabric ? (
          <dl class="numbers">
            <div><dt>switches</dt><dd>{fabric.switches}</dd></div>
            <div><dt>hosts</dt><dd>{fabric.cas}</dd></div>
            {fabric.routers > 0 && <div><dt>routers</dt><dd>{fabric.routers}</dd></div>}
            <div><dt>links</dt><dd>{fabric.links}</dd></div>
          </dl>
        ) : (
          <p>Not discovered yet.</p>
        )}
        {model?.structure && <p>{model.structure.summary}</p>}
        {fabric && <p><a href="#/fabric">Show it</a></p>}
      </section>
      <section class="card" aria-labelledby="sm-title">
        <h2 id="sm-title">Subnet manager</h2>
        <dl class="facts">
          <dt>Activity</dt><dd aria-live="polite">{at ? "–" : status.activity}</dd>
          <dt>Port</dt><dd>{status.port ? `${status.port.name} (${status.port.location})` : "none"}</dd>
          <dt>Priority</dt><dd>{status.priority}</dd>
          <dt>Role since</dt><dd><Time at={status.role_since} /> ({status.role_reason})</dd>
          {sweep && <><dt>Last sweep</dt><dd>{sweep.number}, {sweep.kind}, {(sweep.took_us / 1000).toFixed(0)} ms, {sweep.smps} SMPs, at <Time at={sweep.at} /></dd></>}
          {sweep && sweep.engine !== "" && <><dt>Engine</dt><dd>{sweep.engine}</dd></>}
          <dt>Version</dt><dd>ferrosm {status.version}, started <Time at={status.started_at} />; <a href="licenses.txt">licences of this page</a></dd>
        </dl>
      </section>
      <section class="card" aria-labelledby="alarms-title">
        <h2 id="alarms-title">Alarms</h2>
        {active.length === 0 ? <p>None.</p> : (
          <ul class="plain">
            {active.slice(0, 8).map((alarm) => (
              <li key={alarm.id}><Pill kind={alarm.severity}>{alarm.severity}</Pill> {alarm.object.name}: {alarm.text}</li>
            ))}
          </ul>
        )}
        <p><a href="#/alarms">All alarms</a></p>
      </section>
      <section class="card wide" aria-labelledby="events-title">
        <h2 id="events-title">Last events</h2>
        <ol class="plain events">
          {events.slice(0, 8).map((event) => (
            <li key={event.number}><Time at={event.at} /> <Pill kind={event.severity}>{event.severity}</Pill> <EventText event={event} /></li>
          ))}
        </ol>
        <p><a href="#/events">All events</a></p>
      </section>
    </div>
  );
}
