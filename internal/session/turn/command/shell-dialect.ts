import type { Dialect, OutputParser } from './dialect.ts';
import { wellFormed } from './lenient-json.ts';

/** The answer is held until the program has ended, and must fit into one record. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/**
 * Any program: it gets the turn's text on stdin, and what it prints is the answer. It remembers nothing between turns, so a
 * turn that was cut is run again under the same `GC_EXECUTION_ID`.
 */
export const shellDialect: Dialect = {
  kind: 'shell',
  version: '1',
  forkSafe: true,
  maxOutputBytes: MAX_ANSWER_BYTES,
  acceptsEmptyPrompt: true,
  argv: (args) => args,
  parser: () => shellParser(),
};

function shellParser(): OutputParser {
  const lines: string[] = [];
  return {
    line: (text) => {
      const line = wellFormed(text);
      lines.push(line);
      return [{ kind: 'delta', text: `${line}\n` }];
    },
    exit: (code) => {
      if (code !== 0) return [];
      const text = lines.join('\n');
      return [...(text === '' ? [] : [{ kind: 'text' as const, at: '', text }]), { kind: 'end' as const }];
    },
  };
}
