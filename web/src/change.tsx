// A change that is shown before it is sent: what its dry run says, then a reason.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ApiError, post } from "./api";
import { Failure, Pill } from "./parts";
import { PredictionFacts } from "./prediction";
import { refresh } from "./store";
import type { ChangePlan, CommandEntry } from "./types";

type Body = Record<string, string | number | boolean | undefined>;

export interface ChangeState {
  plan?: ChangePlan;
  done?: CommandEntry;
  error?: ApiError;
  isBusy: boolean;
  /** Asks what the change would do. */
  preview: (body: Body) => Promise<ChangePlan | undefined>;
  send: (body: Body, reason: string) => Promise<void>;
  /** The change is another one now. */
  forget: () => void;
}

/** A change by a resource that has a dry run. */
export function useChange(resource: string): ChangeState {
  const [plan, setPlan] = useState<ChangePlan>();
  const [done, setDone] = useState<CommandEntry>();
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const ask = async <T,>(request: () => Promise<T>): Promise<T | undefined> => {
    setBusy(true);
    setError(undefined);
    try {
      return await request();
    } catch (refusal) {
      if (refusal instanceof ApiError) setError(refusal);
      return undefined;
    } finally {
      setBusy(false);
    }
  };
  return {
    plan,
    done,
    error,
    isBusy,
    preview: async (body) => {
      const answer = await ask(() => post<ChangePlan>(resource, { dry_run: true }, body));
      setPlan(answer);
      return answer;
    },
    send: async (body, reason) => {
      const entry = await ask(() => post<CommandEntry>(resource, { reason }, body));
      if (!entry) return;
      setDone(entry);
      refresh();
    },
    forget: () => {
      setPlan(undefined);
      setError(undefined);
    },
  };
}

/** What the dry run says, then what became of the change. */
export function ChangeFacts({ change }: { change: ChangeState }) {
  const { plan, done, error, isBusy } = change;
  return (
    <>
      {isBusy && !plan && <p role="status">Computing what it would do…</p>}
      {plan && !done && (
        <>
          {plan.prediction && <PredictionFacts prediction={plan.prediction} />}
          {plan.trains_link && <p><Pill kind="warning">link</Pill> the link goes down for a moment, to train within other limits</p>}
          {!plan.prediction && !plan.trains_link && <p><Pill kind="ok">safe</Pill> no link goes down, and no route changes</p>}
          {!plan.prediction && plan.violations?.map(({ name, text }) => <p key={name}><Pill kind="error">invariant {name}</Pill> {text}</p>)}
        </>
      )}
      {error && <Failure error={error} />}
      {done && <p role="status"><Pill kind="ok">{done.state}</Pill> {done.message}</p>}
    </>
  );
}

/** Asks for the reason of a change, and whatever else it needs, then sends it. */
export function ReasonForm({ verb, isBusy, onSend, onCancel, children }: { verb: string; isBusy: boolean; onSend: (reason: string) => void; onCancel: () => void; children?: ComponentChildren }) {
  const [reason, setReason] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    onSend(reason);
  };
  return (
    <form onSubmit={submit}>
      <label>Reason, for the audit log <input required maxLength={500} value={reason} onInput={(event) => setReason(event.currentTarget.value)} /></label>
      {children}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>{verb}</button>
        <button type="button" onClick={onCancel}>Cancel</button>
      </div>
    </form>
  );
}
