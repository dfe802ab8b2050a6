import { createHash, randomBytes, randomUUID } from 'node:crypto';

/** Where identifiers come from; seeded in tests. */
export interface Ids {
  /** Lowercase hex of `bytes` random bytes. */
  hex(bytes: number): string;
  /** A UUID version 4. */
  uuid(): string;
  /** Uniform in [0, 1). */
  random(): number;
}

export const systemIds: Ids = {
  hex: (bytes) => randomBytes(bytes).toString('hex'),
  uuid: () => randomUUID(),
  random: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
};

/** The same identifiers in the same order for the same seed. */
export function seededIds(seed: number | string): Ids {
  let counter = 0;
  const hex = (bytes: number): string => {
    let text = '';
    while (text.length < bytes * 2) {
      counter += 1;
      text += createHash('sha256').update(`${seed}:${counter}`).digest('hex');
    }
    return text.slice(0, bytes * 2);
  };
  return {
    hex,
    uuid: () => {
      const h = hex(16);
      return `${h.slice(0, 8)}-${h.slice(8, 12)}-4${h.slice(13, 16)}-8${h.slice(17, 20)}-${h.slice(20, 32)}`;
    },
    random: () => Number.parseInt(hex(6), 16) / 2 ** 48,
  };
}
