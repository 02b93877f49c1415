// What a loss would do, and what each single loss would.

import { useEffect } from "preact/hooks";
import { Failure, Pill, useAnswer } from "./parts";
import type { Page, SingleLoss, WhatIf } from "./types";

export function WhatIfDetails({ without, name, onPrediction }: { without: string; name: string; onPrediction: (prediction: WhatIf | undefined) => void }) {
  const { answer, error } = useAnswer<WhatIf>("whatif", { without });
  useEffect(() => onPrediction(answer), [answer]);
  if (error) return <Failure error={error} />;
  if (!answer) return <p role="status">Computing the routes without {name}…</p>;
  return (
    <>
      <h3>Without {name}</h3>
      <PredictionFacts prediction={answer} />
      <p>Nothing has changed: this is a prediction.</p>
    </>
  );
}

export function PredictionFacts({ prediction }: { prediction: WhatIf }) {
  const { cut_off, lose_redundancy, before, after, failure, changes, violations = [], sm_cut_off } = prediction;
  return (
    <>
      <p>
        {cut_off.total === 0
          ? <><Pill kind="ok">safe</Pill> no host is cut off</>
          : <><Pill kind="error">cuts off</Pill> {cut_off.total} {cut_off.total === 1 ? "host port" : "host ports"}: {cut_off.items.slice(0, 8).map((port) => port.name).join(", ")}{cut_off.total > 8 && ", …"}</>}
      </p>
      {sm_cut_off && <p><Pill kind="error">SM</Pill> the subnet manager itself would be cut off</p>}
      {lose_redundancy.total > 0 && <p><Pill kind="warning">redundancy</Pill> {lose_redundancy.total} ports would depend on one link</p>}
      {failure && <p><Pill kind="error">no routing</Pill> {failure}</p>}
      <dl class="facts">
        {after && <><dt>Busiest link</dt><dd>{before.busiest_routes} → {after.busiest_routes} routes</dd></>}
        {after && <><dt>Longest route</dt><dd>{before.hops} → {after.hops} hops</dd></>}
        {after && <><dt>Engine</dt><dd>{before.engine === after.engine ? after.engine : `${before.engine} → ${after.engine}`}</dd></>}
        <dt>Destinations moved</dt><dd>{changes.destinations_moved}</dd>
        <dt>LFT blocks written</dt><dd>{changes.lft_blocks}</dd>
      </dl>
      {violations.map((violation) => <p key={violation.name}><Pill kind="error">invariant {violation.name}</Pill> {violation.text}</p>)}
    </>
  );
}

export function SingleLosses({ onLosses, onSelect }: { onLosses: (losses: SingleLoss[] | undefined) => void; onSelect: (loss: SingleLoss) => void }) {
  const { answer, error } = useAnswer<Page<SingleLoss>>("whatif/single-losses", { limit: 2000, where: "kind!=host-link" });
  useEffect(() => onLosses(answer?.items), [answer]);
  if (error) return <Failure error={error} />;
  if (!answer) return <p role="status">Computing what each loss would cut off…</p>;
  const harmful = answer.items.filter((loss) => loss.cut_off > 0);
  return (
    <>
      <h3>Loss of one switch or link</h3>
      <p>{harmful.length === 0
        ? `None of ${answer.total} would cut off a host.`
        : `${harmful.length} of ${answer.total} would cut off hosts.`} Links to hosts are not listed.</p>
      <div class="scroll" tabIndex={0} role="region" aria-label="Single losses">
        <table>
          <thead><tr><th scope="col">Loss</th><th scope="col">Cuts off</th><th scope="col">Lose redundancy</th></tr></thead>
          <tbody>
            {answer.items.slice(0, 100).map((loss) => (
              <tr key={loss.without}>
                <td><button type="button" class="link" onClick={() => onSelect(loss)}>{loss.name}</button></td>
                <td>{loss.cut_off}</td>
                <td>{loss.lose_redundancy}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}
