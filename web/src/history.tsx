// The slider of times: the fabric as it was, as far back as the service recorded it.

import { useEffect, useState } from "preact/hooks";
import { CLOCK } from "./parts";
import { showTime, useStore } from "./store";

const STEPS = 240;
/** Longest time that the slider spans. */
const REACH_MS = 24 * 3600 * 1000;
const DELAY_MS = 250;

export function History() {
  const { status, at } = useStore();
  const [step, setStep] = useState(STEPS);
  const [first, setFirst] = useState(0);
  const [last, setLast] = useState(0);
  useEffect(() => {
    if (at || !status) return;
    const now = Date.now();
    const recorded = status.recorded_since ? Date.parse(status.recorded_since) : now;
    setFirst(Math.min(now, Math.max(recorded, now - REACH_MS)));
    setLast(now);
    setStep(STEPS);
  }, [status, at]);
  const timeOf = (position: number) => new Date(Math.ceil(first + ((last - first) * position) / STEPS));
  useEffect(() => {
    if (step === STEPS) {
      if (at) showTime(undefined);
      return;
    }
    const timer = setTimeout(() => showTime(timeOf(step).toISOString()), DELAY_MS);
    return () => clearTimeout(timer);
  }, [step]);
  const text = step === STEPS ? "now" : timeOf(step).toLocaleString(undefined, CLOCK);
  return (
    <div class="history">
      <label>
        Time
        <input type="range" disabled={!status?.recorded_since} min="0" max={STEPS} value={step} aria-valuetext={text} onInput={(event) => setStep(Number(event.currentTarget.value))} />
      </label>
      <output>{text}</output>
      {step !== STEPS && <button type="button" onClick={() => setStep(STEPS)}>Now</button>}
    </div>
  );
}
