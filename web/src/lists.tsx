// The lists: nodes, links, alarms, events, limits, partitions, groups.

import { useMemo, useState } from "preact/hooks";
import { ApiError, post } from "./api";
import { LinkPill } from "./details";
import { PortLimitsSection } from "./limits";
import { linkName, type Model } from "./model";
import { EventText, Failure, Pill, Rows, Time, useAnswer } from "./parts";
import { search } from "./search";
import { mayOperate, refresh, useStore } from "./store";
import type { Alarm, Group, Limit, Member, Page, Partition, Severity, Sm } from "./types";

const show = (name: string) => `#/fabric?show=${encodeURIComponent(name)}`;

export function Nodes() {
  const { model } = useStore();
  return model ? <NodesOf model={model} /> : <p role="status">No fabric yet.</p>;
}

function NodesOf({ model }: { model: Model }) {
  const [text, setText] = useState("");
  const guids = useMemo(() => {
    const found = text ? search(model, text) : [...model.nodes.keys()];
    const order = new Intl.Collator(undefined, { numeric: true });
    return found.sort((a, b) => order.compare(model.name(a), model.name(b)));
  }, [model, text]);
  return (
    <section>
      <h2>Nodes</h2>
      <label class="filter">Filter <input type="search" placeholder="name, leaf-*, gpu[01-16], GUID, LID" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <p role="status">{guids.length} nodes</p>
      <Rows caption="Nodes" head={["Name", "Kind", "State", "LIDs", "Location", "Ports linked", "GUID"]} rows={guids} row={(guid) => {
        const node = model.nodes.get(guid)!;
        return (
          <tr key={guid}>
            <td><a href={show(guid)}>{node.name || guid}</a></td>
            <td>{node.kind === "ca" ? "host" : node.kind}</td>
            <td><Pill kind={node.state === "present" ? "ok" : "error"}>{node.state}</Pill></td>
            <td>{node.lids.join(", ")}</td>
            <td>{node.location}</td>
            <td>{node.ports_linked} of {node.ports}</td>
            <td><code>{guid}</code></td>
          </tr>
        );
      }} />
    </section>
  );
}

export function Links() {
  const { model } = useStore();
  const [onlyProblems, setOnlyProblems] = useState(false);
  const [text, setText] = useState("");
  if (!model) return <p role="status">No fabric yet.</p>;
  const named = text ? new Set(search(model, text)) : undefined;
  const links = model.links.filter((link) => (!onlyProblems || link.state !== "up" || link.maintenance)
    && (!named || named.has(link.a.guid) || named.has(link.b.guid)));
  return (
    <section>
      <h2>Links</h2>
      <label class="filter">Filter by node <input type="search" value={text} onInput={(event) => setText(event.currentTarget.value)} /></label>
      <label class="filter"><input type="checkbox" checked={onlyProblems} onChange={(event) => setOnlyProblems(event.currentTarget.checked)} /> only those that are not up</label>
      <p role="status">{links.length} links</p>
      <Rows caption="Links" head={["Link", "State", "Rate", "Possible", "Since", "Went down", "Note"]} rows={links} row={(link) => (
        <tr key={linkName(link)}>
          <td><a href={show(`${link.a.guid}/${link.a.port}`)}>{linkName(link)}</a></td>
          <td><LinkPill link={link} /></td>
          <td>{link.rate || "–"}</td>
          <td>{link.possible_rate || "–"}</td>
          <td>{link.since ? <Time at={link.since} /> : "–"}</td>
          <td>{link.times_down}</td>
          <td>{link.note}</td>
        </tr>
      )} />
    </section>
  );
}

export function Alarms() {
  const { answered, events } = useStore();
  const [acknowledged, setAcknowledged] = useState(0);
  const { answer, error } = useAnswer<Page<Alarm>>("alarms", { limit: 1000 }, acknowledged + (events[0]?.number ?? 0));
  const [refusal, setRefusal] = useState<ApiError>();
  if (error) return <Failure error={error} />;
  const acknowledge = async (alarm: Alarm) => {
    const reason = prompt(`Acknowledge alarm ${alarm.id} (${alarm.object.name}). Reason, for the audit log:`);
    if (reason === null) return;
    try {
      setRefusal(undefined);
      await post(`alarms/${alarm.id}/ack`, { reason });
      setAcknowledged(acknowledged + 1);
      refresh();
    } catch (failed) {
      if (failed instanceof ApiError) setRefusal(failed);
    }
  };
  return (
    <section>
      <h2>Alarms</h2>
      {refusal && <Failure error={refusal} />}
      {answer?.items.length === 0 && <p>No alarm{answered?.role !== "master" && ". The master has the alarms of the fabric"}.</p>}
      {answer && answer.items.length > 0 && (
        <Rows caption="Alarms" head={["No.", "Severity", "State", "Where", "What", "Raised", "Times", ""]} rows={answer.items} row={(alarm) => (
          <tr key={alarm.id} class={alarm.state}>
            <td>{alarm.id}</td>
            <td><Pill kind={alarm.severity}>{alarm.severity}</Pill></td>
            <td>{alarm.state}{alarm.acknowledged && ` by ${alarm.acknowledged.by}`}</td>
            <td><a href={show(alarm.object.name)}>{alarm.object.name}</a></td>
            <td>{alarm.text}{alarm.cause !== undefined && ` (because of alarm ${alarm.cause})`}</td>
            <td><Time at={alarm.raised_at} />{alarm.cleared_at && <>, cleared <Time at={alarm.cleared_at} /></>}</td>
            <td>{alarm.occurrences}</td>
            <td>{alarm.state === "active" && mayOperate() && <button type="button" onClick={() => void acknowledge(alarm)}>Acknowledge</button>}</td>
          </tr>
        )} />
      )}
    </section>
  );
}

const ORDER: Severity[] = ["debug", "info", "warning", "error"];

export function Events() {
  const { events, isLive } = useStore();
  const [least, setLeast] = useState<Severity>("info");
  const shown = events.filter((event) => ORDER.indexOf(event.severity) >= ORDER.indexOf(least));
  return (
    <section>
      <h2>Events</h2>
      <label class="filter">At least
        <select value={least} onChange={(event) => setLeast(event.currentTarget.value as Severity)}>
          {ORDER.slice(1).map((severity) => <option key={severity}>{severity}</option>)}
        </select>
      </label>
      <p role="status">{isLive ? "New events appear as they happen." : "Not connected: trying again."}</p>
      <Rows caption="Events, the newest first" head={["Time", "Severity", "What"]} rows={shown} row={(event) => (
        <tr key={event.number}>
          <td><Time at={event.at} /></td>
          <td><Pill kind={event.severity}>{event.severity}</Pill></td>
          <td><EventText event={event} /></td>
        </tr>
      )} />
    </section>
  );
}

export function Limits() {
  const { at } = useStore();
  const { answer, error } = useAnswer<{ items: Limit[] }>("limits", { at });
  const { answer: sms } = useAnswer<{ items: Sm[] }>("sms", { at });
  return (
    <section>
      <h2>Limits</h2>
      {error && <Failure error={error} />}
      {answer && (
        <Rows caption="Limits" head={["Resource", "Used", "Limit", "", "Limited by"]} rows={answer.items} row={(limit) => (
          <tr key={limit.resource}>
            <td>{limit.resource}</td>
            <td>{limit.used}</td>
            <td>{limit.limit}</td>
            <td><meter min={0} max={limit.limit} high={limit.limit * 0.75} value={limit.used} aria-label={`${limit.resource}: ${limit.used} of ${limit.limit}`} /></td>
            <td>{limit.limited_by || "–"}</td>
          </tr>
        )} />
      )}
      <PortLimitsSection />
      <h2>Subnet managers</h2>
      {sms && (
        <Rows caption="Subnet managers" head={["Port", "Location", "State", "Priority"]} rows={sms.items} row={(sm) => (
          <tr key={sm.port.guid}><td>{sm.port.name || sm.port.guid}{sm.is_self && " (this one)"}</td><td>{sm.port.location}</td><td>{sm.state}</td><td>{sm.priority}</td></tr>
        )} />
      )}
    </section>
  );
}

export function Partitions() {
  const { at } = useStore();
  const [shown, setShown] = useState<string>();
  const { answer, error } = useAnswer<{ items: Partition[] }>("partitions", { at });
  if (error) return <Failure error={error} />;
  return (
    <section>
      <h2>Partitions</h2>
      {answer && (
        <Rows caption="Partitions" head={["P_Key", "Name", "Full members", "Limited members", "Defined by", ""]} rows={answer.items} row={(partition) => (
          <tr key={partition.number}>
            <td><code>{partition.number}</code></td>
            <td>{partition.name || "–"}</td>
            <td>{partition.full}</td>
            <td>{partition.limited}</td>
            <td>{partition.added ? "a command" : partition.name ? "the configuration" : "nothing: ports have the P_Key"}</td>
            <td><button type="button" aria-expanded={shown === partition.number} onClick={() => setShown(shown === partition.number ? undefined : partition.number)}>Members</button></td>
          </tr>
        )} />
      )}
      {shown && <Members title={`Members of ${shown}`} resource={`partitions/${encodeURIComponent(shown)}/members`} />}
    </section>
  );
}

export function Groups() {
  const [shown, setShown] = useState<string>();
  const { answer, error } = useAnswer<Page<Group>>("groups", { limit: 10_000 });
  if (error) return <section><h2>Multicast groups</h2><Failure error={error} /></section>;
  return (
    <section>
      <h2>Multicast groups</h2>
      {answer?.items.length === 0 && <p>No group: hosts create them, with IPoIB for example.</p>}
      {answer && answer.items.length > 0 && (
        <Rows caption="Multicast groups" head={["MGID", "MLID", "P_Key", "MTU", "Rate", "Members", "Switches", ""]} rows={answer.items} row={(group) => (
          <tr key={group.mgid}>
            <td><code>{group.mgid}</code></td>
            <td>{group.mlid}</td>
            <td>{group.p_key}</td>
            <td>{group.mtu}</td>
            <td>{group.rate_gbps} Gb/s</td>
            <td>{group.members}</td>
            <td>{group.switches}</td>
            <td><button type="button" aria-expanded={shown === group.mgid} onClick={() => setShown(shown === group.mgid ? undefined : group.mgid)}>Members</button></td>
          </tr>
        )} />
      )}
      {shown && <Members title={`Members of ${shown}`} resource={`groups/${encodeURIComponent(shown)}/members`} />}
    </section>
  );
}

function Members({ title, resource }: { title: string; resource: string }) {
  const { answer, error } = useAnswer<Page<Member>>(resource, { limit: 10_000 });
  if (error) return <Failure error={error} />;
  if (!answer) return <p role="status">Asking…</p>;
  return (
    <>
      <h3>{title}</h3>
      <p>{answer.total} members</p>
      <Rows caption={title} head={["Name", "Location", "Membership", "GUID"]} rows={answer.items} row={(member) => (
        <tr key={member.guid}>
          <td><a href={show(member.name)}>{member.name}</a></td>
          <td>{member.location}</td>
          <td>{member.membership ?? member.join}</td>
          <td><code>{member.guid}</code></td>
        </tr>
      )} />
    </>
  );
}
