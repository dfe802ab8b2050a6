import type { Wait, WaitConditions } from './waits.ts';

/** A wait that is about to be registered. */
export type Proposed = WaitConditions & { readonly sessionId: string };

/**
 * Names, from the session that asks to itself again, when the new wait and live ones wait for each other: the record ids
 * in order. `undefined`: it can come to its end. A session comes to rest when its own waits can; whatever else is waited
 * for, work or time, can come. A bead that is a session's record, or another wait, stands for that session or wait.
 */
export function waitCycle(proposed: Proposed, live: readonly Wait[]): readonly string[] | undefined {
  const all: readonly Node[] = [proposed, ...live];
  const possible = new Set<Node>();
  for (let before = -1; before !== possible.size; ) {
    before = possible.size;
    for (const wait of all) if (canEnd(wait, all, possible)) possible.add(wait);
  }
  return possible.has(proposed) ? undefined : pathBack(proposed, all, possible);
}

type Node = Proposed & { readonly id?: string };

function canEnd(wait: Node, all: readonly Node[], possible: ReadonlySet<Node>): boolean {
  const rests = (sessionId: string) =>
    all.every((other) => other.sessionId !== sessionId || possible.has(other));
  const closes = (bead: string) => {
    const gate = all.find((other) => other.id === bead);
    return gate ? possible.has(gate) : rests(bead);
  };
  const conditions = [
    ...wait.sessions.map(rests),
    ...wait.beads.map(closes),
    ...(wait.until === undefined ? [] : [true]),
  ];
  return wait.mode === 'all' ? conditions.every(Boolean) : conditions.some(Boolean);
}

/** The shortest way from the session back to itself, or to where the ring begins, over waits that cannot end. */
function pathBack(proposed: Node, all: readonly Node[], possible: ReadonlySet<Node>): readonly string[] {
  const stuck = all.filter((wait) => !possible.has(wait));
  const queue: (readonly string[])[] = [[proposed.sessionId]];
  const seen = new Set<string>();
  for (let path = queue.shift(); path; path = queue.shift()) {
    const at = path.at(-1) ?? '';
    for (const wait of stuck.filter(({ sessionId }) => sessionId === at)) {
      for (const next of sessionsOf(wait, stuck)) {
        if (next === proposed.sessionId) return [...path, next];
        if (!seen.has(next)) queue.push([...path, next]);
        seen.add(next);
      }
    }
  }
  return [proposed.sessionId];
}

function sessionsOf(wait: Node, stuck: readonly Node[]): readonly string[] {
  const named = [
    ...wait.sessions,
    ...wait.beads.map((bead) => stuck.find(({ id }) => id === bead)?.sessionId ?? bead),
  ];
  return named.filter((id) => stuck.some(({ sessionId }) => sessionId === id));
}
