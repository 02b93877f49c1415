// The plan of a start: what this SM would write to the fabric as it is now.

import { useMemo, useState } from "preact/hooks";
import { Failure, Pill, Rows, Time } from "./parts";
import { EFFECT_TEXTS, affectedHosts, affectedLinks, isAlarm, setsOf, type Affected } from "./planned";
import { makePlan, mayOperate, useStore } from "./store";
import type { Plan, PlannedEffect, SetCount } from "./types";

const REMOVALS = [
  ["p-key-removal", "P_Keys that the configuration does not name"],
  ["lmc-change", "LMCs"],
  ["m-key-removal", "M_Keys"],
  ["qos-removal", "QoS tables"],
] as const;

export function PlanView() {
  const { plan, planError, isPlanning } = useStore();
  const [accepted, setAccepted] = useState<string[]>([]);
  const toggle = (removal: string) => {
    setAccepted(accepted.includes(removal) ? accepted.filter((one) => one !== removal) : [...accepted, removal]);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void makePlan(accepted);
  };
  return (
    <section>
      <h2>Plan of a start</h2>
      <p>What this SM would write if it started now, with the configuration in force. The fabric is read; nothing is written.</p>
      <form onSubmit={submit}>
        <fieldset>
          <legend>With consent to replace what another SM configured</legend>
          {REMOVALS.map(([removal, text]) => (
            <label key={removal} class="filter"><input type="checkbox" checked={accepted.includes(removal)} onChange={() => toggle(removal)} /> {text}</label>
          ))}
        </fieldset>
        <p>
          <button type="submit" class="primary" disabled={isPlanning || !mayOperate()}>{plan ? "Make the plan again" : "Make the plan"}</button>
          {!mayOperate() && " This needs the role operate."}
        </p>
      </form>
      <p role="status">{isPlanning ? "Reading the fabric…" : ""}</p>
      {planError && <Failure error={planError} />}
      {plan && <PlanDetails plan={plan} at={plan.at} />}
    </section>
  );
}

function PlanDetails({ plan, at }: { plan: Plan; at: string }) {
  const { model } = useStore();
  const links = useMemo(() => affectedLinks(plan, model), [plan, model]);
  const hosts = useMemo(() => affectedHosts(plan), [plan]);
  const nodes = plan.nodes ?? [];
  return (
    <>
      <p>As of <Time at={at} />. {model && <a href="#/fabric?plan=shown">Show it on the drawing</a>}</p>
      <PlanFacts plan={plan} />
      <h3>Sets by attribute</h3>
      {plan.sets.length === 0 ? <p>None: the fabric is as this SM would configure it.</p> : (
        <Rows caption="Sets by attribute" head={["Attribute", "Sets"]} rows={plan.sets} row={({ attribute, count }) => (
          <tr key={attribute}><td>{attribute}</td><td>{count}</td></tr>
        )} />
      )}
      <h3>Links that change: {links.length}</h3>
      {links.length > 0 && <AffectedRows caption="Links that change" what="Link" affected={links} />}
      <h3>Hosts concerned: {hosts.length}</h3>
      {hosts.length > 0 && <AffectedRows caption="Hosts concerned" what="Host" affected={hosts} />}
      <h3>Nodes that are written to: {nodes.length}</h3>
      {nodes.length > 0 && (
        <Rows caption="Nodes that are written to" head={["Node", "Kind", "Sets", "By attribute"]} rows={nodes} row={(node) => (
          <tr key={node.guid}>
            <td><a href={show(node.guid)}>{node.name || node.guid}</a></td>
            <td>{node.kind === "ca" ? "host" : node.kind}</td>
            <td>{setsOf(node)}</td>
            <td>{setText(node.sets)}</td>
          </tr>
        )} />
      )}
    </>
  );
}

const show = (target: string) => `#/fabric?show=${encodeURIComponent(target)}`;

function setText(sets: SetCount[]): string {
  return sets.map(({ attribute, count }) => `${count} ${attribute}`).join(", ");
}

function AffectedRows({ caption, what, affected }: { caption: string; what: string; affected: Affected[] }) {
  return (
    <Rows caption={caption} head={[what, "Changes"]} rows={affected} row={({ name, target, effects }) => (
      <tr key={target}>
        <td><a href={show(target)}>{name}</a></td>
        <td>{effects.map((effect) => <EffectText key={effect} effect={effect} />)}</td>
      </tr>
    )} />
  );
}

function EffectText({ effect }: { effect: PlannedEffect }) {
  return <><Pill kind={isAlarm(effect) ? "error" : "info"}>{EFFECT_TEXTS[effect]}</Pill> </>;
}

/** Other SMs, alarms, and numbers: also beside the drawing. */
export function PlanFacts({ plan }: { plan: Plan }) {
  const { lids, ports, tables } = plan;
  const alarms = planAlarms(plan);
  const gained = plan.p_keys.filter(({ added }) => added > 0).map(({ p_key, added }) => `${p_key} added to ${added}`);
  return (
    <>
      {plan.sms.length === 0 ? <p>No other SM is in the fabric.</p> : (
        <ul class="plain">
          {plan.sms.map((sm) => <li key={sm.guid}>{sm.state} now: {sm.name || sm.guid}, priority {sm.priority}{sm.reaction && `; ${sm.reaction}`}</li>)}
        </ul>
      )}
      {plan.awaits_consent && <p class="alarm"><Pill kind="warning">waits for consent</Pill> {plan.awaits_consent}. Until then these settings stay.</p>}
      {alarms.length === 0
        ? <p><Pill kind="ok">no alarm</Pill> no traffic is interrupted by these Sets</p>
        : <ul class="plain">{alarms.map((text) => <li key={text}><Pill kind="error">alarm</Pill> {text}</li>)}</ul>}
      {plan.problems.length > 0 && <ul class="plain">{plan.problems.map((text) => <li key={text}><Pill kind="warning">problem</Pill> {text}</li>)}</ul>}
      <dl class="facts">
        <dt>LIDs</dt><dd>{lids.kept} kept, {lids.assigned} assigned, {lids.changed} changed</dd>
        <dt>P_Keys</dt><dd>{gained.join(", ") || "none added"}</dd>
        <dt>Ports</dt><dd>{ports.activated} become Active, {ports.sm_lid_changed} get another SM LID, {ports.reregistered} get ClientReregister</dd>
        <dt>LFTs</dt><dd>{tables.lft_blocks} blocks with {tables.lft_entries} entries, on {tables.switches} switches</dd>
        <dt>Other tables</dt><dd>{tables.mft_blocks} MFT blocks, {tables.sl_to_vl} SLtoVL, {tables.vl_arbitration} VL arbitration</dd>
        <dt>Engine</dt><dd>{plan.engine || "no routing found"}</dd>
      </dl>
    </>
  );
}

/** What `ferrosm plan` marks with `!!`. */
function planAlarms({ lids, p_keys: keys, ports, violations = [] }: Plan): string[] {
  const counted: [number, string][] = [
    [lids.changed, "ports get another LID: their connections break"],
    [ports.link_changed, "Active ports get another MTU or number of VLs"],
    [ports.m_key_changed, "ports get another M_Key"],
    [ports.lmc_changed, "ports get another LMC"],
  ];
  return [
    ...counted.filter(([count]) => count > 0).map(([count, text]) => `${count} ${text}`),
    ...keys.filter(({ removed }) => removed > 0).map(({ p_key, removed }) => `P_Key ${p_key} removed from ${removed} ${removed === 1 ? "port" : "ports"}`),
    ...violations.map(({ name, text }) => `invariant ${name}: ${text}`),
  ];
}
