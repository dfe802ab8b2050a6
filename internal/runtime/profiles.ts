import { type DialogRule, dialogRulesFor } from './dialog.ts';

/**
 * What the terminal algorithm knows about an agent program: data, one entry per preset kind, taken from what the
 * programs draw (Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33, pi 0.73.1).
 */
export interface AgentProfile {
  readonly kind: string;
  /**
   * Between a paste and its Enter, milliseconds: above the window in which the program takes Enter for a part of the
   * paste (Codex about 120 ms, Claude Code up to a second on a busy machine; measured 0 to 400 ms here).
   * `undefined`: decided by what the terminal tells, see `submitGapMs`.
   */
  readonly submitGapMs: number | undefined;
  /** How its input box is found; `undefined`: by the session's prompt prefix. */
  readonly composer: ComposerRule | undefined;
  /** A visible line that says: still loading, the input box does not count yet. */
  readonly splash: readonly RegExp[];
  /** A line in the few above the input box that says: at work. */
  readonly busyStatus: readonly RegExp[];
  /** A line below the input box that says: at work. */
  readonly busyFooter: readonly RegExp[];
  /** Texts that an empty input box shows. */
  readonly placeholders: readonly RegExp[];
  /** Deletes what stands before the cursor in the input box, one line of a draft at a time; repeated. */
  readonly clearLineKeys: readonly string[];
  readonly dialogs: readonly DialogRule[];
}

type ComposerRule = MarkedRule | EnclosedRule;

/** A mark stands before the draft. */
export interface MarkedRule {
  readonly kind: 'marked';
  /** Matches the start of the input box's first line, the mark and the space behind it. */
  readonly mark: RegExp;
  /** A line like this must stand among the `ruleWithin` lines above. */
  readonly ruleAbove: RegExp | undefined;
  readonly ruleWithin: number;
  /** The first line below that is no longer a part of the draft. */
  readonly end: RegExp;
  /** More lines than this below the draft mean that it is not the input box but an earlier message. */
  readonly maxBelow: number;
}

/** Lines enclose the draft, and no mark stands before it. */
export interface EnclosedRule {
  readonly kind: 'enclosed';
  /** The line below; the last one on the screen counts. */
  readonly bottom: RegExp;
  /** Matches the margin of every line that belongs to it. */
  readonly margin: RegExp;
  /** The line above, where it is not a line without the margin. */
  readonly top: RegExp | undefined;
  /** Lines at its beginning and its end that are no part of the draft. */
  readonly headLines: number;
  readonly footLines: number;
  readonly maxBelow: number;
}

const RULE = /^─{10,}/;
/** `✻ Pondering… (3s · ↓ 777 tokens)`; a finished turn (`✻ Baked for 3s`) has no ellipsis. */
const CLAUDE_STATUS = /^[·✢✳✶✻✽*∗]\s\S.*…(\s*\(.*\))?$/u;
const CLEAR_LINE = ['C-u', 'BSpace'] as const;

const GENERIC: AgentProfile = {
  kind: '',
  submitGapMs: undefined,
  composer: undefined,
  splash: [],
  busyStatus: [
    /\(.*\besc to interrupt\b.*\)$/i,
    /\besc to cancel, \d+/i,
    /^\s*Press Esc or Ctrl\+C to cancel/,
    /\[current working directory /,
  ],
  busyFooter: [/(^\s*|[·(]\s*)esc to interrupt\b/i],
  placeholders: [],
  clearLineKeys: CLEAR_LINE,
  dialogs: dialogRulesFor(''),
};

const PROFILES: Readonly<Record<string, AgentProfile>> = {
  claude: {
    ...GENERIC,
    kind: 'claude',
    submitGapMs: 500,
    composer: { kind: 'marked', mark: /^❯(?: |$)/, ruleAbove: RULE, ruleWithin: 1, end: RULE, maxBelow: 30 },
    busyStatus: [CLAUDE_STATUS, /\(.*\besc to interrupt\b.*\)$/i],
    placeholders: [/^Try "/, /^Press up to edit queued messages/],
    dialogs: dialogRulesFor('claude'),
  },
  codex: {
    ...GENERIC,
    kind: 'codex',
    submitGapMs: 300,
    composer: {
      kind: 'marked',
      mark: /^›(?: |$)/,
      ruleAbove: undefined,
      ruleWithin: 0,
      end: /^\S|^$/,
      maxBelow: 4,
    },
    splash: [/^\s+loading$/, /[\u2800-\u28ff]{5}/],
    busyStatus: [/^[•◦]\s.*\besc to interrupt\b/i],
    placeholders: [
      /^Ask Codex to do anything/,
      /^(Explain this codebase|Summarize recent commits|Implement \{feature\}|Find and fix a bug in @filename|Write tests for @filename|Improve documentation in @filename|Run \/review on my current changes|Use \/skills to list available skills)$/,
    ],
    dialogs: dialogRulesFor('codex'),
  },
  gemini: {
    ...GENERIC,
    kind: 'gemini',
    submitGapMs: 500,
    composer: {
      kind: 'marked',
      mark: /^ [>*!](?: {1,3}|$)/,
      ruleAbove: RULE,
      ruleWithin: 3,
      end: /^ {0,2}\S|^$|^[▀─]/,
      maxBelow: 8,
    },
    busyStatus: [/\(esc to cancel, \d+/, ...GENERIC.busyStatus],
    placeholders: [/^Type your message/],
    dialogs: dialogRulesFor('gemini'),
  },
  opencode: {
    ...GENERIC,
    kind: 'opencode',
    submitGapMs: 500,
    composer: {
      kind: 'enclosed',
      bottom: /^\s*╹▀{10,}/u,
      margin: /^\s*┃(?: {1,2}|$)/u,
      top: undefined,
      headLines: 1,
      footLines: 2,
      maxBelow: 6,
    },
    busyFooter: [/^\s*[⬝■▪◼]*\s*esc (?:again to )?interrupt\b/u],
    placeholders: [/^Ask anything…/],
  },
  pi: {
    ...GENERIC,
    kind: 'pi',
    submitGapMs: 500,
    composer: {
      kind: 'enclosed',
      bottom: RULE,
      margin: /^/,
      top: RULE,
      headLines: 0,
      footLines: 0,
      maxBelow: 6,
    },
    busyStatus: [/^\s*[\u2800-\u28ff]\s\S.*\.\.\.(\s*\(.*\))?$/u],
  },
};

/** The profile of a preset kind; an unknown kind has the generic one. */
export function profileOf(kind: string): AgentProfile {
  return PROFILES[kind.trim()] ?? GENERIC;
}

/** The kind that a running session tells: its GC_PROVIDER, else an agent program among its processes, else `''`. */
export function profileKindOf(gcProvider: string, processNames: readonly string[] | undefined): string {
  const named = gcProvider.trim();
  if (named !== '') return named;
  return Object.keys(PROFILES).find((kind) => processNames?.includes(kind)) ?? '';
}

/** A program in raw mode without bracketed paste can tell typed from pasted by time alone. */
const UNFRAMED_GAP_MS = 1_200;
const FRAMED_GAP_MS = 500;
/** The terminal itself collects the line: there is no burst to tell. */
const CANONICAL_GAP_MS = 100;

/** How long to wait between the text and its Enter, milliseconds. */
export function submitGapMs(
  profile: AgentProfile,
  terminal: { readonly bracketedPaste: boolean | undefined; readonly canonical: boolean },
): number {
  if (profile.submitGapMs !== undefined) return profile.submitGapMs;
  if (terminal.canonical) return CANONICAL_GAP_MS;
  return terminal.bracketedPaste ? FRAMED_GAP_MS : UNFRAMED_GAP_MS;
}
