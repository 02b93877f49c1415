// Small parts that several views use.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "./api";
import { useStore } from "./store";
import type { EventEntry } from "./types";

/** How times are written. */
export const CLOCK = { hour12: false } as const;

/** A time of day, with the date if it is not today's. */
export function Time({ at }: { at?: string }) {
  if (!at) return <span>–</span>;
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  const text = isToday ? time.toLocaleTimeString(undefined, CLOCK) : time.toLocaleString(undefined, CLOCK);
  return <time dateTime={at} title={at}>{text}</time>;
}

export function Pill({ kind, children }: { kind: string; children: ComponentChildren }) {
  return <span class={`pill ${kind}`}>{children}</span>;
}

/** Why there is no answer, and what to do. */
export function Failure({ error }: { error: ApiError }) {
  return (
    <div class="failure" role="alert">
      <strong>{error.message}</strong>
      {error.remedy && <p>{error.remedy}</p>}
    </div>
  );
}

/** An answer that is asked for again after each change of the fabric, and when `again` changes. */
export function useAnswer<T>(resource: string, query: Record<string, string | number | undefined> = {}, again = 0): { answer?: T; error?: ApiError } {
  const { answered } = useStore();
  const [result, setResult] = useState<{ answer?: T; error?: ApiError }>({});
  const asked = `${resource} ${JSON.stringify(query)}`;
  useEffect(() => {
    let isCurrent = true;
    get<T>(resource, query)
      .then((answer) => isCurrent && setResult({ answer }))
      .catch((error: unknown) => isCurrent && error instanceof ApiError && setResult({ error }));
    return () => {
      isCurrent = false;
    };
  }, [asked, answered?.revision, again]);
  return result;
}

/** A dialog that keeps the keyboard focus, and closes with Escape. */
export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

const ROWS_SHOWN = 200;

/** A table that shows more rows on request. */
export function Rows<T>({ caption, head, rows, row }: { caption: string; head: string[]; rows: T[]; row: (value: T) => ComponentChildren }) {
  const [shown, setShown] = useState(ROWS_SHOWN);
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
        <table>
          <caption class="visually-hidden">{caption}</caption>
          <thead>
            <tr>{head.map((text) => <th scope="col" key={text}>{text}</th>)}</tr>
          </thead>
          <tbody>{rows.slice(0, shown).map(row)}</tbody>
        </table>
      </div>
      {rows.length > shown && (
        <p>
          {shown} of {rows.length} <button type="button" onClick={() => setShown(shown + 1000)}>Show more</button>
        </p>
      )}
    </>
  );
}

/** The text of an event; its fields are less strong. */
export function EventText({ event }: { event: EventEntry }) {
  const at = event.text.search(/ [a-z_]+=/);
  if (at < 0) return <>{event.text}</>;
  return <>{event.text.slice(0, at)} <span class="fields">{event.text.slice(at + 1)}</span></>;
}
