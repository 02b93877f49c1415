// The drawing: sigma on a canvas. A list of the same nodes and links is in the views Nodes and
// Links, for those who do not see it.

import Graph from "graphology";
import { useEffect, useRef, useState } from "preact/hooks";
import Sigma from "sigma";
import { sdfCircle, sdfSquare, pathCurved, pathLine, layerFill, layerPlain } from "sigma/rendering";
import type { Model } from "./model";
import { usualDistance } from "./layout";
import { Painter, bundleText, itemText } from "./paint";
import type { Item, View } from "./view";

export interface DrawingProps {
  model: Model;
  view: View;
  painter: Painter;
  /** Keys of an item or a bundle. */
  selected?: string;
  onItem: (key: string) => void;
  onBundle: (key: string) => void;
  onNothing: () => void;
  /** What is brought into view when it changes. */
  focus?: { nodes: string[] };
  label: string;
}

/** Links up to which a pointer finds them, and which stay visible while the drawing is moved. */
const LINKS_FOUND_MAX = 12_000;
const SIZE_MIN = 1.6;
const SIZE_MAX = 9;
/** Size of a block, compared with a switch that has as much room. */
const BLOCK = 1.7;
/** Curvature of links that close rings. */
const ARC = 0.12;
/** Pixels around the drawing. */
const PADDING = 36;
/** Links from which on each is drawn faintly, so that they do not cover everything. */
const LINKS_STRONG_MAX = 2500;

interface NodeLook {
  x: number;
  y: number;
  size: number;
  color: string;
  label: string;
  shape: string;
  showLabel: "auto" | "visible" | "hidden";
  text: string;
}

export function Drawing(props: DrawingProps) {
  const container = useRef<HTMLDivElement>(null);
  const sigma = useRef<Sigma | null>(null);
  const current = useRef(props);
  const [hint, setHint] = useState("");
  const [failure, setFailure] = useState("");
  current.current = props;

  useEffect(() => {
    const element = container.current!;
    let drawn: Sigma;
    try {
      drawn = new Sigma(new Graph({ multi: false, type: "undirected" }), element, {
        primitives: {
          nodes: { shapes: [sdfSquare({ cornerRadius: 0.25 }), sdfCircle()], layers: [layerFill()] },
          edges: { paths: [pathLine(), pathCurved()], layers: [layerPlain()] },
        },
        styles: {
          nodes: {
            x: { attribute: "x" },
            y: { attribute: "y" },
            size: { attribute: "size" },
            color: { attribute: "color" },
            label: { attribute: "label" },
            shape: { attribute: "shape" },
            labelColor: { attribute: "text" },
            labelVisibility: { attribute: "showLabel" },
            labelSize: 12,
            labelPosition: "above",
            cursor: "pointer",
            depth: { whenState: "isHovered", then: "topNodes", else: "nodes" },
          },
          edges: {
            size: { attribute: "size" },
            color: { attribute: "color" },
            opacity: { attribute: "opacity" },
            path: { attribute: "path" },
            curvature: { attribute: "curvature" },
            depth: { attribute: "depth" },
            cursor: "pointer",
          },
        },
        settings: {
          itemSizesReference: "screen",
          stagePadding: PADDING,
          labelDensity: 0.7,
          labelGridCellSize: 110,
          labelRenderedSizeThreshold: 3,
          minEdgeThickness: 0.4,
          enableEdgeEvents: true,
          enableCameraRotation: false,
          minCameraRatio: 0.005,
          maxCameraRatio: 3,
          allowInvalidContainer: true,
          zoomToSizeRatioFunction: (ratio: number) => Math.pow(ratio, 0.6),
        },
      } as never);
    } catch (error) {
      setFailure(String(error));
      return;
    }
    sigma.current = drawn;
    drawn.on("clickNode", ({ node }) => current.current.onItem(node));
    drawn.on("clickEdge", ({ edge }) => current.current.onBundle(edge));
    drawn.on("clickStage", () => current.current.onNothing());
    drawn.on("enterNode", ({ node }) => {
      const item = current.current.view.items.get(node);
      if (item) setHint(itemText(current.current.model, item));
    });
    drawn.on("enterEdge", ({ edge }) => {
      const { model, view } = current.current;
      const bundle = view.bundles.get(edge);
      if (bundle) setHint(bundleText(model, view, bundle));
    });
    drawn.on("leaveNode", () => setHint(""));
    drawn.on("leaveEdge", () => setHint(""));
    const resized = new ResizeObserver(() => drawn.resize());
    resized.observe(element);
    return () => {
      resized.disconnect();
      drawn.kill();
      sigma.current = null;
    };
  }, []);

  const { view, painter, selected, model } = props;
  useEffect(() => {
    const drawn = sigma.current;
    if (!drawn) return;
    const graph = new Graph({ multi: false, type: "undirected" });
    const items = [...view.items.values()];
    const scale = scaleOf(items, drawn.getDimensions());
    const sizeOf = (kind: Item["kind"]) => usualSize(items.filter((item) => item.kind === kind), scale);
    const sizes = { switch: sizeOf("switch"), host: Math.min(sizeOf("host"), sizeOf("switch") * 0.65), block: Math.max(2 * SIZE_MIN, BLOCK * sizeOf("block")) };
    const isCrowded = view.items.size > 1500;
    for (const item of view.items.values()) {
      const { color, strength, isMarked } = painter.node(item);
      const isSelected = item.key === selected;
      const look: NodeLook = {
        ...item.at,
        size: sizes[item.kind] * strength * (isSelected ? 1.5 : 1),
        color: isSelected ? painter.colors.path : color,
        label: item.hosts > 0 && item.kind === "switch" ? `${item.label} +${item.hosts}` : item.label,
        shape: item.kind === "host" ? "circle" : "square",
        showLabel: labelOf(isSelected || item.kind === "block" || (painter.namesMarked() && isMarked === true), painter.namesMarked() || (isCrowded && item.kind === "host")),
        text: painter.colors.text,
      };
      graph.addNode(item.key, look);
    }
    for (const bundle of view.bundles.values()) {
      const { color, size, isOnTop } = painter.bundle(bundle);
      const isSelected = bundle.key === selected;
      const isArc = closesRing(model, view, bundle.a, bundle.b);
      graph.addEdgeWithKey(bundle.key, bundle.a, bundle.b, {
        color: isSelected ? painter.colors.path : color,
        size: isSelected ? 4 : isCrowded && !isOnTop ? Math.min(size, 0.7) : size,
        opacity: isOnTop || isSelected ? 1 : Math.max(0.06, Math.min(1, LINKS_STRONG_MAX / view.bundles.size)),
        path: isArc ? "curved" : "straight",
        curvature: isArc ? ARC : 0,
        depth: isOnTop || isSelected ? "topEdges" : "edges",
      });
    }
    drawn.setSetting("hideEdgesOnMove", view.bundles.size > LINKS_FOUND_MAX);
    drawn.setSetting("enableEdgeEvents", view.bundles.size <= LINKS_FOUND_MAX);
    drawn.setGraph(graph as never);
  }, [view, painter, selected]);

  const { focus } = props;
  const focused = useRef<DrawingProps["focus"]>(undefined);
  useEffect(() => {
    const drawn = sigma.current;
    if (!drawn || !focus || focused.current === focus) return;
    focused.current = focus;
    drawn.refresh();
    const keys = new Set(focus.nodes.flatMap((guid) => view.itemOf.get(guid) ?? []));
    const points = [...keys].flatMap((key) => drawn.getNodeDisplayData(key) ?? []);
    if (points.length === 0) {
      void drawn.getCamera().reset({ duration: 200 });
      return;
    }
    const xs = points.map((point) => point.x);
    const ys = points.map((point) => point.y);
    const middle = (values: number[]) => (Math.min(...values) + Math.max(...values)) / 2;
    const reach = Math.max(Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys));
    void drawn.getCamera().animate({ x: middle(xs), y: middle(ys), ratio: Math.min(1, Math.max(0.3, reach * 1.3)) }, { duration: 250 });
  }, [focus, view]);

  const camera = () => sigma.current?.getCamera();
  const pan = (dx: number, dy: number) => {
    const at = camera();
    if (at) void at.animate({ x: at.x + dx * at.ratio, y: at.y + dy * at.ratio }, { duration: 80 });
  };
  const onKey = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      "+": () => void camera()?.zoomIn({ duration: 100 }),
      "-": () => void camera()?.zoomOut({ duration: 100 }),
      "0": () => void camera()?.reset({ duration: 100 }),
      ArrowLeft: () => pan(-0.1, 0),
      ArrowRight: () => pan(0.1, 0),
      ArrowUp: () => pan(0, 0.1),
      ArrowDown: () => pan(0, -0.1),
      Escape: () => props.onNothing(),
    };
    const action = keys[event.key];
    if (action) {
      event.preventDefault();
      action();
    }
  };
  if (failure) {
    return (
      <div class="empty" role="alert">
        <h2>The drawing needs WebGL 2</h2>
        <p>This browser does not offer it ({failure}). The views Nodes and Links show the same as lists.</p>
      </div>
    );
  }
  return (
    <div class="drawing">
      <div class="canvas" ref={container} tabIndex={0} role="application" aria-label={props.label} aria-describedby="drawing-keys" onKeyDown={onKey} />
      <p id="drawing-keys" class="visually-hidden">
        Arrow keys move the drawing, plus and minus zoom, 0 shows everything. The views Nodes and Links list what is drawn.
      </p>
      <div class="zoom">
        <button type="button" title="Zoom in (+)" aria-label="Zoom in" onClick={() => void camera()?.zoomIn()}>+</button>
        <button type="button" title="Zoom out (-)" aria-label="Zoom out" onClick={() => void camera()?.zoomOut()}>−</button>
        <button type="button" title="Show everything (0)" aria-label="Show everything" onClick={() => void camera()?.reset()}>⤢</button>
      </div>
      <div class="hint" aria-hidden="true">{hint}</div>
    </div>
  );
}

function labelOf(isNeeded: boolean, isInTheWay: boolean): NodeLook["showLabel"] {
  return isNeeded ? "visible" : isInTheWay ? "hidden" : "auto";
}

/** The size, in pixels, at which neighbours do not touch. */
function usualSize(items: Item[], scale: number): number {
  const narrow = usualDistance(items.map((item) => item.at));
  return Math.max(SIZE_MIN, Math.min(SIZE_MAX, narrow * scale * 0.4));
}

/** Pixels per unit of positions, when everything is seen. */
function scaleOf(items: Item[], { width, height }: { width: number; height: number }): number {
  const range = (values: number[]) => values.reduce((a, b) => Math.max(a, b), -Infinity) - values.reduce((a, b) => Math.min(a, b), Infinity);
  const wide = range(items.map((item) => item.at.x)) || 1;
  const high = range(items.map((item) => item.at.y)) || 1;
  return Math.min((width - 2 * PADDING) / wide, (height - 2 * PADDING) / high);
}

/** Whether a link leads from the last switch along a ring to the first. */
function closesRing(model: Model, view: View, a: string, b: string): boolean {
  const dimensions = model.structure?.dimensions ?? [];
  if (dimensions.length === 0) return false;
  const place = (key: string) => model.places.get(view.items.get(key)!.nodes[0]!)?.coordinates;
  const from = place(a);
  const to = place(b);
  if (!from || !to) return false;
  return dimensions.some(({ kind, size }, i) => kind !== "path" && size > 2 && Math.abs(from[i]! - to[i]!) > 1);
}
