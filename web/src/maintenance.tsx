// Drain and port disable: first the plan, then the change. The list of what is out of service.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, post } from "./api";
import { ChangeFacts, ReasonForm, useChange } from "./change";
import { Dialog, Failure, Rows, Time } from "./parts";
import { mayOperate, refresh, useStore } from "./store";
import type { MaintenanceItem, WhatIf } from "./types";

interface MaintenanceDialogProps {
  kind: "drain" | "disable";
  target: string;
  onClose: () => void;
  /** What the change would do, for the drawing. */
  onPlan: (prediction: WhatIf | undefined) => void;
  /** What the drawing marks, as text. */
  marked: ComponentChildren;
}

export function MaintenanceDialog({ kind, target, onClose, onPlan, marked }: MaintenanceDialogProps) {
  const change = useChange(kind === "drain" ? "drain" : "ports/disable");
  const [hours, setHours] = useState("");
  useEffect(() => {
    void change.preview({ target }).then((plan) => plan && onPlan(plan.prediction));
  }, []);
  const send = (reason: string) => {
    const for_s = hours ? Math.round(Number(hours) * 3600) : undefined;
    void change.send({ target, for_s }, reason);
  };
  const { plan, done, error, isBusy } = change;
  return (
    <Dialog title={kind === "drain" ? `Drain ${target}` : `Disable port ${target}`} onClose={onClose}>
      <ChangeFacts change={change} />
      {plan && !done && marked}
      {plan && !done && (
        <ReasonForm verb={kind === "drain" ? "Drain" : "Disable"} isBusy={isBusy} onSend={send} onCancel={onClose}>
          <label>Hours until it returns by itself; empty: until undone <input type="number" min="0.1" step="any" value={hours} onInput={(event) => setHours(event.currentTarget.value)} /></label>
        </ReasonForm>
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
