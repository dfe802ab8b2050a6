import { mkdir } from 'node:fs/promises';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { shortDuration } from '../platform/duration.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { StartFailedError } from '../runtime/errors.ts';
import {
  canContinueStart,
  canRoute,
  canSleep,
  META_CONVERSATION,
  type StartResult,
} from '../runtime/provider.ts';
import type { RuntimeConfig } from '../runtime/runtime-config.ts';
import { ACCOUNT_KEY } from '../session/account.ts';
import { displayName } from '../session/display.ts';
import { marksOver } from '../session/drain-marks.ts';
import { NEW_CONVERSATION_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { withHistory } from '../session/record-codec.ts';
import { preWakeCommit } from '../session/start-transitions.ts';
import { commitStarted, type MetadataPatch, type StartedFingerprints } from '../session/transitions.ts';
import { desiredAccount } from './account-limits.ts';
import { START_ANYWAY_KEY } from './admission.ts';
import { CONFIG_FORM_KEY, type ConfigForm, CURRENT_FORM, formOf, inForm } from './config-form.ts';
import { KEY_HISTORY_KEY, type OwnDeath } from './endings.ts';
import type { ExecutorContext } from './executor.ts';
import { parseObject, parseStrings } from './json-text.ts';
import type { ResolvedDesired } from './model.ts';
import { tellAnew, whyAnew } from './new-conversation.ts';
import type { Operation } from './operation.ts';
import type { Action } from './plan.ts';
import { believedRunning, WAITS_FOR_KEY } from './session-facts.ts';
import { backInWorktree, enterWorktree, type Placed } from './session-worktree.ts';
import { nextConversation, RESUMES_KEY, startConfig } from './start-config.ts';
import { commitStartFailure, isStillStarting } from './start-failure.ts';

export type StartAction = Extract<Action, { kind: 'start' }>;
export type ContinueAction = Extract<Action, { kind: 'continue-start' }>;

/** Metadata of ours that describes the current life for people. */
export const STARTED_MS_KEY = 'started_ms';
export const ANSWERED_KEY = 'answered_dialogs';
/** JSON of the fingerprints that the start under way began with: the config may change before it is complete. */
const STARTING_HASHES_KEY = 'starting_hashes';

/** How one start ended. */
export type StartOutcome =
  | { readonly kind: 'started'; readonly record: SessionRecord; readonly result: StartResult }
  /** It lives and asks something that a person must answer; the start goes on after that. */
  | { readonly kind: 'asks'; readonly record: SessionRecord; readonly question: string }
  | {
      readonly kind: 'failed';
      readonly record: SessionRecord;
      readonly death: OwnDeath;
      readonly error: unknown;
    }
  /** It ended before it was ready, and that is no failure: what follows is decided by the next pass. */
  | { readonly kind: 'over'; readonly error: unknown }
  /** Nothing happened, or nothing that counts: the next pass looks again. */
  | { readonly kind: 'undecided'; readonly error: unknown };

/** Intent first, then the process, then the outcome. The caller keeps other operations off the session. */
export async function runStart(
  context: ExecutorContext,
  operation: Operation,
  action: StartAction,
): Promise<StartOutcome> {
  const { desired, sessionName } = action;
  const record = await writeIntent(context, operation, action);
  if (canRoute(context.provider)) context.provider.routeTo(sessionName, desired.transport);
  const prepare = (config: RuntimeConfig) => inPlace(context, operation, desired, config);
  return finishStart(context, operation, record, desired, prepare, (config) =>
    context.provider.start(sessionName, config, providerOptions(context, operation)),
  );
}

/** Takes up a start that lives but was never completed. No new life begins. */
export async function runContinuation(
  context: ExecutorContext,
  operation: Operation,
  action: ContinueAction,
): Promise<StartOutcome> {
  const { desired, sessionName, record } = action;
  const { worktree } = desired;
  const prepare = async (config: RuntimeConfig) =>
    worktree ? backInWorktree(context, worktree, config, operation.signal) : { config, warnings: [] };
  return finishStart(context, operation, record, desired, prepare, async (config) => {
    const { provider } = context;
    if (!canContinueStart(provider)) throw new GcError('internal', `${provider.kind} cannot take up a start`);
    return provider.continueStart(sessionName, config, providerOptions(context, operation));
  });
}

function providerOptions(context: ExecutorContext, operation: Operation) {
  return {
    signal: operation.signal,
    onProgress: (progress: Parameters<ExecutorContext['progressed']>[1]) =>
      context.progressed(operation, progress),
  };
}

async function finishStart(
  context: ExecutorContext,
  operation: Operation,
  record: SessionRecord,
  desired: ResolvedDesired,
  prepare: (config: RuntimeConfig) => Promise<Placed>,
  perform: (config: RuntimeConfig) => Promise<StartResult>,
): Promise<StartOutcome> {
  const began = context.clock.monotonic();
  let deadline: AbortController | undefined;
  try {
    // Setting up a worktree may take longer than an agent may for its start: its commands have times of their own.
    const placed = await prepare(configOf(record, startingForm(record, desired)));
    deadline = startDeadline(context, operation, desired.startupTimeoutMs);
    const started = await perform(placed.config);
    if (!(await isStillStarting(context, record))) return await takenUp(context, record, started);
    const result = { ...started, warnings: [...placed.warnings, ...started.warnings] };
    const tookMs = context.clock.monotonic() - began;
    return result.kind === 'ready'
      ? await commitReady(context, record, desired, result, tookMs)
      : await commitQuestion(context, record, result, tookMs);
  } catch (error) {
    return await commitStartFailure(context, operation, record, error);
  } finally {
    deadline?.abort();
  }
}

/** Another process went on with this start, or ended it, while it was under way here: what it wrote stands. */
async function takenUp(
  context: ExecutorContext,
  { id, instanceToken }: SessionRecord,
  result: StartResult,
): Promise<StartOutcome> {
  const now = await context.store.get(id);
  const isItsLife = now.instanceToken === instanceToken && believedRunning(now);
  if (isItsLife) return { kind: 'started', record: now, result };
  const error = new GcError(
    'start-overtaken',
    'its start was overtaken: something else was decided meanwhile',
  );
  return { kind: 'undecided', error };
}

function configOf(record: SessionRecord, desired: ResolvedDesired): RuntimeConfig {
  return startConfig(desired, {
    recordId: record.id,
    generation: record.generation,
    continuationEpoch: record.continuationEpoch,
    instanceToken: record.instanceToken,
    alias: record.alias,
    origin: record.origin,
    conversation: { key: record.sessionKey, first: record.startedConfigHash === '' },
  });
}

async function writeIntent(
  context: ExecutorContext,
  operation: Operation,
  action: StartAction,
): Promise<SessionRecord> {
  const { record, desired } = action;
  const now = context.clock.now();
  const conversation = nextConversation(desired, record, context.ids);
  const anew = whyAnew(desired, record, conversation);
  const { coreHash, liveHash, breakdown } = desired;
  const patch: MetadataPatch = {
    ...preWakeCommit(record, context.ids.hex(16), now, anew !== ''),
    state: 'creating',
    state_reason: action.why,
    operation_id: operation.id,
    operation_deadline: new Date(now + desired.startupTimeoutMs).toISOString(),
    session_key: conversation.key,
    ...historyPatch(record, anew === '' ? record.sessionKey : conversation.key),
    transport: desired.transport,
    [NEW_CONVERSATION_KEY]: anew,
    // Cleared until this start is complete when the conversation begins: a retry must not resume what never was.
    ...(conversation.first ? { started_config_hash: '', started_live_hash: '' } : {}),
    [STARTING_HASHES_KEY]: JSON.stringify({ coreHash, liveHash, breakdown, form: CURRENT_FORM }),
    [WAITS_FOR_KEY]: '',
    [START_ANYWAY_KEY]: '',
    ...marksOver(),
    provider: desired.provider,
    provider_kind: desired.providerKind,
    command: desired.config.command,
    work_dir: desired.config.workDir,
    resume_flag: desired.resume.resumeFlag,
    resume_style: desired.resume.resumeStyle,
    resume_command: desired.resume.resumeCommand,
    wake_mode: desired.wakeMode === 'fresh' ? 'fresh' : '',
    [ACCOUNT_KEY]: desiredAccount(desired, context.cityEnv),
  };
  return context.store.apply(record.id, patch, {
    expectedRevision: record.revision,
    ...tellAnew(record, anew),
  });
}

/** Ends the start when its time is over, counted in time that this process lived through. */
function startDeadline(context: ExecutorContext, operation: Operation, timeoutMs: number): AbortController {
  const over = new AbortController();
  context.time.sleepUntil(context.time.lived() + timeoutMs, over.signal).then(
    () => operation.abort('deadline'),
    // The start ended first.
    () => undefined,
  );
  return over;
}

async function inPlace(
  context: ExecutorContext,
  operation: Operation,
  desired: ResolvedDesired,
  config: RuntimeConfig,
): Promise<Placed> {
  const { worktree } = desired;
  if (worktree) {
    context.progressed(operation, { kind: 'step', step: 'pre_start' });
    return enterWorktree(context, worktree, config, operation.signal);
  }
  await makeWorkDir(desired);
  return { config, warnings: [] };
}

async function makeWorkDir(desired: ResolvedDesired): Promise<void> {
  const { workDir } = desired.config;
  try {
    await mkdir(workDir, { recursive: true });
  } catch (error) {
    throw new StartFailedError('work-dir', `cannot make the work dir ${workDir}: ${messageOf(error)}`, {
      cause: error,
      next: 'check the path and its permissions',
    });
  }
}

async function commitReady(
  context: ExecutorContext,
  record: SessionRecord,
  desired: ResolvedDesired,
  result: StartResult,
  tookMs: number,
): Promise<StartOutcome> {
  const patch: MetadataPatch = {
    ...commitStarted(startingHashes(record, desired), {
      confirm: true,
      now: context.clock.now(),
      clearSleepReason: true,
      clearPendingCreateClaim: true,
    }),
    operation_id: '',
    operation_deadline: '',
    [STARTING_HASHES_KEY]: '',
    [CONFIG_FORM_KEY]: startingMark(record),
    [STARTED_MS_KEY]: String(Math.round(tookMs)),
    [ANSWERED_KEY]: answeredText(record, result),
    [WAITS_FOR_KEY]: '',
    [NEW_CONVERSATION_KEY]: '',
    ...(await conversationPatch(context, record, desired)),
  };
  const why = `ready in ${shortDuration(tookMs)}`;
  const committed = await context.store.apply(record.id, patch, {
    events: [{ type: 'session.woke', actor: CONTROLLER_ACTOR, subject: displayName(record), message: why }],
    decisions: [{ what: 'started', why, inputs: { answered: result.answered }, ...warningLines(result) }],
  });
  return { kind: 'started', record: committed, result };
}

/** Agents that name their conversations themselves have told its id by now: the next life goes on with it. */
async function conversationPatch(
  { provider }: ExecutorContext,
  record: SessionRecord,
  desired: ResolvedDesired,
): Promise<MetadataPatch> {
  if (desired.transport !== 'acp') return {};
  const resumes = !canSleep(provider) || provider.sleepCapability(record.sessionName) === 'full';
  const ability = { [RESUMES_KEY]: resumes ? '' : 'no' };
  // A start is no failure because this cannot be read: the next life begins a new conversation, and says so.
  const key = await provider.getMeta(record.sessionName, META_CONVERSATION).catch(() => '');
  if (key === '' || key === record.sessionKey) return ability;
  return { ...ability, session_key: key, ...historyPatch(record, key) };
}

/** The key that another one takes the place of stays known. */
function historyPatch({ sessionKey, metadata }: SessionRecord, current: string): MetadataPatch {
  if (sessionKey === '' || sessionKey === current) return {};
  return { [KEY_HISTORY_KEY]: withHistory(metadata[KEY_HISTORY_KEY] ?? '', sessionKey, current) };
}

/**
 * The start stays open: its record says what is asked, and who asks. Writes nothing when the question is the same.
 * @param tookMs how long this try took: the person may have answered before its outcome was known here
 */
async function commitQuestion(
  context: ExecutorContext,
  record: SessionRecord,
  result: Extract<StartResult, { kind: 'waits-for-person' }>,
  tookMs: number,
): Promise<StartOutcome> {
  const { question } = result;
  context.memory.askedAt.set(record.sessionName, context.clock.now() - tookMs);
  if (record.metadata[WAITS_FOR_KEY] === question) return { kind: 'asks', record, question };
  const asked = await context.store.apply(
    record.id,
    { [WAITS_FOR_KEY]: question, [ANSWERED_KEY]: answeredText(record, result) },
    {
      events: [
        {
          type: 'session.updated',
          actor: CONTROLLER_ACTOR,
          subject: displayName(record),
          message: `waits for a person: ${question}`,
        },
      ],
      decisions: [
        {
          what: 'wait',
          why: `a person must answer: ${question}`,
          inputs: { answered: result.answered },
          lines: result.screen.split('\n').slice(-QUESTION_LINES),
        },
      ],
    },
  );
  return { kind: 'asks', record: asked, question };
}

const QUESTION_LINES = 20;

/** Dialogs that were answered before a person's question count too. */
function answeredText(record: SessionRecord, result: StartResult): string {
  const before = record.metadata[WAITS_FOR_KEY] ? parseStrings(record.metadata[ANSWERED_KEY]) : [];
  const all = [...before, ...result.answered];
  return all.length > 0 ? JSON.stringify(all) : '';
}

/** What an interrupted start began with is what it is taken up with. */
function startingForm(record: SessionRecord, desired: ResolvedDesired): ResolvedDesired {
  return { ...desired, config: inForm(desired, startingMark(record)).config };
}

function startingMark(record: SessionRecord): ConfigForm {
  const { form } = parseObject(record.metadata[STARTING_HASHES_KEY]) ?? {};
  return formOf(typeof form === 'string' ? form : undefined);
}

function startingHashes(record: SessionRecord, desired: ResolvedDesired): StartedFingerprints {
  const stored = parseObject(record.metadata[STARTING_HASHES_KEY]);
  const { coreHash, liveHash, breakdown } = stored ?? {};
  if (typeof coreHash !== 'string' || typeof liveHash !== 'string' || typeof breakdown !== 'object')
    return desired;
  return { coreHash, liveHash, breakdown: { ...desired.breakdown, ...breakdown } };
}

function warningLines(result: StartResult): { lines?: readonly string[] } {
  return result.warnings.length > 0 ? { lines: result.warnings } : {};
}
