import type { ProblemList } from '../document/problems.ts';
import { readText } from '../document/read-source.ts';
import { qualifiedInstanceName } from '../qualified-name.ts';

export interface PoolAgent {
  readonly name: string;
  readonly dir: string;
  readonly binding: string;
}

interface Listed {
  readonly name: string;
  /** The first is 1. */
  readonly line: number;
  readonly column: number;
}

/** The names in a file of one name per line. Those that no session can have are told, once, where the first stands. */
export async function readNamepool(
  file: string,
  agent: PoolAgent,
  problems: ProblemList,
): Promise<readonly string[]> {
  const read = await readText(file);
  if (read.kind === 'unreadable') {
    problems.add(read.problems);
    return [];
  }
  const listed = read.text.split('\n').flatMap((text, i): readonly Listed[] => {
    const name = text.trim();
    if (name === '' || name.startsWith('#')) return [];
    return [{ name, line: i + 1, column: text.indexOf(name) + 1 }];
  });
  warnUnusable(file, agent, listed, problems);
  return listed.map(({ name }) => name);
}

/** So many of them are spelled out. */
const MAX_TOLD = 3;

function warnUnusable(
  file: string,
  agent: PoolAgent,
  listed: readonly Listed[],
  problems: ProblemList,
): void {
  const seen = new Set<string>();
  const unusable = listed.flatMap((entry) => {
    const problem = seen.has(entry.name) ? 'it stands here twice' : poolNameProblem(agent, entry.name);
    seen.add(entry.name);
    return problem === undefined ? [] : [{ ...entry, problem }];
  });
  const [first] = unusable;
  if (!first) return;
  const told = unusable
    .slice(0, MAX_TOLD)
    .map(({ name, problem }) => `${JSON.stringify(name.slice(0, MAX_NAME_LENGTH))}: ${problem}`);
  const more = unusable.length - told.length;
  const label = qualifiedInstanceName(agent, agent.name);
  problems.warning(
    'namepool-name-unusable',
    `agent "${label}": no session can have ${unusable.length === 1 ? 'this name' : 'these names'}, left out: ${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}`,
    { file, line: first.line, column: first.column },
    'use letters, digits, "_", "." and "-", beginning with a letter or digit, each name once',
  );
}

const MAX_NAME_LENGTH = 64;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]*(?:\/[a-zA-Z0-9][a-zA-Z0-9_.-]*)*$/;
/** Words that mean somebody or something else wherever a session is named. */
const TAKEN = /^(?:human|status|drain|poll|gc-s?\d+|s-.*)$/;

/** Why no session of the agent can have this name of its pool; `undefined`: one can. The rule of session aliases. */
export function poolNameProblem(agent: PoolAgent, name: string): string | undefined {
  const identity = qualifiedInstanceName(agent, name);
  if (!NAME.test(identity)) return 'it has characters that no name can have';
  if (identity.length > MAX_NAME_LENGTH) return `it has more than ${MAX_NAME_LENGTH} characters`;
  return TAKEN.test(identity) ? 'it means something else' : undefined;
}
