// What the drawing marks, as text, for those who do not see it.

import { linkName, type Model } from "./model";
import { MARK_TEXTS, type MarkKind, type Marks } from "./paint";

const SHOWN = 200;

export function Marked({ model, marks }: { model: Model; marks: Marks }) {
  const names = new Map<MarkKind, string[]>();
  const add = (kind: MarkKind, name: string) => {
    const of = names.get(kind);
    if (of) of.push(name);
    else names.set(kind, [name]);
  };
  for (const [guid, kind] of marks.nodes) add(kind, model.name(guid));
  for (const [index, kind] of marks.links) add(kind, linkName(model.links[index]!));
  return (
    <details>
      <summary>Marked in the drawing: {marks.nodes.size} {marks.nodes.size === 1 ? "node" : "nodes"}, {marks.links.size} {marks.links.size === 1 ? "link" : "links"}</summary>
      <div class="scroll" tabIndex={0} role="region" aria-label="Marked in the drawing">
        {[...names].map(([kind, of]) => (
          <section key={kind}>
            <h4>{MARK_TEXTS[kind]}: {of.length}</h4>
            <ul class="plain">{of.slice(0, SHOWN).map((name) => <li key={name}>{name}</li>)}</ul>
            {of.length > SHOWN && <p>and {of.length - SHOWN} more</p>}
          </section>
        ))}
      </div>
    </details>
  );
}
