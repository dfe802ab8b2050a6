import type { Ids } from '../../../platform/ids.ts';

/** Chance that the same seed repeats, and identifiers made of it. Cheap: a run asks for it many thousand times. */
export class Dice implements Ids {
  #state: number;

  constructor(seed: string) {
    this.#state = hashOf(seed);
  }

  /** Uniform in [0, 1). */
  random(): number {
    return this.#next() / 2 ** 32;
  }

  /** Uniform, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.random() * (to - from + 1));
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('nothing to pick from');
    return items[this.int(0, items.length - 1)] as T;
  }

  /** `undefined` when there is nothing. */
  maybe<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : this.pick(items);
  }

  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.random() * items.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, item] of items) {
      left -= weight;
      if (left < 0) return item;
    }
    throw new Error('nothing to pick from');
  }

  hex(bytes: number): string {
    let text = '';
    while (text.length < bytes * 2) text += this.#next().toString(16).padStart(8, '0');
    return text.slice(0, bytes * 2);
  }

  uuid(): string {
    const h = this.hex(16);
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-8${h.slice(17, 20)}-${h.slice(20, 32)}`;
  }

  /** Mulberry32. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
}

/** FNV-1a, stirred once more. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 16;
  return Math.imul(hash, 0x85ebca6b) >>> 0;
}
