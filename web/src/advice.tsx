// What to do if there is no fabric to see, or none that this SM serves.

import type { ComponentChildren } from "preact";
import { useStore, type State } from "./store";

interface Advised {
  title: string;
  steps: ComponentChildren[];
}

export function Advice() {
  const advised = advise(useStore());
  if (!advised) return null;
  return (
    <section class="card advice" aria-labelledby="advice-title">
      <h2 id="advice-title">{advised.title}</h2>
      <ol>{advised.steps.map((step, i) => <li key={i}>{step}</li>)}</ol>
    </section>
  );
}

/** What to do, by the state of the SM; `undefined` if it serves a fabric with switches. */
function advise({ status, answered, at }: State): Advised | undefined {
  if (!status || !answered || at) return undefined;
  if (status.awaits_consent) {
    return {
      title: "The SM waits for your consent",
      steps: [
        <>Another SM configured this subnet: {status.awaits_consent}.</>,
        <>See what would change: <a href="#/plan">the plan of a start</a>, or <code>ferrosm plan</code>.</>,
        <>Consent: <code>ferrosm takeover --accept KIND</code>, or name it in the configuration.</>,
      ],
    };
  }
  if (answered.role === "standby") {
    const master = answered.master;
    return {
      title: "This SM is standby",
      steps: [
        <>The master is {master ? `${master.name} (${master.location})` : "another SM"}. It has the state of the fabric: open the page on its host.</>,
        <>This SM takes over if the master fails. To make it master now: <code>ferrosm handover</code> on the host of the master.</>,
      ],
    };
  }
  if (answered.role === "not-active") {
    return {
      title: "This SM is not active",
      steps: [<>{status.role_reason}</>, <>Let it take part again: <code>ferrosm takeover</code>.</>],
    };
  }
  if (!status.port) {
    return {
      title: "No port to serve",
      steps: [
        <>List the ports of the host: <code>ferrosm ports --local</code>.</>,
        <>Load the driver of the HCA if none is listed; plug in a cable if all are down.</>,
        <>If several have a link, name one in the section <code>[port]</code> of the configuration.</>,
      ],
    };
  }
  if (!status.fabric) {
    return {
      title: "The fabric is not discovered yet",
      steps: [
        <>The first sweep takes seconds. It is running if the activity above is not <code>idle</code>.</>,
        <>If it does not end, the log of the service says why: <code>journalctl -u ferrosm</code>.</>,
        <>Check the link of the port: <code>ferrosm ports --local</code>.</>,
      ],
    };
  }
  if (status.fabric.switches === 0) {
    const isAlone = status.fabric.links === 0;
    return {
      title: isAlone ? "The fabric is empty" : "The fabric has no switch",
      steps: [
        isAlone
          ? <>Nothing is connected to {status.port.name}. Connect the port to a switch.</>
          : <>Two hosts are connected back to back. That works; a larger fabric needs a switch.</>,
        <>If a cable is plugged in, check that it is firmly seated, and its type: <code>ferrosm ports --local</code>.</>,
        <>To see what this page shows of a larger fabric: <code>ferrosm demo fat-tree:8 --web</code>.</>,
      ],
    };
  }
  return undefined;
}
