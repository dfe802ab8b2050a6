import { realpathSync } from 'node:fs';
import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import type { RuleRow } from '../beads/sqlite/rule-table.ts';
import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import type { Choice } from '../session/interactions.ts';
import type { Rule, RuleScope } from '../session/permission-rules.ts';
import type { SessionRecord } from '../session/record.ts';
import { literalPattern } from '../session/rule-glob.ts';

/** A rule that is to be, and where it is kept: with the city's records, or with the user's own. */
export type RuleDraft =
  | { readonly kind: 'city'; readonly row: Omit<RuleRow, 'num' | 'madeMs'> }
  | { readonly kind: 'user'; readonly rule: Omit<Rule, 'id' | 'at'> };

export interface AnswerForLonger {
  readonly scope: RuleScope;
  readonly choice: Choice;
  readonly row: InteractionRow;
  readonly record: SessionRecord;
  readonly by: string;
}

/** The rule that gives the same answer to exactly the same again. @throws GcError `invalid-rule` */
export function ruleDraft({ scope, choice, row, record, by }: AnswerForLonger): RuleDraft {
  if (row.kind !== 'permission' || row.tool === '') {
    throw new GcError(
      'invalid-rule',
      'only a permission can be given for longer, and this is another question',
      {
        next: 'answer it for this once',
      },
    );
  }
  const { verdict } = choice;
  if (verdict !== 'allow' && verdict !== 'deny') {
    throw new GcError('invalid-rule', `"${choice.label}" neither allows nor denies`, {
      next: 'answer it for this once',
    });
  }
  if (!row.isWhole) {
    throw new GcError(
      'invalid-rule',
      `the input is not known to the letter, so there is no rule for exactly it`,
      {
        next: `answer it for this once; gc rule ${verdict} --tool ${row.tool} is for the tool as a whole`,
      },
    );
  }
  const { tool } = row;
  const input = row.input === '' ? undefined : literalPattern(row.input);
  const rule = { effect: verdict, tool, ...(input === undefined ? {} : { input }), by };
  switch (scope) {
    case 'session':
    case 'city':
      return { kind: 'city', row: cityRow(scope, rule, scope === 'session' ? record : undefined) };
    case 'project':
      return { kind: 'user', rule: { ...rule, scope, project: followed(record.workDir) } };
    case 'always':
      return { kind: 'user', rule: { ...rule, scope } };
  }
}

/** A folder with its links followed, so that it is the same one whatever way leads to it; as it is where it is not there. */
export function followed(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder; // not there now: then it is only a name
  }
}

/** @param session of a rule that holds for one conversation of it */
export function cityRow(
  scope: 'session' | 'city',
  rule: Pick<Rule, 'effect' | 'tool' | 'input' | 'rig' | 'agent' | 'session' | 'by'>,
  session: SessionRecord | undefined,
): Omit<RuleRow, 'num' | 'madeMs'> {
  return {
    scope,
    effect: rule.effect,
    rig: rule.rig,
    agent: rule.agent,
    session: session ? displayName(session) : rule.session,
    boundSessionId: session?.id ?? '',
    boundEpoch: session?.continuationEpoch ?? 0,
    tool: rule.tool,
    input: rule.input,
    madeBy: rule.by,
  };
}
