import type { Cast } from './cast.ts';
import type { Sent } from './people.ts';

/** Every message that somebody sent: what he was told, what arrived, and what the city says of it. */
export async function checkMessages({ world, people }: Cast): Promise<void> {
  const arrivals = arrivalsOf(world.runtime.lives);
  for (const [id, places] of arrivals)
    if (places.length > 1) world.violates(`${id} arrived ${places.length} times (${places.join(', ')})`);
  for (const sent of people.sent) {
    const hasArrived = arrivals.has(sent.id);
    const row = await world.with(async ({ runtime }) => runtime?.inbox.store.find(sent.id));
    const lost = whyLost(sent, hasArrived, row);
    if (lost !== undefined) world.violates(`${sent.id} to ${sent.target}: ${lost}`);
  }
  checkOrder(people.sent, world);
}

type Row = { readonly state: string; readonly lastError: string } | undefined;

function whyLost(sent: Sent, hasArrived: boolean, row: Row): string | undefined {
  if (hasArrived) return undefined;
  if (sent.reply === 'delivered') return 'told to be delivered, and did not arrive';
  if (sent.reply !== 'queued' || !row) return undefined;
  if (row.state === 'accepted') return 'it is said to be accepted, and did not arrive';
  const isOver = ['expired', 'refused', 'dead'].includes(row.state);
  if (isOver && row.lastError !== '') return undefined;
  return isOver ? `${row.state} without a reason` : `it is still ${row.state}`;
}

/** Who sends one message after the other to one session has them arrive in that order. */
function checkOrder(sent: readonly Sent[], world: Cast['world']): void {
  const places = new Map<string, { readonly life: number; readonly place: number }>();
  for (const life of world.runtime.lives)
    for (const [place, text] of life.told.entries()) places.set(idOf(text), { life: life.number, place });
  for (const [index, first] of sent.entries()) {
    for (const second of sent.slice(index + 1)) {
      const isPair = first.sender === second.sender && first.target === second.target;
      const isPatient = first.delivery !== 'immediate' && second.delivery !== 'immediate';
      const isAfter = first.repliedAt !== undefined && first.repliedAt < second.sentAt;
      const one = places.get(first.id);
      const other = places.get(second.id);
      if (!isPair || !isPatient || !isAfter || !one || !other) continue;
      const isInOrder = one.life < other.life || (one.life === other.life && one.place < other.place);
      const isSameName =
        world.runtime.lives[one.life - 1]?.name === world.runtime.lives[other.life - 1]?.name;
      if (isSameName && !isInOrder) world.violates(`${second.id} arrived before ${first.id}`);
    }
  }
}

function arrivalsOf(lives: Cast['world']['runtime']['lives']): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const life of lives)
    for (const text of life.told) {
      const id = idOf(text);
      if (id.startsWith('m')) found.set(id, [...(found.get(id) ?? []), `${life.name}#${life.number}`]);
    }
  return found;
}

const idOf = (text: string): string => /^(m\d+)\./.exec(text)?.[1] ?? '';
