import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { type Approval, approvalKey, parseApproval } from '../approval.ts';
import { findComposer } from '../composer.ts';
import { findQuestion } from '../dialog.ts';
import { SessionNotFoundError } from '../errors.ts';
import type { InteractionResponse, PendingInteraction } from '../provider.ts';
import { findMenu, type Look } from '../screen.ts';
import type { TerminalBackend } from './backend.ts';
import { look, type SessionFacts } from './facts.ts';
import type { TerminalTimings } from './options.ts';

/** A question that waits on an agent's screen, with the keys for each of its answers. */
interface Asked {
  readonly interaction: PendingInteraction;
  /** `undefined`: not an answer to this question. */
  keysFor(action: string): readonly string[] | undefined;
}

const VERIFY_ATTEMPTS = 3;

/** The question that waits now: a permission, else any marked choice without an input box below it. */
export async function pendingOn(
  backend: TerminalBackend,
  name: string,
  facts: SessionFacts,
): Promise<PendingInteraction | undefined> {
  return (await askedOn(backend, name, facts))?.interaction;
}

/**
 * Presses the keys of an answer once and looks whether the question went away. A question that is gone already is fine,
 * unless the answer names the one that it is for: then nobody may believe that it was given.
 * @throws GcError `interaction-changed`, `unknown-action`, `interaction-not-cleared`
 */
export async function respondTo(
  backend: TerminalBackend,
  clock: Clock,
  name: string,
  facts: SessionFacts,
  response: InteractionResponse,
  timings: TerminalTimings,
): Promise<void> {
  const asked = await askedOn(backend, name, facts);
  if (!asked) {
    if (!response.request_id) return;
    throw new GcError('interaction-changed', `the agent does not ask ${response.request_id} any more`, {
      next: 'gc pending',
    });
  }
  const id = asked.interaction.request_id;
  if (response.request_id && response.request_id !== id) {
    throw new GcError(
      'interaction-changed',
      `approval prompt changed: expected ${response.request_id}, got ${id}`,
      { next: 'gc pending' },
    );
  }
  const keys = asked.keysFor(response.action);
  if (!keys) {
    const choices = (asked.interaction.options ?? []).map((option, i) => `${i + 1} ${option}`).join(', ');
    throw new GcError('unknown-action', `unknown action "${response.action}"`, {
      next: `answer one of: ${choices}`,
    });
  }
  for (const [index, key] of keys.entries()) {
    if (index > 0) await clock.sleep(timings.dialogKeyGapMs);
    await backend.sendKeys(name, [key]);
  }
  for (let attempt = 0; attempt < VERIFY_ATTEMPTS; attempt += 1) {
    await clock.sleep(timings.respondVerifyMs);
    if ((await askedOn(backend, name, facts))?.interaction.request_id !== id) return;
  }
  throw new GcError(
    'interaction-not-cleared',
    `approval prompt did not clear after ${VERIFY_ATTEMPTS} verify attempts`,
    { next: `gc session attach ${name}` },
  );
}

async function askedOn(
  backend: TerminalBackend,
  name: string,
  facts: SessionFacts,
): Promise<Asked | undefined> {
  try {
    const seen = await look(backend, name);
    const approval = parseApproval(seen);
    return approval ? askedApproval(approval, backend.kind) : askedQuestion(seen, facts, backend.kind);
  } catch (error) {
    if (error instanceof SessionNotFoundError) return undefined;
    throw error;
  }
}

function askedApproval(approval: Approval, source: string): Asked {
  return {
    interaction: {
      request_id: approval.id,
      kind: 'approval',
      prompt: approval.prompt,
      options: approval.options,
      metadata: { tool_name: approval.tool, tool_input: approval.input, ...cutMark(approval.input), source },
    },
    keysFor: (action) => {
      const key = approvalKey(approval, action);
      return key === undefined ? undefined : [key];
    },
  };
}

/** A screen breaks lines as it likes: what stands in several of them is not known to the letter. */
function cutMark(input: string): { tool_input_cut?: string } {
  return /\n|…$/.test(input) ? { tool_input_cut: 'true' } : {};
}

function askedQuestion(seen: Look, facts: SessionFacts, source: string): Asked | undefined {
  const question = findQuestion(seen, findComposer(seen, facts.profile, facts.prefix));
  const menu = findMenu(seen);
  if (!question || !menu || question.options.length === 0) return undefined;
  const hash = createHash('sha256').update(
    ['question', question.text, question.body, ...question.options].join('\0'),
  );
  return {
    interaction: {
      request_id: `tmux-${hash.digest('hex').slice(0, 16)}`,
      kind: 'question',
      prompt: question.body === '' ? question.text : `${question.text}\n${question.body}`,
      options: question.options,
      metadata: { source },
    },
    keysFor: (action) => {
      const byNumber = menu.options.findIndex((option) => option.digit === action);
      const wanted = byNumber >= 0 ? byNumber : question.options.indexOf(action);
      if (wanted < 0) return undefined;
      const distance = wanted - menu.marked;
      return [...Array<string>(Math.abs(distance)).fill(distance > 0 ? 'Down' : 'Up'), 'Enter'];
    },
  };
}
