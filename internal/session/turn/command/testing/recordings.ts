import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OutputParser, ProgramEffect } from '../dialect.ts';
import { textOfParts } from '../recorded.ts';

const DIR = new URL('../testdata/', import.meta.url).pathname;

export const CLAUDE_KEY = '4a20b88c-3e59-4d97-a050-2d07db8a32ce';
export const CODEX_KEY = '01a22c1a-b99b-7ee2-8927-b1b8bb19da7b';

/** Lines that a real program printed or kept (Claude Code 2.1.197, Codex 0.171.0). */
export function recordedLines(name: string): readonly string[] {
  return readFileSync(join(DIR, name), 'utf8').trim().split('\n');
}

export function parseAll(parser: OutputParser, lines: readonly string[]): readonly ProgramEffect[] {
  return lines.flatMap((line) => parser.line(line));
}

/** One short line per effect. */
export function shortly(effects: readonly ProgramEffect[]): readonly string[] {
  return effects.map((effect) => {
    switch (effect.kind) {
      case 'call':
        return `call ${effect.tool} ${JSON.stringify(effect.args)}`;
      case 'result':
        return `${effect.isError ? 'error' : 'result'} ${textOfParts(effect.content).trim()}`;
      case 'text':
      case 'delta':
        return `${effect.kind} ${effect.text}`;
      case 'usage':
        return `usage ${effect.model} ${effect.input} ${effect.output}`;
      case 'denied':
        return `denied ${effect.calls.map((call) => call.tool).join()}`;
      case 'end':
        return `end${effect.lost ? ' lost' : ''} ${effect.failure ?? ''}`.trim();
      default:
        return effect.kind;
    }
  });
}

/** A home with the recorded conversations of both programs in it, those of Claude Code under `work`. */
export function homeWithRecordings(home: string, work: string): void {
  const claude = join(home, '.claude/projects', work.replace(/[^A-Za-z0-9]/g, '-'));
  const codex = join(home, '.codex/sessions/2026/11/30');
  mkdirSync(claude, { recursive: true });
  mkdirSync(codex, { recursive: true });
  copyFileSync(join(DIR, 'claude-three-turns.transcript.jsonl'), join(claude, `${CLAUDE_KEY}.jsonl`));
  copyFileSync(
    join(DIR, 'codex-two-turns.rollout.jsonl'),
    join(codex, `rollout-2026-11-30T10-57-58-${CODEX_KEY}.jsonl`),
  );
}
