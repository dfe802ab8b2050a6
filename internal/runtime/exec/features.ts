/**
 * What a script says about itself, asked once: one word per line, a value behind a space. A script of the published
 * protocol does not know the question and has none of it.
 */
export interface Features {
  /**
   * Its sessions are terminals that we drive: `start` returns as soon as the terminal exists, `paste` types a text
   * without submitting it, and everything else of a start and of a message is done here. Otherwise it does both itself.
   */
  readonly terminal: boolean;
  /** `pre_start` and set-up commands run where the agent runs: by the script's `start`, and by its `run`. */
  readonly inside: boolean;
  /** It answers `observe`. Believed only when it says so: a script may answer anything to words that it does not know. */
  readonly observe: boolean;
  /** How a person leaves its terminal: `Ctrl-a d`; `''`: it does not say. */
  readonly leave: string;
}

export const NO_FEATURES: Features = { terminal: false, inside: false, observe: false, leave: '' };

/** Words that this version does not know are for a later one. */
export function parseFeatures(text: string): Features {
  const lines = text.split('\n').map((line) => line.trim());
  const leave = lines.find((line) => line.startsWith('leave '))?.slice('leave '.length) ?? '';
  const says = (word: string) => lines.includes(word);
  return {
    terminal: says('terminal'),
    inside: says('inside'),
    observe: says('observe'),
    leave: leave.trim(),
  };
}
