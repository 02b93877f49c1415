// Limits of links at ports of switches: shown, set and ended. The limits of the fabric are in `lists`.

import { useEffect, useState } from "preact/hooks";
import { ChangeFacts, ReasonForm, useChange } from "./change";
import type { Model } from "./model";
import { Dialog, Pill, Rows, useAnswer } from "./parts";
import { mayOperate, useStore } from "./store";
import type { Link, PortLimits } from "./types";

export interface LimitsChange {
  kind: "limit" | "unlimit";
  target: string;
}

const MTUS = ["256", "512", "1024", "2048", "4096"];
const WIDTHS = ["1", "2", "4", "8", "12"];
const SPEEDS = ["SDR", "DDR", "QDR", "FDR", "EDR", "HDR", "NDR", "XDR"];

/** All ports with limits. */
export function usePortLimits(): PortLimits[] {
  const { answer } = useAnswer<{ items: PortLimits[] }>("ports/limits");
  return answer?.items ?? [];
}

export function portOf(limits: PortLimits): number {
  return Number(limits.name.slice(limits.name.lastIndexOf("/") + 1));
}

export function limitText({ mtu, width, speed }: PortLimits): string {
  const parts = [mtu && `MTU ${mtu}`, width && `width ${width}X`, speed && `speed ${speed}`];
  return `at most ${parts.filter(Boolean).join(", ")}`;
}

/** The limits at either end of links. */
export function limitsOf(all: PortLimits[], links: Link[]): PortLimits[] {
  const ends = new Set(links.flatMap(({ a, b }) => [`${a.guid}/${a.port}`, `${b.guid}/${b.port}`]));
  return all.filter((limits) => ends.has(`${limits.guid}/${portOf(limits)}`));
}

const STATES: Record<PortLimits["state"], { text: string; kind: string }> = {
  applied: { text: "applied", kind: "ok" },
  "not-applied": { text: "not applied", kind: "warning" },
  "link-down": { text: "link down", kind: "error" },
};

function StatePill({ limits }: { limits: PortLimits }) {
  const { text, kind } = STATES[limits.state];
  return <Pill kind={kind}>{text}</Pill>;
}

/** Limits in the details of a node or link. */
export function PortLimitsList({ limits, onUnset }: { limits: PortLimits[]; onUnset: (target: string) => void }) {
  const { at } = useStore();
  if (limits.length === 0) return null;
  return (
    <>
      <h4>Limits of ports</h4>
      <ul class="plain">
        {limits.map((one) => (
          <li key={one.name}>
            {one.name}: {limitText(one)} <StatePill limits={one} />{one.reason && `; ${one.reason}`}
            {!at && mayOperate() && <> <button type="button" onClick={() => onUnset(one.name)}>Unset…</button></>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** All limits of ports, as a section of the limits. */
export function PortLimitsSection() {
  const { at } = useStore();
  const limits = usePortLimits();
  const [unset, setUnset] = useState<string>();
  return (
    <>
      <h2>Limits of ports</h2>
      {limits.length === 0 ? <p>No port has limits. Select a link in the <a href="#/fabric">fabric</a> to set them.</p> : (
        <Rows caption="Limits of ports" head={["Port", "Limits", "State", "Now", "Reason", ""]} rows={limits} row={(one) => (
          <tr key={one.name}>
            <td><a href={`#/fabric?show=${encodeURIComponent(`${one.guid}/${portOf(one)}`)}`}>{one.name}</a></td>
            <td>{limitText(one)}</td>
            <td><StatePill limits={one} /></td>
            <td>{one.now ?? "–"}</td>
            <td>{one.reason}</td>
            <td>{!at && mayOperate() && <button type="button" onClick={() => setUnset(one.name)}>Unset…</button>}</td>
          </tr>
        )} />
      )}
      {unset !== undefined && <LimitsDialog kind="unlimit" target={unset} onClose={() => setUnset(undefined)} />}
    </>
  );
}

export function LimitsDialog({ kind, target, model, onClose }: LimitsChange & { model?: Model; onClose: () => void }) {
  return kind === "limit"
    ? <SetDialog target={target} leadsToHost={leadsToHost(model, target)} onClose={onClose} />
    : <UnsetDialog target={target} onClose={onClose} />;
}

function leadsToHost(model: Model | undefined, target: string): boolean {
  const { link } = model?.find(target) ?? {};
  if (!model || link === undefined) return false;
  const { a, b } = model.links[link]!;
  return [a, b].some(({ guid }) => model.nodes.get(guid)?.kind !== "switch");
}

function UnsetDialog({ target, onClose }: { target: string; onClose: () => void }) {
  const change = useChange("ports/unset");
  useEffect(() => void change.preview({ target }), []);
  const { plan, done, error, isBusy } = change;
  return (
    <Dialog title={`Unset the limits of ${target}`} onClose={onClose}>
      <ChangeFacts change={change} />
      {plan && !done && <ReasonForm verb="Unset" isBusy={isBusy} onSend={(reason) => void change.send({ target }, reason)} onCancel={onClose} />}
      {(done || (error && !plan)) && <div class="actions"><button type="button" onClick={onClose}>Close</button></div>}
    </Dialog>
  );
}

interface Chosen {
  mtu: string;
  rate: string;
  width: string;
  speed: string;
  accepts: boolean;
}

function SetDialog({ target, leadsToHost, onClose }: { target: string; leadsToHost: boolean; onClose: () => void }) {
  const change = useChange("ports/set");
  const [chosen, setChosen] = useState<Chosen>({ mtu: "", rate: "", width: "", speed: "", accepts: false });
  const choose = (part: Partial<Chosen>) => {
    setChosen({ ...chosen, ...part });
    change.forget();
  };
  const number = (text: string) => (text ? Number(text) : undefined);
  const body = {
    target,
    mtu: number(chosen.mtu),
    rate_gbps: number(chosen.rate),
    width: number(chosen.width),
    speed: chosen.speed || undefined,
    accept_cut_off: chosen.accepts || undefined,
  };
  const { plan, done, isBusy } = change;
  const preview = (event: Event) => {
    event.preventDefault();
    void change.preview(body);
  };
  const hasRate = chosen.rate !== "";
  const hasPart = chosen.width !== "" || chosen.speed !== "";
  return (
    <Dialog title={`Limit the link at ${target}`} onClose={onClose}>
      {!done && (
        <form onSubmit={preview}>
          <Choice label="Largest MTU" values={MTUS} value={chosen.mtu} onChoose={(mtu) => choose({ mtu })} />
          <label>Highest rate in Gb/s <input type="number" min="1" step="1" disabled={hasPart} value={chosen.rate} onInput={(event) => choose({ rate: event.currentTarget.value })} /></label>
          <Choice label="Most lanes" values={WIDTHS} value={chosen.width} disabled={hasRate} onChoose={(width) => choose({ width })} />
          <Choice label="Highest speed of a lane" values={SPEEDS} value={chosen.speed} disabled={hasRate} onChoose={(speed) => choose({ speed })} />
          {leadsToHost && <label class="check"><input type="checkbox" checked={chosen.accepts} onChange={(event) => choose({ accepts: event.currentTarget.checked })} /> The link of the host may go down for a moment</label>}
          <div class="actions">
            <button type="submit" class={plan ? undefined : "primary"} disabled={isBusy || !(chosen.mtu || hasRate || hasPart)}>Preview</button>
            {!plan && <button type="button" onClick={onClose}>Cancel</button>}
          </div>
        </form>
      )}
      <ChangeFacts change={change} />
      {plan && !done && <ReasonForm verb="Set" isBusy={isBusy} onSend={(reason) => void change.send(body, reason)} onCancel={onClose} />}
      {done && <div class="actions"><button type="button" onClick={onClose}>Close</button></div>}
    </Dialog>
  );
}

function Choice({ label, values, value, disabled, onChoose }: { label: string; values: string[]; value: string; disabled?: boolean; onChoose: (value: string) => void }) {
  return (
    <label>{label}
      <select disabled={disabled} value={value} onChange={(event) => onChoose(event.currentTarget.value)}>
        <option value="">no limit</option>
        {values.map((one) => <option key={one}>{one}</option>)}
      </select>
    </label>
  );
}
