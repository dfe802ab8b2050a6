import { parseApproval } from '../approval.ts';
import { type Composer, findComposer, matchesPromptPrefix } from '../composer.ts';
import { type FoundDialog, findDialog, findQuestion, nextDialogStep } from '../dialog.ts';
import type { AgentProfile } from '../profiles.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { Look } from '../screen.ts';
import { hasProcess } from './facts.ts';
import type { TerminalTimings } from './options.ts';

/** The part of a config that says what readiness is. */
export type ReadinessHints = Pick<
  RuntimeConfig,
  'readyPromptPrefix' | 'readyDelayMs' | 'processNames' | 'emitsPermissionWarning' | 'nudge'
>;

/** `ready`: to take input. `no-question`: only that no known question is open, while it may be at work already. */
export type StartupGoal = 'ready' | 'no-question';

/** What a starting agent shows at one moment. */
export interface StartupView {
  readonly goal: StartupGoal;
  readonly look: Look;
  /** `undefined` when it could not be read: then it is not waited for. */
  readonly processNames: readonly string[] | undefined;
  /** Since the session was created, milliseconds. */
  readonly elapsedMs: number;
  readonly hints: ReadinessHints;
  readonly profile: AgentProfile;
  readonly timings: TerminalTimings;
}

export interface StartupState {
  /** Question id -> times confirmed. */
  readonly answered: ReadonlyMap<string, number>;
  /** Question id -> times the mark was moved. */
  readonly moved: ReadonlyMap<string, number>;
  /** What was pressed last for a question, when, and where the mark was. */
  readonly last:
    | { readonly id: string; readonly final: boolean; readonly atMs: number; readonly marked: number }
    | undefined;
  readonly question: { readonly screen: string; readonly sinceMs: number } | undefined;
  readonly readyPolls: number;
}

export const STARTUP_BEGIN: StartupState = {
  answered: new Map(),
  moved: new Map(),
  last: undefined,
  question: undefined,
  readyPolls: 0,
};

export type StartupDecision =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'press';
      readonly dialog: string;
      readonly keys: readonly string[];
      readonly final: boolean;
    }
  /** A person must answer. */
  | { readonly kind: 'question'; readonly text: string }
  | { readonly kind: 'wait'; readonly what: string };

/** Times one question is confirmed before a person is asked. */
const MAX_ANSWERS = 3;
/** Times the mark of one question is moved before a person is asked. */
const MAX_MOVES = 6;
/** Looks in a row that must show readiness: a question may come right after the first prompt. */
const READY_POLLS = 2;
/** How much longer than its delay an agent gets to draw the input box that we know. */
const COMPOSER_GRACE_MS = 10_000;

/** One step of a start: what the screen asks for, known questions before readiness. Pure. */
export function decideStartup(state: StartupState, view: StartupView): [StartupState, StartupDecision] {
  const composer = findComposer(view.look, view.profile, view.hints.readyPromptPrefix);
  const dialog = asksToWait(view.hints) ? openDialog(state, view, composer) : undefined;
  if (dialog) return decideDialog({ ...state, readyPolls: 0, question: undefined }, view, dialog);

  const missing = view.goal === 'ready' ? missingForReady(view) : undefined;
  if (missing === undefined) {
    const next = { ...state, question: undefined, readyPolls: state.readyPolls + 1 };
    return next.readyPolls >= READY_POLLS
      ? [next, { kind: 'ready' }]
      : [next, { kind: 'wait', what: 'its screen to settle' }];
  }
  return decideQuestion({ ...state, readyPolls: 0 }, view, missing);
}

/**
 * The known question that is open. A permission question is never one of them, whatever stands above it; and once the
 * agent may be at work, only a drawn choice counts, since its own words may be those of a question.
 */
function openDialog(
  state: StartupState,
  view: StartupView,
  composer: Composer | undefined,
): FoundDialog | undefined {
  if (parseApproval(view.look)) return undefined;
  const dialog = findDialog(view.look, view.profile.dialogs, composer, state.answered);
  return view.goal === 'no-question' && !dialog?.menu ? undefined : dialog;
}

function decideDialog(
  state: StartupState,
  view: StartupView,
  dialog: FoundDialog,
): [StartupState, StartupDecision] {
  const { id } = dialog.rule;
  const marked = dialog.menu?.marked ?? -1;
  const { last } = state;
  const reacts = last?.id === id && view.elapsedMs - last.atMs < view.timings.dialogGoneMs;
  if (reacts && (last.final || last.marked === marked)) {
    return [state, { kind: 'wait', what: `an answer to take effect: ${id}` }];
  }
  const answers = state.answered.get(id) ?? 0;
  const moves = state.moved.get(id) ?? 0;
  if (answers >= MAX_ANSWERS || moves >= MAX_MOVES) {
    return [state, { kind: 'question', text: `${id}: it stays on the screen although it was answered` }];
  }
  const step = nextDialogStep(dialog);
  const next: StartupState = {
    ...state,
    answered: step.final ? new Map([...state.answered, [id, answers + 1]]) : state.answered,
    moved: step.final ? state.moved : new Map([...state.moved, [id, moves + 1]]),
    last: { id, final: step.final, atMs: view.elapsedMs, marked },
  };
  return [next, { kind: 'press', dialog: id, keys: step.keys, final: step.final }];
}

function decideQuestion(
  state: StartupState,
  view: StartupView,
  missing: string,
): [StartupState, StartupDecision] {
  const composer = findComposer(view.look, view.profile, view.hints.readyPromptPrefix);
  const question = findQuestion(view.look, composer);
  if (!question)
    return [
      { ...state, question: undefined },
      { kind: 'wait', what: missing },
    ];
  const screen = view.look.lines.join('\n');
  const since = state.question?.screen === screen ? state.question.sinceMs : view.elapsedMs;
  const next = { ...state, question: { screen, sinceMs: since } };
  return question.sure && view.elapsedMs - since >= view.timings.questionSettleMs
    ? [next, { kind: 'question', text: question.text }]
    : [next, { kind: 'wait', what: `an answer: ${question.text}` }];
}

/** Hints that ask to wait for the agent; without any a start looks only whether it lives. */
function asksToWait(hints: ReadinessHints): boolean {
  return (
    hints.readyPromptPrefix.trim() !== '' ||
    hints.readyDelayMs > 0 ||
    hints.processNames.length > 0 ||
    hints.emitsPermissionWarning ||
    hints.nudge !== ''
  );
}

/** The condition for readiness that does not hold yet, in words; `undefined`: ready. */
export function missingForReady(view: StartupView): string | undefined {
  const { hints, look, profile, elapsedMs } = view;
  if (parseApproval(look)) return undefined;
  if (
    hints.processNames.length > 0 &&
    view.processNames &&
    !hasProcess(view.processNames, hints.processNames)
  ) {
    return `one of its processes to run: ${hints.processNames.join(', ')}`;
  }
  const visible = look.lines.slice(look.visibleFrom);
  if (profile.splash.some((pattern) => visible.some((line) => pattern.test(line)))) return 'it to load';
  const composer = findComposer(look, profile, hints.readyPromptPrefix);
  if (hints.readyPromptPrefix.trim() !== '') {
    const shows = visible.some((line) => matchesPromptPrefix(line, hints.readyPromptPrefix));
    if (composer || (shows && (!profile.composer || elapsedMs >= COMPOSER_GRACE_MS))) return undefined;
    return `its prompt ${JSON.stringify(hints.readyPromptPrefix.trim())} to show`;
  }
  if (hints.readyDelayMs > 0) {
    if (composer) return undefined;
    const wanted = hints.readyDelayMs + (profile.composer ? COMPOSER_GRACE_MS : 0);
    return elapsedMs >= wanted ? undefined : `${hints.readyDelayMs} ms to pass`;
  }
  return elapsedMs >= view.timings.settleMs ? undefined : 'it to live for a moment';
}
