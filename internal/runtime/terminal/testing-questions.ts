import type { ScriptedQuestion } from './scripted-agent.ts';

/** Start-up questions as Claude Code draws them. */
export const TRUST: ScriptedQuestion = {
  text: [' Accessing workspace:', '', ' Quick safety check: Is this a project you trust?'],
  options: ['Yes, I trust this folder', 'No, exit'],
  marked: 0,
  right: 0,
};
export const API_KEY: ScriptedQuestion = {
  text: ['  Detected a custom API key in your environment', '', '  Do you want to use this API key?'],
  options: ['Yes', 'No (recommended)'],
  marked: 1,
  right: 0,
};
export const BYPASS: ScriptedQuestion = {
  text: ['  WARNING: Claude Code running in Bypass Permissions mode', '', '  https://code.claude.com'],
  options: ['No, exit', 'Yes, I accept'],
  marked: 0,
  right: 1,
};
