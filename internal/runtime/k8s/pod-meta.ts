import { createHash } from 'node:crypto';
import { META_INSTANCE_TOKEN } from '../provider.ts';
import type { Pod } from './api/pod.ts';
import { AGENT_CONTAINER, ANNOTATION_TOKEN } from './manifest.ts';

/**
 * A session's metadata are annotations of its pod, over what the agent's environment says. An annotation's key can hold
 * less than a metadata key: other keys are hashed, and kept beside their value.
 */
const PLAIN = 'gc-meta/';
const HASHED = 'gc-meta-x/';
const PLAIN_KEY = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
/** Values begin with it; `REMOVED` alone hides what the environment says. */
const SET = '=';
const REMOVED = '-';

export type Annotations = Readonly<Record<string, string | null>>;

export function metaOf(pod: Pod): Readonly<Record<string, string>> {
  const meta = new Map<string, string>();
  const agent = pod.spec?.containers?.find((container) => container.name === AGENT_CONTAINER);
  for (const { name, value } of agent?.env ?? []) if (value !== undefined) meta.set(name, value);
  const token = pod.metadata.annotations?.[ANNOTATION_TOKEN];
  if (token) meta.set(META_INSTANCE_TOKEN, token);
  for (const [annotation, text] of Object.entries(pod.metadata.annotations ?? {})) {
    const read = readAnnotation(annotation, text);
    if (!read) continue;
    if (read.value === undefined) meta.delete(read.key);
    else meta.set(read.key, read.value);
  }
  // Any key is a key, `__proto__` too.
  return Object.fromEntries(meta);
}

export const setMetaChange = (key: string, value: string): Annotations => change(key, SET + value);

/** An environment cannot be changed, so what it says is hidden. */
export function removeMetaChange(pod: Pod, key: string): Annotations {
  const inEnv = pod.spec?.containers?.some((container) => container.env?.some(({ name }) => name === key));
  return inEnv ? change(key, REMOVED) : change(key, null);
}

function change(key: string, text: string | null): Annotations {
  if (PLAIN_KEY.test(key)) return { [PLAIN + key]: text };
  const hash = createHash('sha256').update(key).digest('hex').slice(0, 40);
  return { [HASHED + hash]: text === null ? null : JSON.stringify([key, text]) };
}

function readAnnotation(
  annotation: string,
  text: string,
): { readonly key: string; readonly value: string | undefined } | undefined {
  if (annotation.startsWith(PLAIN)) return { key: annotation.slice(PLAIN.length), value: textOf(text) };
  if (!annotation.startsWith(HASHED)) return undefined;
  const pair = parsePair(text);
  return pair && { key: pair[0], value: textOf(pair[1]) };
}

function textOf(text: string): string | undefined {
  return text.startsWith(SET) ? text.slice(SET.length) : undefined;
}

/** A person may have edited it. */
function parsePair(text: string): readonly [string, string] | undefined {
  try {
    const pair: unknown = JSON.parse(text);
    if (!Array.isArray(pair) || pair.length !== 2) return undefined;
    const [key, value] = pair as readonly unknown[];
    return typeof key === 'string' && typeof value === 'string' ? [key, value] : undefined;
  } catch {
    return undefined;
  }
}
