import picocolors from 'picocolors';
import type { Environment } from '../../../internal/platform/paths.ts';

/** Colour only adds: every function is the identity when colour is off. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly name: (text: string) => string;
}

export function createStyle(colour: boolean): Style {
  const c = picocolors.createColors(colour);
  return { bold: c.bold, dim: c.dim, good: c.green, warn: c.yellow, bad: c.red, name: c.cyan };
}

/** Colour is for terminals that did not refuse it. Source: no-color.org; `FORCE_COLOR` as in Node. */
export function wantsColour(env: Environment, isTTY: boolean): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '') return env['FORCE_COLOR'] !== '0';
  return isTTY && env['TERM'] !== 'dumb';
}
