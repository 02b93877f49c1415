// The view of the fabric: the drawing, a tool bar, and details beside it.

import { useEffect, useMemo, useState } from "preact/hooks";
import { Advice } from "./advice";
import { ApiError, saveDrawing } from "./api";
import { BundleDetails, ItemDetails, PathDetails, type Actions } from "./details";
import { Drawing } from "./drawing";
import { History } from "./history";
import { layOut } from "./layout";
import { LimitsDialog, type LimitsChange } from "./limits";
import { MaintenanceDialog } from "./maintenance";
import { Marked } from "./marked";
import { Painter, linkLoads, palette, type Coloring, type MarkKind, type Marks } from "./paint";
import { Failure } from "./parts";
import { PlanFacts } from "./plan";
import { planMarks } from "./planned";
import { SingleLosses, WhatIfDetails } from "./prediction";
import { search } from "./search";
import { Shown, groupWord, hasGroups, usualDetail, type Detail } from "./shown";
import { useStore, wantLoad } from "./store";
import { useTheme } from "./theme";
import type { FabricPath, Plan, SingleLoss, WhatIf } from "./types";
import { view as viewOf } from "./view";

type Panel =
  | { kind: "selection"; key: string }
  | { kind: "path"; from: string; to: string }
  | { kind: "what-if"; without: string }
  | { kind: "plan"; target: string }
  | { kind: "start-plan" }
  | { kind: "single-losses" }
  | { kind: "found"; text: string };

export function Fabric({ show, find, showsPlan }: { show?: string; find?: string; showsPlan: boolean }) {
  const { model, fabricError, load, alarms, plan, status, at } = useStore();
  const theme = useTheme();
  const [chosen, setDetail] = useState<Detail>();
  const [coloring, setColoring] = useState<Coloring>("state");
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [panel, setPanel] = useState<Panel>();
  const [ends, setEnds] = useState({ from: "", to: "" });
  const [path, setPath] = useState<FabricPath>();
  const [prediction, setPrediction] = useState<WhatIf>();
  const [losses, setLosses] = useState<SingleLoss[]>();
  const [focus, setFocus] = useState<{ nodes: string[] }>();
  const [change, setChange] = useState<{ kind: "drain" | "disable"; target: string }>();
  const [limits, setLimits] = useState<LimitsChange>();
  const [drawingError, setDrawingError] = useState<ApiError>();
  const [namesPorts, setNamesPorts] = useState(false);

  const detail = chosen ?? (model ? usualDetail(model) : "switches");
  const view = useMemo(() => {
    if (!model) return undefined;
    const shown = new Shown(model, detail, open);
    return viewOf(model, layOut(model, shown), shown);
  }, [model, detail, open]);
  const marks = useMemo(
    () => (model ? marksOf(panel, model, { path, prediction, losses, plan }) : undefined),
    [model, panel, path, prediction, losses, plan],
  );
  // A link with an alarm shows itself. As a text, so that the same alarms draw nothing again.
  const troubled = alarms
    .filter((alarm) => alarm.state === "active" && !at && !alarm.object.name.includes(" - "))
    .map((alarm) => alarm.object.guid)
    .join(" ");
  const painter = useMemo(() => {
    if (!model) return undefined;
    return new Painter(model, coloring, load, new Set(troubled.split(" ")), marks, palette());
  }, [model, coloring, load, troubled, marks, theme]);
  const routes = useMemo(() => (model && load ? linkLoads(model, load) : undefined), [model, load]);

  const bringIntoView = (nodes: string[]) => setFocus({ nodes });
  const select = (key: string) => setPanel({ kind: "selection", key });
  const showTarget = (target: { node?: string; link?: number }) => {
    if (!view || !model) return;
    const ends = target.link === undefined ? [target.node!] : [model.links[target.link]!.a.guid, model.links[target.link]!.b.guid];
    const items = ends.map((guid) => view.itemOf.get(guid)).filter((key) => key !== undefined);
    // What is collapsed is opened, so that exactly this is seen.
    const collapsed = items.filter((key, i) => key !== ends[i]);
    if (collapsed.length > 0) {
      setOpen((before) => new Set([...before, ...collapsed]));
      if (target.node !== undefined) select(target.node);
      else select(`link ${target.link}`);
    } else {
      const bundle = [...items].sort().join(" ");
      select(target.link === undefined ? items[0]! : view.bundles.get(bundle)?.links.length === 1 ? bundle : `link ${target.link}`);
    }
    bringIntoView(ends);
  };
  const actions: Actions = {
    show: showTarget,
    toggle: (key) => {
      const item = view?.items.get(key);
      setOpen((before) => {
        const after = new Set(before);
        if (!after.delete(key)) after.add(key);
        return after;
      });
      if (item?.kind === "block") bringIntoView(item.nodes);
    },
    whatIf: (without) => setPanel({ kind: "what-if", without }),
    maintain: (kind, target) => setChange({ kind, target }),
    limit: (kind, target) => setLimits({ kind, target }),
    pathFrom: (from) => setEnds((before) => ({ ...before, from })),
    pathTo: (to) => setEnds((before) => ({ ...before, to })),
  };
  useEffect(() => {
    if (show && model && view) showTarget(model.find(show));
  }, [show, view === undefined]);
  useEffect(() => {
    if (find) setPanel({ kind: "found", text: find });
  }, [find]);
  useEffect(() => {
    if (showsPlan) setPanel({ kind: "start-plan" });
  }, [showsPlan]);
  useEffect(() => {
    const shownPath = panel?.kind === "path" && model && marksOf(panel, model, { path });
    if (shownPath) bringIntoView([...shownPath.nodes.keys()]);
    // The same path after a change of the fabric does not move the drawing.
  }, [path?.from.guid, path?.to.guid, panel?.kind]);

  if (fabricError && !model) {
    return (
      <div class="empty">
        <Advice />
        <Failure error={fabricError} />
      </div>
    );
  }
  if (!model || !view || !painter) return <p role="status">Asking the service…</p>;
  if (model.nodes.size === 0) return <div class="empty"><Advice /></div>;
  const showPrediction = (predicted: WhatIf | undefined) => {
    if (!predicted || !change) return;
    setPrediction(predicted);
    setPanel({ kind: "plan", target: change.target });
  };
  const closeChange = () => {
    setPanel(undefined);
    if (change) showTarget(model.find(change.target));
    setChange(undefined);
  };
  const save = async () => {
    const emphasis = panel?.kind === "path" ? { highlight: "path", from: panel.from, to: panel.to } : { highlight: coloring === "load" ? "load" : undefined };
    try {
      setDrawingError(undefined);
      await saveDrawing(emphasis);
    } catch (error) {
      if (error instanceof ApiError) setDrawingError(error);
    }
  };
  const marked = marks && <Marked model={model} marks={marks} />;
  const legend = painter.legend();
  const title = model.structure?.summary ?? "structure not known";
  const group = groupWord(model);
  const askPath = (event: Event) => {
    event.preventDefault();
    if (ends.from && ends.to) setPanel({ kind: "path", ...ends });
  };
  return (
    <div class="fabric">
      <h2 class="visually-hidden">Fabric</h2>
      <form class="tools" onSubmit={askPath} aria-label="Drawing">
        <label>Show
          <select value={detail} onChange={(event) => { setDetail(event.currentTarget.value as Detail); setOpen(new Set()); }}>
            {hasGroups(model) && <option value="groups">{group}s</option>}
            <option value="switches">switches</option>
            <option value="hosts">switches and hosts</option>
          </select>
        </label>
        <label>Colour
          <select value={coloring} onChange={(event) => {
            const chosen = event.currentTarget.value as Coloring;
            setColoring(chosen);
            if (chosen === "load") void wantLoad();
          }}>
            <option value="state">state</option>
            <option value="load">load (routes)</option>
            <option value="speed">speed</option>
          </select>
        </label>
        <span class="pair" onFocusCapture={() => setNamesPorts(true)}>
          <label>Path from <input list="names" value={ends.from} onInput={(event) => setEnds({ ...ends, from: event.currentTarget.value })} /></label>
          <label>to <input list="names" value={ends.to} onInput={(event) => setEnds({ ...ends, to: event.currentTarget.value })} /></label>
          <button type="submit" disabled={!ends.from || !ends.to}>Show path</button>
        </span>
        <button type="button" disabled={at !== undefined} title="What each single switch and link would cut off" onClick={() => setPanel({ kind: "single-losses" })}>N-1</button>
        {plan && !at && <button type="button" title="What a start would write" onClick={() => setPanel({ kind: "start-plan" })}>Plan</button>}
        {open.size > 0 && <button type="button" onClick={() => setOpen(new Set())}>Collapse all</button>}
        <button type="button" disabled={at !== undefined} title="Save the fabric on one page, as it is now" onClick={() => void save()}>Save SVG</button>
        <datalist id="names">
          {namesPorts && [...model.nodes.values()].filter((node) => node.kind !== "switch").slice(0, 2000).map((node) => <option key={node.guid} value={node.name} />)}
        </datalist>
      </form>
      {drawingError && <Failure error={drawingError} />}
      <div class="with-panel">
        <Drawing
          model={model}
          view={view}
          painter={painter}
          selected={panel?.kind === "selection" ? panel.key : undefined}
          onItem={(key) => {
            if (view.items.get(key)?.kind === "block" && panel?.kind === "selection" && panel.key === key) actions.toggle(key);
            select(key);
          }}
          onBundle={select}
          onNothing={() => setPanel(undefined)}
          focus={focus}
          label={`Drawing of the fabric, ${title}`}
        />
        <aside class="panel" aria-label="Details" aria-live="polite">
          {panel && <button type="button" class="close" aria-label="Close details" onClick={() => setPanel(undefined)}>×</button>}
          {!panel && (
            <>
              <h3>{title}</h3>
              <p>{status?.fabric ? `${status.fabric.switches} switches, ${status.fabric.cas} hosts, ${status.fabric.links} links` : ""}</p>
              <p>Select a switch, host or link for details.{detail === "groups" && ` Select a ${group} twice to open it.`}</p>
            </>
          )}
          {panel?.kind === "selection" && <Selection panelKey={panel.key} model={model} view={view} routes={routes} actions={actions} />}
          {panel?.kind === "path" && <PathDetails from={panel.from} to={panel.to} onPath={setPath} />}
          {panel?.kind === "what-if" && <WhatIfDetails without={panel.without} name={model.nodes.get(panel.without)?.name ?? panel.without} onPrediction={setPrediction} />}
          {panel?.kind === "plan" && <p>The drawing shows what the plan for {panel.target} would do.</p>}
          {panel?.kind === "start-plan" && (
            <>
              <h3>Plan of a start</h3>
              {plan ? <PlanFacts plan={plan} /> : <p>No plan was made yet.</p>}
              <p><a href="#/plan">{plan ? "All Sets, links and hosts" : "Make one"}</a></p>
            </>
          )}
          {panel?.kind === "single-losses" && <SingleLosses onLosses={setLosses} onSelect={(loss) => setPanel({ kind: "what-if", without: loss.without })} />}
          {panel?.kind === "found" && <Found model={model} text={panel.text} actions={actions} />}
          {panel?.kind !== "found" && panel?.kind !== "path" && marked}
        </aside>
      </div>
      <div class="below">
        <ul class="legend" aria-label="Colours">
          {legend.items.map(({ color, text }) => <li key={text}><Swatch color={color} /> {text}</li>)}
          {legend.text && <li>{legend.text}</li>}
        </ul>
        <History />
      </div>
      {change && <MaintenanceDialog {...change} onClose={closeChange} onPlan={showPrediction} marked={marked} />}
      {limits && <LimitsDialog {...limits} model={model} onClose={() => setLimits(undefined)} />}
    </div>
  );
}

function Swatch({ color }: { color: string }) {
  return <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" rx="2" fill={color} /></svg>;
}

function Selection({ panelKey, model, view, routes, actions }: { panelKey: string; model: NonNullable<ReturnType<typeof useStore>["model"]>; view: ReturnType<typeof viewOf>; routes?: Float64Array; actions: Actions }) {
  const item = view.items.get(panelKey);
  if (item) return <ItemDetails model={model} item={item} actions={actions} />;
  const bundle = view.bundles.get(panelKey);
  if (bundle) return <BundleDetails model={model} view={view} bundle={bundle} routes={routes} actions={actions} />;
  const index = /^link ([0-9]+)$/.exec(panelKey)?.[1];
  if (index !== undefined) {
    return <BundleDetails model={model} view={view} bundle={{ key: "", a: "", b: "", links: [Number(index)] }} routes={routes} actions={actions} />;
  }
  return <p>This is not drawn now.</p>;
}

function Found({ model, text, actions }: { model: NonNullable<ReturnType<typeof useStore>["model"]>; text: string; actions: Actions }) {
  const guids = useMemo(() => search(model, text), [model, text]);
  return (
    <>
      <h3>{guids.length === 0 ? `Nothing matches “${text}”` : `${guids.length} found`}</h3>
      {guids.length === 0 && <p>Search for a part of a name, a pattern (<code>leaf-*</code>), a host list (<code>gpu[01-16]</code>), a GUID or a LID.</p>}
      <ul class="plain short">
        {guids.slice(0, 200).map((guid) => (
          <li key={guid}>
            <button type="button" class="link" onClick={() => actions.show({ node: guid })}>{model.name(guid)}</button> {model.nodes.get(guid)!.kind === "switch" ? "switch" : model.nodes.get(guid)!.location}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What the panel marks in the drawing. */
function marksOf(
  panel: Panel | undefined,
  model: NonNullable<ReturnType<typeof useStore>["model"]>,
  known: { path?: FabricPath; prediction?: WhatIf; losses?: SingleLoss[]; plan?: Plan },
): Marks | undefined {
  const nodes = new Map<string, MarkKind>();
  const links = new Map<number, MarkKind>();
  const mark = (text: string, kind: MarkKind) => {
    const { node, link } = model.find(text);
    if (node !== undefined) nodes.set(node, kind);
    if (link !== undefined) links.set(link, kind);
  };
  if (panel?.kind === "path" && known.path) {
    const { from, to, hops } = known.path;
    for (const { guid, in_port: input, out_port: output } of hops) {
      nodes.set(guid, "path");
      for (const port of [input, output]) {
        const link = model.linkAt(guid, port);
        if (link === undefined) continue;
        links.set(link, "path");
        nodes.set(model.otherEnd(link, guid), "path");
      }
    }
    for (const end of [from, to]) mark(end.name, "path");
    return { title: "path", nodes, links };
  }
  if ((panel?.kind === "what-if" || panel?.kind === "plan") && known.prediction) {
    const { lost, cut_off, switches_cut_off, lose_redundancy } = known.prediction;
    for (const port of lose_redundancy.items) mark(port.name, "at-risk");
    for (const port of cut_off.items) mark(port.name, "cut-off");
    for (const name of switches_cut_off) mark(name, "cut-off");
    for (const name of lost) mark(name, "lost");
    for (const [guid, kind] of nodes) {
      if (kind !== "lost") continue;
      for (const link of model.linksOf.get(guid) ?? []) links.set(link, "lost");
    }
    return { title: "what-if", nodes, links };
  }
  if (panel?.kind === "start-plan" && known.plan) return planMarks(known.plan, model);
  if (panel?.kind === "single-losses" && known.losses) {
    for (const loss of known.losses) {
      if (loss.cut_off > 0 && loss.kind !== "host-link") mark(loss.without, "cut-off");
      else if (loss.lose_redundancy > 0 && loss.kind !== "host-link") mark(loss.without, "at-risk");
    }
    return { title: "single losses", nodes, links };
  }
  if (panel?.kind === "found") {
    const found = search(model, panel.text);
    if (found.length === 0) return undefined;
    for (const guid of found) nodes.set(guid, "found");
    return { title: "found", nodes, links };
  }
  return undefined;
}
