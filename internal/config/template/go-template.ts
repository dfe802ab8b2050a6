import type { ParsedTemplate, TemplateBody } from './template-ast.ts';
import { checkTemplate } from './template-check.ts';
import type { TemplateError, TemplateSource } from './template-error.ts';
import { renderBody } from './template-eval.ts';
import {
  BUILTIN_FUNCTIONS,
  SHORT_CIRCUIT_FUNCTIONS,
  type TemplateFunction,
  type TemplateValue,
} from './template-functions.ts';
import { isBlank, parseTemplate } from './template-parser.ts';

/**
 * The Go text/template language as prompts, set-up commands, work dirs and session names use it, but strict: a name
 * that does not exist is an error with its place, never an empty string.
 */
export class TemplateSet {
  readonly #functions: Readonly<Record<string, TemplateFunction>>;
  readonly #names: ReadonlySet<string>;
  readonly #templates = new Map<string, TemplateBody>();

  /** @param base a set with the same functions, whose templates this one begins with. */
  constructor(functions: Readonly<Record<string, TemplateFunction>> = {}, base?: TemplateSet) {
    if (base) for (const [name, body] of base.#templates) this.#templates.set(name, body);
    this.#functions = functions;
    this.#names = new Set([
      ...Object.keys(BUILTIN_FUNCTIONS),
      ...SHORT_CIRCUIT_FUNCTIONS,
      ...Object.keys(functions),
    ]);
  }

  /**
   * Parses a text and takes over what it defines; later definitions win over earlier ones. The text itself can be called
   * by the source's name unless something is defined under it. Throws `TemplateError`.
   */
  add(source: TemplateSource): ParsedTemplate {
    return this.adopt(this.parse(source));
  }

  /** Throws `TemplateError`. */
  parse(source: TemplateSource): ParsedTemplate {
    return parseTemplate(source, this.#names);
  }

  /** Takes over what a set with the same functions has parsed. */
  adopt(parsed: ParsedTemplate): ParsedTemplate {
    const { source } = parsed;
    for (const [name, body] of parsed.defines) this.#define(name, body);
    const isNamed = source.name !== '' && !this.#templates.has(source.name);
    if (isNamed && !isBlank(parsed.body)) this.#templates.set(source.name, parsed);
    return parsed;
  }

  has(name: string): boolean {
    return this.#templates.has(name);
  }

  /** Names of everything that `{{template}}` can call here. */
  names(): readonly string[] {
    return [...this.#templates.keys()];
  }

  get(name: string): TemplateBody | undefined {
    return this.#templates.get(name);
  }

  /** Names that do not exist, in every branch. */
  check(template: TemplateBody, fields: ReadonlySet<string>): readonly TemplateError[] {
    return checkTemplate(template, this.#templates, fields);
  }

  /** Throws `TemplateError`. */
  render(template: TemplateBody, data: TemplateValue): string {
    return renderBody(template, data, { templates: this.#templates, functions: this.#functions });
  }

  #define(name: string, body: TemplateBody): void {
    if (isBlank(body.body) && this.#templates.has(name)) return;
    this.#templates.set(name, body);
  }
}

/** Renders one stand-alone text, such as a set-up command. `file` is what errors call it. Throws `TemplateError`. */
export function renderTemplate(text: string, data: TemplateValue, file: string): string {
  if (!text.includes('{{')) return text;
  const set = new TemplateSet();
  return set.render(set.add({ name: '', text, file }), data);
}
