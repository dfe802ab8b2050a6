import { isFields } from '../../platform/fields.ts';
import { HANDOFF_LINE, isOwnLine, PRIME_LINE, turnLine } from './hook-lines.ts';

const command = (line: string) => ({ type: 'command', command: line });

/**
 * What every Claude Code of a city is started with, as JSON. The hook entries have no `matcher`: entries of other settings
 * replace those with the same one, and an agent that lost its first hook would never learn what it is for.
 * Source: Gas City's Claude settings, with lines that start nothing when there is nothing to say.
 */
export const CLAUDE_SETTINGS: string = JSON.stringify({
  skipDangerousModePermissionPrompt: true,
  editorMode: 'normal',
  hooks: {
    SessionStart: [{ hooks: [command(PRIME_LINE)] }],
    PreCompact: [{ hooks: [command(HANDOFF_LINE)] }],
    UserPromptSubmit: [
      { hooks: [command(turnLine('nudge drain --inject')), command(turnLine('mail check --inject'))] },
    ],
    Stop: [{ hooks: [command(turnLine('hook --inject'))] }],
  },
});

/**
 * Settings without the hooks that are ours, in whatever spelling, so that ours can be laid under them again.
 * @throws SyntaxError when it is not JSON
 */
export function withoutOwnHooks(text: string): string {
  const settings: unknown = JSON.parse(text);
  if (!isFields(settings) || !isFields(settings['hooks'])) return text;
  const hooks: [string, unknown][] = [];
  for (const [category, entries] of Object.entries(settings['hooks'])) {
    if (!Array.isArray(entries)) hooks.push([category, entries]);
    else {
      const kept = entries.flatMap(foreignPart);
      if (kept.length > 0) hooks.push([category, kept]);
    }
  }
  return JSON.stringify({ ...settings, hooks: Object.fromEntries(hooks) });
}

/** An entry that held nothing but ours is gone. */
function foreignPart(entry: unknown): readonly unknown[] {
  if (!isFields(entry)) return [entry];
  if (isOwn(entry)) return [];
  const inner = entry['hooks'];
  if (!Array.isArray(inner)) return [entry];
  const kept = inner.filter((hook) => !isFields(hook) || !isOwn(hook));
  if (kept.length === inner.length) return [entry];
  return kept.length === 0 ? [] : [{ ...entry, hooks: kept }];
}

function isOwn(hook: Readonly<Record<string, unknown>>): boolean {
  const line = hook['command'];
  return typeof line === 'string' && isOwnLine(line);
}
