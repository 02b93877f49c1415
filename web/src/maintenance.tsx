// Drain and port disable: first the plan, then the change. The list of what is out of service.

import { useEffect, useState } from "preact/hooks";
import { ApiError, post } from "./api";
import { Dialog, Failure, Pill, Rows, Time } from "./parts";
import { PredictionFacts } from "./prediction";
import { mayOperate, refresh, useStore } from "./store";
import type { ChangePlan, CommandEntry, MaintenanceItem, WhatIf } from "./types";

interface MaintenanceDialogProps {
  kind: "drain" | "disable";
  target: string;
  onClose: () => void;
  /** What the change would do, for the drawing. */
  onPlan: (prediction: WhatIf | undefined) => void;
}

export function MaintenanceDialog({ kind, target, onClose, onPlan }: MaintenanceDialogProps) {
  const [plan, setPlan] = useState<ChangePlan & { revision: number }>();
  const [error, setError] = useState<ApiError>();
  const [done, setDone] = useState<CommandEntry>();
  const [isSending, setSending] = useState(false);
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState("");
  const resource = kind === "drain" ? "drain" : "ports/disable";
  useEffect(() => {
    post<ChangePlan>(resource, { dry_run: true }, { target })
      .then((answer) => {
        setPlan(answer);
        onPlan(answer.prediction);
      })
      .catch((refusal: unknown) => refusal instanceof ApiError && setError(refusal));
  }, []);
  const send = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    setError(undefined);
    try {
      const for_s = hours ? Math.round(Number(hours) * 3600) : undefined;
      setDone(await post<CommandEntry>(resource, { reason }, { target, for_s }));
      refresh();
    } catch (refusal) {
      if (refusal instanceof ApiError) setError(refusal);
    }
    setSending(false);
  };
  const verb = kind === "drain" ? "Drain" : "Disable";
  return (
    <Dialog title={kind === "drain" ? `Drain ${target}` : `Disable port ${target}`} onClose={onClose}>
      {!plan && !error && <p role="status">Computing what it would do…</p>}
      {plan?.prediction && !done && <PredictionFacts prediction={plan.prediction} />}
      {error && <Failure error={error} />}
      {done && <p role="status"><Pill kind="ok">{done.state}</Pill> {done.message}</p>}
      {plan && !done && (
        <form onSubmit={(event) => void send(event)}>
          <label>Reason, for the audit log <input required maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} /></label>
          <label>Hours until it returns by itself; empty: until undone <input type="number" min="0.1" step="any" value={hours} onInput={(event) => setHours(event.currentTarget.value)} /></label>
          <div class="actions">
            <button type="submit" class="primary" disabled={isSending}>{verb}</button>
            <button type="button" onClick={onClose}>Cancel</button>
          </div>
        </form>
      )}
      {(done || (error && !plan)) && <div class="actions"><button type="button" onClick={onClose}>Close</button></div>}
    </Dialog>
  );
}

export function Maintenance() {
  const { health, at } = useStore();
  const [error, setError] = useState<ApiError>();
  const items = health?.maintenance ?? [];
  const end = async (item: MaintenanceItem) => {
    try {
      setError(undefined);
      await post(item.kind === "disabled-port" ? "ports/enable" : "undrain", {}, { target: item.name });
      refresh();
    } catch (refusal) {
      if (refusal instanceof ApiError) setError(refusal);
    }
  };
  return (
    <section>
      <h2>Maintenance</h2>
      {error && <Failure error={error} />}
      {items.length === 0 ? <p>Nothing is out of service. Select a switch or link in the <a href="#/fabric">fabric</a> to drain it.</p> : (
        <Rows caption="What is out of service" head={["What", "State", "Reason", "Until", ""]} rows={items} row={(item) => (
          <tr key={item.name}>
            <td><a href={`#/fabric?show=${encodeURIComponent(item.name)}`}>{item.name}</a></td>
            <td>{item.kind === "disabled-port" ? "disabled" : "drained"}</td>
            <td>{item.reason}</td>
            <td>{item.until ? <Time at={item.until} /> : "a command ends it"}</td>
            <td>{mayOperate() && !at && <button type="button" onClick={() => void end(item)}>{item.kind === "disabled-port" ? "Enable" : "Undrain"}</button>}</td>
          </tr>
        )} />
      )}
    </section>
  );
}
