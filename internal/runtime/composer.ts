import type { AgentProfile, EnclosedRule, MarkedRule } from './profiles.ts';
import { isMenuLine, type Look, normalizeLine } from './screen.ts';

/** An agent's input box as it stands on the screen. */
export interface Composer {
  /** Index into the look's lines of its first line. */
  readonly index: number;
  /** What stands in it, lines joined by a newline; may be a placeholder. */
  readonly text: string;
  /** `unknown`: text that may be a placeholder or a draft. */
  readonly empty: 'yes' | 'no' | 'unknown';
}

/**
 * Finds the input box: by the profile's rule, else as the last visible line that starts with the session's prompt
 * prefix. A line of a menu is never one.
 */
export function findComposer(look: Look, profile: AgentProfile, prefix: string): Composer | undefined {
  const rule = profile.composer;
  switch (rule?.kind) {
    case 'marked':
      return findMarked(look, profile, rule);
    case 'enclosed':
      return findEnclosed(look, profile, rule);
    case undefined:
      return findPrefixed(look, profile, promptPrefix(prefix));
  }
}

/** A prompt prefix as it is compared: no-break spaces are spaces, no space at the ends. `''`: none. */
export function promptPrefix(prefix: string): string {
  return normalizeLine(prefix).trim();
}

/**
 * Whether a line shows the prompt: it starts with the prefix, or is the prefix without its space.
 * Source: Gas City `matchesPromptPrefix`; a menu entry is no prompt here.
 */
export function matchesPromptPrefix(line: string, prefix: string): boolean {
  const wanted = prefix.replaceAll('\u00a0', ' ').trimStart();
  if (wanted.trim() === '') return false;
  const seen = normalizeLine(line).trim();
  if (seen === wanted.trim()) return true;
  return seen.startsWith(wanted) && !isMenuLine(line);
}

function findMarked(look: Look, profile: AgentProfile, rule: MarkedRule): Composer | undefined {
  for (let index = look.lines.length - 1; index >= look.visibleFrom; index -= 1) {
    const line = look.lines[index] ?? '';
    const mark = rule.mark.exec(line)?.[0];
    if (mark === undefined || isMenuLine(line) || !hasRuleAbove(look, rule, index)) continue;
    const draft = draftLines(look, rule, index, mark.length);
    const below = countFilled(look.lines.slice(index + draft.length));
    return below > rule.maxBelow ? undefined : describe(look, profile, index, mark.length, draft);
  }
  return undefined;
}

function hasRuleAbove(look: Look, rule: MarkedRule, index: number): boolean {
  const { ruleAbove } = rule;
  if (!ruleAbove) return true;
  return look.lines.slice(Math.max(0, index - rule.ruleWithin), index).some((line) => ruleAbove.test(line));
}

function draftLines(look: Look, rule: MarkedRule, index: number, markWidth: number): string[] {
  const draft = [(look.lines[index] ?? '').slice(markWidth)];
  for (const line of look.lines.slice(index + 1)) {
    if (rule.end.test(line)) break;
    draft.push(line.slice(Math.min(markWidth, line.length - line.trimStart().length)));
  }
  return draft;
}

function findEnclosed(look: Look, profile: AgentProfile, rule: EnclosedRule): Composer | undefined {
  const bottom = look.lines.findLastIndex((line) => rule.bottom.test(line));
  if (bottom < 0 || countFilled(look.lines.slice(bottom + 1)) > rule.maxBelow) return undefined;
  const isOutside = (line: string) => (rule.top ? rule.top.test(line) : !rule.margin.test(line));
  const top = look.lines.slice(0, bottom).findLastIndex(isOutside);
  if (rule.top && top < 0) return undefined;
  const index = Math.max(top + 1, look.visibleFrom) + rule.headLines;
  const rows = look.lines.slice(index, bottom - rule.footLines);
  const margin = rows[0] === undefined ? undefined : rule.margin.exec(rows[0])?.[0];
  if (margin === undefined) return undefined;
  const draft = rows.map((line) => line.replace(rule.margin, ''));
  return describe(look, profile, index, margin.length, draft);
}

const countFilled = (lines: readonly string[]): number => lines.filter((line) => line !== '').length;

function findPrefixed(look: Look, profile: AgentProfile, prefix: string): Composer | undefined {
  if (prefix === '') return undefined;
  for (let index = look.lines.length - 1; index >= look.visibleFrom; index -= 1) {
    const line = look.lines[index] ?? '';
    const indent = line.length - line.trimStart().length;
    if (!line.startsWith(prefix, indent) || isMenuLine(line)) continue;
    const markWidth = indent + prefix.length;
    const space = line.charAt(markWidth) === ' ' ? 1 : 0;
    // A one-character prefix must stand alone: the terminal's metadata may have lost its trailing space.
    if (prefix.length === 1 && space === 0 && line.length > markWidth) continue;
    const text = line.slice(markWidth + space);
    // With more below it, and the cursor elsewhere, it is an earlier message and no input box.
    if (text.trim() !== '' && !isWhereTypingGoes(look, index)) return undefined;
    return describe(look, profile, index, markWidth + space, [text]);
  }
  return undefined;
}

function isWhereTypingGoes(look: Look, index: number): boolean {
  return look.cursor ? look.cursor.index === index : index === look.lines.length - 1;
}

function describe(
  look: Look,
  profile: AgentProfile,
  index: number,
  markWidth: number,
  draft: readonly string[],
): Composer {
  const text = draft.join('\n').trimEnd();
  return { index, text, empty: isEmpty(look, profile, index, markWidth, text) };
}

function isEmpty(
  look: Look,
  profile: AgentProfile,
  index: number,
  markWidth: number,
  text: string,
): Composer['empty'] {
  if (text.trim() === '') return 'yes';
  if (profile.placeholders.some((pattern) => pattern.test(text))) return 'yes';
  const { cursor } = look;
  if (!cursor || cursor.index !== index) return 'no';
  return cursor.column <= markWidth ? 'unknown' : 'no';
}
