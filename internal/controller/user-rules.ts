import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import { fieldsOf, isFields } from '../platform/fields.ts';
import type { Ids } from '../platform/ids.ts';
import { type Environment, gcHome } from '../platform/paths.ts';
import type { Rule } from '../session/permission-rules.ts';
import { editUnderLock } from './locked-file.ts';

/** Where the user's own rules are: never in a work directory, so that no checkout brings its own. */
export const userRulesFile = (env: Environment): string => join(gcHome(env), 'permission-rules.json');

export interface RulesPlace {
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
}

interface UserRules {
  /** Numbers are not used again. */
  readonly next: number;
  readonly rules: readonly Rule[];
}

const NONE: UserRules = { next: 1, rules: [] };
const VERSION = 1;
const OTHERS_MAY_WRITE = 0o022;
/** A file of rules above this size is something else. */
const MAX_BYTES = 4 * 1024 * 1024;

/** @throws GcError `rules-unreadable`: damaged, or somebody else may have written it; nothing is known of it then */
export function readUserRules(env: Environment): readonly Rule[] {
  return read(userRulesFile(env)).rules;
}

/** One that says the same is there already: then that one is it. @throws GcError `rules-unreadable`, `rules-unwritable` */
export function addUserRule(place: RulesPlace, rule: Omit<Rule, 'id'>): Promise<Rule> {
  return edit(place, (known) => {
    const same = known.rules.find((each) => isSame(each, rule));
    if (same) return { next: known, answer: same };
    const made = { id: `u${known.next}`, ...rule };
    return { next: { next: known.next + 1, rules: [...known.rules, made] }, answer: made };
  });
}

/** `undefined`: there is none with that id. */
export function removeUserRule(place: RulesPlace, id: string): Promise<Rule | undefined> {
  return edit(place, (known) => {
    const answer = known.rules.find((rule) => rule.id === id);
    const next = answer ? { ...known, rules: known.rules.filter((rule) => rule.id !== id) } : known;
    return { next, answer };
  });
}

async function edit<T>(
  { env, clock, ids }: RulesPlace,
  change: (known: UserRules) => { readonly next: UserRules; readonly answer: T },
): Promise<T> {
  const file = userRulesFile(env);
  try {
    ensurePrivateDir(gcHome(env));
    read(file);
    return await editUnderLock({ file, clock, ids, busyCode: 'rules-busy' }, (text) => {
      const known = parse(text, file);
      const { next, answer } = change(known);
      return { text: next === known ? undefined : render(next), answer };
    });
  } catch (error) {
    if (error instanceof GcError) throw error;
    throw new GcError('rules-unwritable', `cannot change ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'check the permissions of that folder and the space on its disk',
    });
  }
}

function read(file: string): UserRules {
  let fd: number | undefined;
  try {
    // A pipe in its place would hold up whoever opens it in the plain way.
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    refuseForeign(file, fstatSync(fd));
    return parse(readFileSync(fd, 'utf8'), file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return NONE;
    throw error instanceof GcError ? error : unreadable(file, messageOf(error));
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Also where it stands: whoever may write the folder may put another file there. */
function refuseForeign(file: string, found: Stats): void {
  if (!found.isFile()) throw unreadable(file, 'it is no file');
  if (found.size > MAX_BYTES) throw unreadable(file, `it has more than ${MAX_BYTES / 1_048_576} MiB`);
  const folder = dirname(file);
  for (const [path, { uid, mode }] of [[file, found] as const, [folder, statSync(folder)] as const]) {
    const isOurs = process.getuid === undefined || uid === process.getuid();
    if (isOurs && (mode & OTHERS_MAY_WRITE) === 0) continue;
    throw unreadable(
      file,
      `somebody else may have written ${path}`,
      `chmod go-w ${path}, after a look at it`,
    );
  }
}

function parse(text: string, file: string): UserRules {
  if (text === '') return NONE;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(file, messageOf(error));
  }
  const { version, next, rules } = fieldsOf(value);
  if (version !== VERSION || typeof next !== 'number' || !Array.isArray(rules)) {
    throw unreadable(file, 'it is not a list of rules of this version');
  }
  const read = rules.map(ruleOf);
  const bad = read.indexOf(undefined);
  if (bad >= 0) throw unreadable(file, `its rule ${bad + 1} is none`);
  return { next, rules: read.filter((rule) => rule !== undefined) };
}

const TEXTS = ['rig', 'agent', 'session', 'project', 'input'] as const;

function ruleOf(value: unknown): Rule | undefined {
  if (!isFields(value)) return undefined;
  const { id, effect, scope, tool, by, at } = value;
  if (
    typeof id !== 'string' ||
    typeof tool !== 'string' ||
    typeof by !== 'string' ||
    typeof at !== 'string'
  ) {
    return undefined;
  }
  if ((effect !== 'allow' && effect !== 'deny') || (scope !== 'project' && scope !== 'always'))
    return undefined;
  if (TEXTS.some((key) => value[key] !== undefined && typeof value[key] !== 'string')) return undefined;
  const texts = Object.fromEntries(
    TEXTS.flatMap((key) => (value[key] === undefined ? [] : [[key, value[key]]])),
  );
  return { id, effect, scope, tool, by, at, ...texts };
}

const KEYS = ['effect', 'scope', 'rig', 'agent', 'session', 'project', 'tool', 'input'] as const;

function isSame(known: Rule, rule: Omit<Rule, 'id'>): boolean {
  return KEYS.every((key) => known[key] === rule[key]);
}

function render({ next, rules }: UserRules): string {
  return `${JSON.stringify({ version: VERSION, next, rules }, null, 2)}\n`;
}

function unreadable(file: string, why: string, next = `repair ${file} or move it away`): GcError {
  return new GcError(
    'rules-unreadable',
    `${file} is not used, and no rule allows anything meanwhile: ${why}`,
    {
      next,
    },
  );
}
