/** What a program can do as an agent of a city, in a terminal. */
export interface ProgramAbilities {
  /** How it takes its first prompt: with its command, or typed once it is ready. */
  readonly start: 'argument' | 'typed';
  /** Takes messages of any size and any number of lines, each once. */
  readonly nudge: boolean;
  /** Asks before it acts, and its question can be read and answered. `false`: it never asks. */
  readonly asks: boolean;
  /** Writes down its conversation where `gc session logs` reads it. */
  readonly transcript: boolean;
  readonly sleep: boolean;
  /** Goes on with its conversation in its next life. `given-key`: by a key that we choose; `own-key`: by its own. */
  readonly resume: 'given-key' | 'own-key' | 'no';
  /** Writes down how many tokens its conversation takes. */
  readonly tokens: boolean;
  /** Where a usage limit of its account is seen. */
  readonly limits: 'transcript' | 'screen';
}

/** Judged by runs of the real programs: Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33, pi 0.73.1. */
export const PROGRAM_ABILITIES: Readonly<Record<string, ProgramAbilities>> = {
  claude: program({ start: 'argument', resume: 'given-key', limits: 'transcript' }),
  codex: program({ start: 'argument', resume: 'own-key', limits: 'transcript' }),
  gemini: program({ start: 'argument', resume: 'own-key', limits: 'screen' }),
  opencode: program({ start: 'typed', resume: 'own-key', limits: 'screen' }),
  pi: program({ start: 'argument', resume: 'own-key', limits: 'transcript', asks: false }),
};

type Told = Pick<ProgramAbilities, 'start' | 'resume' | 'limits'> & Partial<ProgramAbilities>;

function program(told: Told): ProgramAbilities {
  return { nudge: true, asks: true, transcript: true, sleep: true, tokens: true, ...told };
}
