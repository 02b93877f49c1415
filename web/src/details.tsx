// Details of what is selected, and what can be done with it.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { PortLimitsList, limitText, limitsOf, portOf, usePortLimits } from "./limits";
import { linkName, linkTarget, type Model } from "./model";
import { Failure, Pill, Time, useAnswer } from "./parts";
import { mayOperate, useStore } from "./store";
import type { Change, FabricNode, FabricPath, Host, Link, Page, Port, PortLimits } from "./types";
import type { Bundle, Item, View } from "./view";

export interface Actions {
  /** Selects a node or link. */
  show: (target: { node?: string; link?: number }) => void;
  toggle: (key: string) => void;
  whatIf: (without: string) => void;
  maintain: (change: "drain" | "disable", target: string) => void;
  /** Sets or ends limits of the link at a port. */
  limit: (change: "limit" | "unlimit", target: string) => void;
  pathFrom: (name: string) => void;
  pathTo: (name: string) => void;
}

export function ItemDetails({ model, item, actions }: { model: Model; item: Item; actions: Actions }) {
  if (item.kind === "block") {
    return (
      <>
        <h3>{item.label}</h3>
        <p>{item.nodes.length} switches, {item.hosts} hosts</p>
        <p><button type="button" onClick={() => actions.toggle(item.key)}>Show its switches</button></p>
        <ul class="plain short">
          {item.nodes.slice(0, 60).map((guid) => (
            <li key={guid}><button type="button" class="link" onClick={() => actions.show({ node: guid })}>{model.name(guid)}</button></li>
          ))}
        </ul>
        {item.nodes.length > 60 && <p>and {item.nodes.length - 60} more</p>}
      </>
    );
  }
  return <NodeDetails model={model} guid={item.nodes[0]!} hosts={item.hosts} actions={actions} />;
}

function NodeDetails({ model, guid, hosts, actions }: { model: Model; guid: string; hosts: number; actions: Actions }) {
  const { alarms, health, at } = useStore();
  const allLimits = usePortLimits();
  const node = model.nodes.get(guid);
  if (!node) return <p>This node is no longer there.</p>;
  const own = alarms.filter((alarm) => alarm.object.guid === guid);
  const out = health?.maintenance?.find((item) => item.guid === guid && item.kind === "drained-switch");
  const links = (model.linksOf.get(guid) ?? []).map((index) => ({ index, link: model.links[index]! }));
  const ownPort = ({ a, b }: Link) => (a.guid === guid ? a.port : b.port);
  const atLinks = limitsOf(allLimits, links.map(({ link }) => link));
  // A port with limits may be without a link.
  const limits = [...atLinks, ...allLimits.filter((one) => one.guid === guid && !atLinks.includes(one))];
  const place = model.places.get(guid);
  const isSwitch = node.kind === "switch";
  return (
    <>
      <h3>{node.name || node.guid}</h3>
      <p>
        <Pill kind={node.state === "present" ? "ok" : "error"}>{node.state}</Pill>
        {out && <> <Pill kind="maintenance">drained</Pill></>}
        {node.since && <> since <Time at={node.since} /></>}
      </p>
      <dl class="facts">
        <dt>Kind</dt><dd>{node.kind === "ca" ? "host (channel adapter)" : node.kind}</dd>
        <dt>GUID</dt><dd><code>{node.guid}</code></dd>
        <dt>{node.lids.length === 1 ? "LID" : "LIDs"}</dt><dd>{node.lids.join(", ") || "none"}</dd>
        {!isSwitch && <><dt>At</dt><dd>{node.location}</dd></>}
        <dt>Ports</dt><dd>{node.ports_linked} of {node.ports} linked</dd>
        {place?.level !== undefined && <><dt>Level</dt><dd>{place.level === 0 ? "0 (leaf)" : place.level}</dd></>}
        {place?.group !== undefined && <><dt>Group</dt><dd>{place.group}</dd></>}
        {place?.coordinates && <><dt>Coordinates</dt><dd>{place.coordinates.join(", ")}</dd></>}
      </dl>
      {own.map((alarm) => <p key={alarm.id} class="alarm"><Pill kind={alarm.severity}>alarm {alarm.id}</Pill> {alarm.text}</p>)}
      {out?.reason && <p>Drained: {out.reason}</p>}
      <div class="actions">
        {(model.hostsOf.get(guid)?.length ?? 0) > 0 && (
          <button type="button" onClick={() => actions.toggle(guid)}>{hosts > 0 ? "Show its hosts" : "Hide its hosts"}</button>
        )}
        <button type="button" onClick={() => actions.pathFrom(node.name || node.guid)}>Path from here</button>
        <button type="button" onClick={() => actions.pathTo(node.name || node.guid)}>Path to here</button>
        {!at && node.state === "present" && <button type="button" onClick={() => actions.whatIf(node.guid)}>What if it is lost?</button>}
        {!at && isSwitch && !out && mayOperate() && node.state === "present" && (
          <button type="button" onClick={() => actions.maintain("drain", node.name || node.guid)}>Drain…</button>
        )}
      </div>
      <h4>Links</h4>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Links of ${node.name}`}>
        <table>
          <thead><tr><th scope="col">Port</th><th scope="col">To</th><th scope="col">State</th><th scope="col">Rate</th></tr></thead>
          <tbody>
            {links.sort((x, y) => ownPort(x.link) - ownPort(y.link)).map(({ index, link }) => (
              <tr key={index}>
                <td>{ownPort(link)}</td>
                <td><button type="button" class="link" onClick={() => actions.show({ link: index })}>{model.name(model.otherEnd(index, guid))}</button></td>
                <td><LinkPill link={link} /></td>
                <td>{link.rate || "–"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <PortLimitsList limits={limits} onUnset={(target) => actions.limit("unlimit", target)} />
      <More node={node} limits={allLimits} />
    </>
  );
}

/** An answer that is asked for when it is opened. */
function OnRequest<T>({ title, ask, children }: { title: string; ask: () => Promise<T>; children: (answer: T) => ComponentChildren }) {
  const [answer, setAnswer] = useState<T>();
  const [error, setError] = useState<ApiError>();
  const load = () => {
    setError(undefined);
    ask().then(setAnswer).catch((failed: unknown) => failed instanceof ApiError && setError(failed));
  };
  return (
    <details onToggle={(event) => event.currentTarget.open && load()}>
      <summary>{title}</summary>
      {error && <Failure error={error} />}
      {answer !== undefined && children(answer)}
    </details>
  );
}

/** What else the service knows of a node, on request. */
function More({ node, limits }: { node: FabricNode; limits: PortLimits[] }) {
  const { at } = useStore();
  const { guid } = node;
  const limitAt = (port: number) => limits.find((one) => one.guid === guid && portOf(one) === port);
  return (
    // Another node begins with closed ones.
    <div key={guid}>
      {node.kind === "switch" && (
        <OnRequest title="Ports, as read" ask={() => get<Page<Port>>("ports", { at, limit: 1000, where: `guid=${guid}` })}>
          {({ items }) => (
            <table>
              <thead><tr><th scope="col">Port</th><th scope="col">State</th><th scope="col">Physical</th><th scope="col">MTU</th><th scope="col">Limits</th></tr></thead>
              <tbody>
                {items.map((port) => {
                  const limited = limitAt(port.port);
                  return <tr key={port.port}><td>{port.port}</td><td>{port.state}</td><td>{port.physical_state}</td><td>{port.mtu}</td><td>{limited ? limitText(limited) : "–"}</td></tr>;
                })}
              </tbody>
            </table>
          )}
        </OnRequest>
      )}
      {node.kind !== "switch" && node.state === "present" && !at && (
        <OnRequest title="Partitions and groups" ask={() => get<Host>(`hosts/${guid}`)}>
          {({ ports }) => (
            <ul class="plain">
              {ports.map(({ place, partitions, groups }) => (
                <li key={place.port.guid}>
                  Port {place.number}: {partitions.join(", ") || "no partition"}; {groups.length === 0 ? "no group" : groups.join(", ")}
                </li>
              ))}
            </ul>
          )}
        </OnRequest>
      )}
      <OnRequest title="Changes" ask={() => get<{ items: Change[] }>("changes", { node: guid, limit: 50 })}>
        {({ items }) => (
          <>
            {items.length === 0 && <p>None known.</p>}
            <ul class="plain">
              {[...items].reverse().map((change) => (
                <li key={change.number}><Time at={change.at} /> {change.what}{change.cause && `, because of: ${change.cause}`}{change.effect && `; ${change.effect}`}</li>
              ))}
            </ul>
          </>
        )}
      </OnRequest>
    </div>
  );
}

export function LinkPill({ link }: { link: Link }) {
  if (link.maintenance) return <Pill kind="maintenance">{link.maintenance === "disabled-port" ? "disabled" : "drained"}</Pill>;
  const kind = link.state === "up" ? "ok" : link.state === "down" ? "error" : "warning";
  return <Pill kind={kind}>{link.state}</Pill>;
}

export function BundleDetails({ model, view, bundle, routes, actions }: { model: Model; view: View; bundle: Bundle; routes?: Float64Array; actions: Actions }) {
  if (bundle.links.length > 1) {
    const name = (key: string) => view.items.get(key)?.label ?? key;
    return (
      <>
        <h3>{name(bundle.a)} – {name(bundle.b)}</h3>
        <p>{bundle.links.length} links</p>
        <ul class="plain short">
          {bundle.links.slice(0, 100).map((index) => (
            <li key={index}>
              <LinkPill link={model.links[index]!} /> <button type="button" class="link" onClick={() => actions.show({ link: index })}>{linkName(model.links[index]!)}</button>
            </li>
          ))}
        </ul>
      </>
    );
  }
  return <LinkDetails model={model} index={bundle.links[0]!} routes={routes?.[bundle.links[0]!]} actions={actions} />;
}

export function LinkDetails({ model, index, routes, actions }: { model: Model; index: number; routes?: number; actions: Actions }) {
  const { at } = useStore();
  const limits = usePortLimits();
  const link = model.links[index];
  if (!link) return <p>This link is no longer there.</p>;
  const target = linkTarget(model, link);
  const isUp = link.state !== "down";
  const hasSwitch = [link.a, link.b].some(({ guid }) => model.nodes.get(guid)?.kind === "switch");
  return (
    <>
      <h3>{linkName(link)}</h3>
      <p><LinkPill link={link} />{link.since && <> since <Time at={link.since} /></>}</p>
      <dl class="facts">
        <dt>Rate</dt><dd>{link.rate ? `${link.rate}, ${link.mbps / 1000} Gb/s` : "–"}</dd>
        {link.possible_rate && link.possible_rate !== link.rate && <><dt>Possible</dt><dd>{link.possible_rate}</dd></>}
        <dt>Went down</dt><dd>{link.times_down} times since this SM is master</dd>
        {routes !== undefined && <><dt>Routes</dt><dd>{routes} in the direction with more</dd></>}
        {link.note && <><dt>Note</dt><dd>{link.note}</dd></>}
      </dl>
      <div class="actions">
        <button type="button" onClick={() => actions.show({ node: link.a.guid })}>{link.a.name || link.a.guid}</button>
        <button type="button" onClick={() => actions.show({ node: link.b.guid })}>{link.b.name || link.b.guid}</button>
        {!at && isUp && <button type="button" onClick={() => actions.whatIf(target)}>What if it is lost?</button>}
        {!at && isUp && mayOperate() && !link.maintenance && (
          <>
            <button type="button" onClick={() => actions.maintain("drain", target)}>Drain…</button>
            <button type="button" onClick={() => actions.maintain("disable", target)}>Disable port…</button>
            {hasSwitch && <button type="button" onClick={() => actions.limit("limit", target)}>Limit…</button>}
          </>
        )}
      </div>
      <PortLimitsList limits={limitsOf(limits, [link])} onUnset={(port) => actions.limit("unlimit", port)} />
    </>
  );
}

/** The path between two ports, from the installed tables. It follows each change of the fabric. */
export function PathDetails({ from, to, onPath }: { from: string; to: string; onPath: (path: FabricPath | undefined) => void }) {
  const { at } = useStore();
  const { answer: path, error } = useAnswer<FabricPath>("paths", { from, to, at });
  useStateEffect(path, onPath);
  if (error) return <Failure error={error} />;
  if (!path) return <p role="status">Asking for the path…</p>;
  return (
    <>
      <h3>{path.from.name} → {path.to.name}</h3>
      {path.dropped && <p class="alarm"><Pill kind="error">dropped</Pill> {path.dropped}</p>}
      <dl class="facts">
        <dt>LID, SL</dt><dd>{path.lid}, {path.sl}</dd>
        <dt>MTU</dt><dd>{path.mtu}</dd>
        <dt>Narrowest</dt><dd>{path.narrowest_mbps / 1000} Gb/s</dd>
        <dt>P_Keys</dt><dd>{path.p_keys.join(", ") || "none"}</dd>
      </dl>
      <table>
        <thead><tr><th scope="col">Switch</th><th scope="col">In</th><th scope="col">Out</th><th scope="col">VL</th></tr></thead>
        <tbody>{path.hops.map((hop) => <tr key={hop.guid}><td>{hop.name}</td><td>{hop.in_port}</td><td>{hop.out_port}</td><td>{hop.vl ?? "–"}</td></tr>)}</tbody>
      </table>
    </>
  );
}


function useStateEffect<T>(value: T | undefined, callback: (value: T | undefined) => void) {
  useEffect(() => callback(value), [value]);
}
