import { GcError } from '../platform/errors.ts';
import { anything, globMatches, oneCommand } from './rule-glob.ts';

export type RuleEffect = 'allow' | 'deny';
/** Where a rule holds. `session`: for one life of its conversation; `project`: in one folder; `always`: for this user. */
export type RuleScope = 'session' | 'project' | 'city' | 'always';

/** What a rule says. */
export interface RuleTerms {
  readonly effect: RuleEffect;
  readonly scope: RuleScope;
  /** Only there; absent: everywhere in its scope. Qualified names. */
  readonly rig?: string;
  readonly agent?: string;
  readonly session?: string;
  /** Absolute, of a `project` rule. */
  readonly project?: string;
  /** The tool's name as the agent says it; `*`: any. */
  readonly tool: string;
  /** What the input must be; `*` stands for any run of characters. Absent: any. */
  readonly input?: string;
}

/** A standing answer. */
export interface SaidRule extends RuleTerms {
  readonly id: string;
  /** Who made it, RFC 3339 when. */
  readonly by: string;
  readonly at: string;
}

/** A standing answer, with what it is bound to. */
export interface Rule extends SaidRule {
  /** Of a `session` rule: the record, and the conversation in it. */
  readonly bound?: { readonly sessionId: string; readonly epoch: number };
}

/** Of what is asked, everything that a rule may look at. */
export interface RuleQuestion {
  readonly sessionId: string;
  readonly epoch: number;
  /** Every name that the session goes by. */
  readonly names: readonly string[];
  readonly agent: string;
  readonly rig: string;
  /** Its folder as it is named, and with links followed. */
  readonly workDirs: readonly string[];
  readonly tool: string;
  readonly input: string;
  /** `false`: the input goes on where it could not be seen. */
  readonly isWhole: boolean;
}

export type RuleVerdict = { readonly kind: 'none' } | { readonly kind: RuleEffect; readonly rule: Rule };

/**
 * What the rules say: a denial counts before any permission, and of several that agree the most exact one is named. What
 * could not be seen whole is allowed only by rules that do not look at it, and only when no denial does. Pure.
 */
export function decideByRules(question: RuleQuestion, rules: readonly Rule[]): RuleVerdict {
  const near = rules.filter((rule) => isAbout(rule, question));
  const denial = mostExact(near.filter((rule) => rule.effect === 'deny' && deniesInput(rule, question)));
  if (denial) return { kind: 'deny', rule: denial };
  const isGuarded = near.some((rule) => rule.effect === 'deny' && rule.input !== undefined);
  if (!question.isWhole && isGuarded) return { kind: 'none' };
  const permission = mostExact(near.filter((rule) => rule.effect === 'allow' && allowsInput(rule, question)));
  return permission ? { kind: 'allow', rule: permission } : { kind: 'none' };
}

function isAbout(rule: Rule, question: RuleQuestion): boolean {
  if (question.tool === '' || !globMatches(rule.tool.toLowerCase(), question.tool.toLowerCase(), anything))
    return false;
  if (rule.rig !== undefined && rule.rig !== question.rig) return false;
  if (rule.agent !== undefined && rule.agent !== question.agent) return false;
  if (rule.scope === 'project' && !question.workDirs.some((dir) => isInside(dir, rule.project ?? '')))
    return false;
  if (rule.scope === 'session') {
    return rule.bound?.sessionId === question.sessionId && rule.bound.epoch === question.epoch;
  }
  return rule.session === undefined || question.names.includes(rule.session);
}

function isInside(dir: string, project: string): boolean {
  if (project === '' || dir === '') return false;
  const base = project.endsWith('/') ? project : `${project}/`;
  return dir === project || `${dir}/`.startsWith(base);
}

/** A screen breaks a line where it has no room: a denial is looked for in the line as it may have been, too. */
function deniesInput({ input: pattern }: Rule, { input, isWhole }: RuleQuestion): boolean {
  if (pattern === undefined) return true;
  const unbroken = isWhole ? [] : [input.replaceAll('\n', '')];
  return [input, input.replaceAll('\n', ' '), ...unbroken].some((text) =>
    globMatches(pattern, text, anything),
  );
}

function allowsInput(rule: Rule, { input, isWhole }: RuleQuestion): boolean {
  if (rule.input === undefined) return true;
  return isWhole && globMatches(rule.input, input, oneCommand);
}

function mostExact(rules: readonly Rule[]): Rule | undefined {
  return rules.toSorted((a, b) => compare(exactness(b), exactness(a)))[0];
}

/** The first difference decides. */
function exactness(rule: Rule): readonly number[] {
  return [
    rule.scope === 'session' || rule.session !== undefined ? 1 : 0,
    rule.agent === undefined ? 0 : 1,
    rule.project?.length ?? 0,
    rule.rig === undefined ? 0 : 1,
    rule.input?.replace(/(?<!\\)\*/g, '').length ?? -1,
    rule.tool === '*' ? 0 : 1,
  ];
}

function compare(a: readonly number[], b: readonly number[]): number {
  const place = a.findIndex((value, index) => value !== b[index]);
  return place < 0 ? 0 : (a[place] ?? 0) - (b[place] ?? 0);
}

const MAX_PATTERN_LENGTH = 2_000;
const CONTROL = /[\p{Cc}]/u;

/** Of a rule that somebody wants, before anything is looked up. @throws GcError `invalid-rule` */
export function checkRule(rule: Pick<Rule, 'scope' | 'tool' | 'input' | 'session' | 'project'>): void {
  const problem = problemOf(rule);
  if (problem !== undefined) throw new GcError('invalid-rule', problem, { next: 'gc rule allow --help' });
}

function problemOf(rule: Pick<Rule, 'scope' | 'tool' | 'input' | 'session' | 'project'>): string | undefined {
  const { tool, input, scope, session, project } = rule;
  if (tool.trim() === '') return 'a rule names a tool; * means any';
  if (CONTROL.test(tool)) return "a tool's name has no control characters";
  if (tool.length > MAX_PATTERN_LENGTH || (input?.length ?? 0) > MAX_PATTERN_LENGTH) {
    return `a rule's texts have at most ${MAX_PATTERN_LENGTH} characters`;
  }
  if (input === '') return 'the input of a rule is not empty; without one it is about any input';
  if (scope === 'session' && session === undefined) return 'a rule for a session names the session';
  if (scope === 'project' && !project?.startsWith('/')) return 'a rule for a project names its folder';
  if (scope !== 'project' && project !== undefined) return 'only a rule for a project names a folder';
  return undefined;
}
