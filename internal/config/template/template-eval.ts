import { messageOf } from '../../platform/errors.ts';
import { didYouMean } from '../document/nearest.ts';
import type { Command, Operand, Pipeline, TemplateBody, TemplateNode } from './template-ast.ts';
import { TemplateError, type TemplateSource } from './template-error.ts';
import {
  BUILTIN_FUNCTIONS,
  isTrue,
  isValueMap,
  SHORT_CIRCUIT_FUNCTIONS,
  type TemplateFunction,
  type TemplateValue,
  textOf,
} from './template-functions.ts';

/** A template that calls itself deeper than this never ends. */
const MAX_CALL_DEPTH = 50;
/** Blocks inside blocks, over all calls: keeps well away from the end of the stack. */
const MAX_BLOCK_DEPTH = 500;
/** Nodes that one rendering may visit. */
const MAX_STEPS = 200_000;

export interface RenderScope {
  readonly templates: ReadonlyMap<string, TemplateBody>;
  readonly functions: Readonly<Record<string, TemplateFunction>>;
}

/** Renders a body with `data` as dot. Throws `TemplateError` and nothing else. */
export function renderBody(template: TemplateBody, data: TemplateValue, scope: RenderScope): string {
  return new Renderer(scope).run(template, data, 0);
}

type Flow = 'on' | 'break' | 'continue';

interface Frame {
  readonly source: TemplateSource;
  readonly depth: number;
  readonly variables: { readonly name: string; value: TemplateValue }[];
}

class Renderer {
  readonly #scope: RenderScope;
  #out = '';
  #steps = 0;
  #blocks = 0;

  constructor(scope: RenderScope) {
    this.#scope = scope;
  }

  run(template: TemplateBody, data: TemplateValue, depth: number): string {
    const frame: Frame = { source: template.source, depth, variables: [{ name: '$', value: data }] };
    this.#nodes(template.body, data, frame);
    return this.#out;
  }

  #nodes(nodes: readonly TemplateNode[], dot: TemplateValue, frame: Frame): Flow {
    const outer = frame.variables.length;
    this.#blocks += 1;
    for (const node of nodes) {
      this.#steps += 1;
      if (this.#steps > MAX_STEPS || this.#blocks > MAX_BLOCK_DEPTH)
        throw new TemplateError(frame.source, node.at, 'the template does not come to an end');
      const flow = this.#node(node, dot, frame);
      if (flow !== 'on') {
        frame.variables.length = outer;
        this.#blocks -= 1;
        return flow;
      }
    }
    frame.variables.length = outer;
    this.#blocks -= 1;
    return 'on';
  }

  #node(node: TemplateNode, dot: TemplateValue, frame: Frame): Flow {
    switch (node.kind) {
      case 'text':
        this.#out += node.text;
        return 'on';
      case 'action': {
        const value = this.#pipeline(node.pipe, dot, frame);
        if (node.pipe.variables.length === 0) this.#out += textOf(value);
        return 'on';
      }
      case 'break':
      case 'continue':
        return node.kind;
      case 'template':
        this.#call(node, dot, frame);
        return 'on';
      case 'if':
      case 'with':
      case 'range': {
        const outer = frame.variables.length;
        const flow = node.kind === 'range' ? this.#range(node, dot, frame) : this.#choice(node, dot, frame);
        frame.variables.length = outer;
        return flow;
      }
    }
  }

  #choice(
    node: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>,
    dot: TemplateValue,
    frame: Frame,
  ): Flow {
    const value = this.#pipeline(node.pipe, dot, frame);
    if (!isTrue(value)) return this.#nodes(node.otherwise, dot, frame);
    return this.#nodes(node.body, node.kind === 'with' ? value : dot, frame);
  }

  #range(
    node: Extract<TemplateNode, { kind: 'if' | 'with' | 'range' }>,
    dot: TemplateValue,
    frame: Frame,
  ): Flow {
    const [first, second] = node.pipe.variables;
    const value = this.#pipeline({ ...node.pipe, variables: [] }, dot, frame);
    const pairs = this.#pairs(value, node.at, frame);
    if (pairs.length === 0) return this.#nodes(node.otherwise, dot, frame);
    const outer = frame.variables.length;
    for (const [key, item] of pairs) {
      if (node.pipe.declares) frame.variables.length = outer;
      if (first !== undefined) this.#set(first, second === undefined ? item : key, node.pipe.declares, frame);
      if (second !== undefined) this.#set(second, item, node.pipe.declares, frame);
      if (this.#nodes(node.body, item, frame) === 'break') break;
    }
    return 'on';
  }

  #pairs(
    value: TemplateValue,
    at: number,
    frame: Frame,
  ): readonly (readonly [TemplateValue, TemplateValue])[] {
    if (value === null || value === undefined) return [];
    if (Array.isArray(value)) return value.map((item: TemplateValue, index) => [index, item] as const);
    if (typeof value === 'object') return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    if (typeof value === 'number' && Number.isInteger(value) && value <= MAX_STEPS) {
      return Array.from({ length: Math.max(0, value) }, (_, index) => [index, index] as const);
    }
    throw new TemplateError(frame.source, at, `{{range}} cannot go over ${JSON.stringify(value)}`);
  }

  #call(node: Extract<TemplateNode, { kind: 'template' }>, dot: TemplateValue, frame: Frame): void {
    const target = this.#scope.templates.get(node.name);
    if (!target) throw unknownTemplate(node.name, node.at, frame.source, this.#scope.templates);
    if (frame.depth >= MAX_CALL_DEPTH) {
      throw new TemplateError(frame.source, node.at, `template "${node.name}" calls itself without end`);
    }
    const data = node.pipe ? this.#pipeline(node.pipe, dot, frame) : undefined;
    const inner: Frame = {
      source: target.source,
      depth: frame.depth + 1,
      variables: [{ name: '$', value: data }],
    };
    this.#nodes(target.body, data, inner);
  }

  #set(name: string, value: TemplateValue, declares: boolean, frame: Frame): void {
    const known = declares ? undefined : frame.variables.findLast((variable) => variable.name === name);
    if (known) known.value = value;
    else frame.variables.push({ name, value });
  }

  #pipeline(pipe: Pipeline, dot: TemplateValue, frame: Frame): TemplateValue {
    let value: TemplateValue;
    pipe.commands.forEach((command, index) => {
      value = this.#command(command, index === 0 ? [] : [value], dot, frame);
    });
    const [name] = pipe.variables;
    if (name !== undefined) this.#set(name, value, pipe.declares, frame);
    return value;
  }

  #command(
    command: Command,
    piped: readonly TemplateValue[],
    dot: TemplateValue,
    frame: Frame,
  ): TemplateValue {
    const [first, ...rest] = command.operands;
    if (first.kind !== 'function') {
      if (rest.length > 0 || piped.length > 0) {
        throw new TemplateError(
          frame.source,
          first.at,
          'this is a value, not a function: it takes no arguments',
        );
      }
      return this.#operand(first, dot, frame);
    }
    if (SHORT_CIRCUIT_FUNCTIONS.has(first.name)) {
      const parts = [
        ...rest.map((operand) => () => this.#operand(operand, dot, frame)),
        ...piped.map((value) => () => value),
      ];
      return shortCircuit(first.name, parts, first.at, frame.source);
    }
    const args = [...rest.map((operand) => this.#operand(operand, dot, frame)), ...piped];
    const work = this.#scope.functions[first.name] ?? BUILTIN_FUNCTIONS[first.name];
    if (!work)
      throw new TemplateError(frame.source, first.at, `function "${first.name}" is not available here`);
    try {
      return work(...args);
    } catch (error) {
      throw new TemplateError(frame.source, first.at, `${first.name} ${messageOf(error)}`);
    }
  }

  #operand(operand: Operand, dot: TemplateValue, frame: Frame): TemplateValue {
    switch (operand.kind) {
      case 'dot':
        return dot;
      case 'nil':
        return null;
      case 'literal':
        return operand.value;
      case 'variable':
        return frame.variables.findLast((variable) => variable.name === operand.name)?.value;
      case 'function':
        return this.#command({ operands: [operand], at: operand.at }, [], dot, frame);
      case 'pipeline':
        return this.#pipeline(operand.pipe, dot, frame);
      case 'field':
        return this.#field(this.#operand(operand.of, dot, frame), operand, frame);
    }
  }

  #field(owner: TemplateValue, operand: Extract<Operand, { kind: 'field' }>, frame: Frame): TemplateValue {
    if (!isValueMap(owner)) {
      throw new TemplateError(
        frame.source,
        operand.at,
        `".${operand.name}" of ${textOf(owner)}: only a map has fields`,
      );
    }
    if (Object.hasOwn(owner, operand.name)) return owner[operand.name];
    throw unknownField(operand.name, operand.at, frame.source, Object.keys(owner));
  }
}

function shortCircuit(
  name: string,
  parts: readonly (() => TemplateValue)[],
  at: number,
  source: TemplateSource,
): TemplateValue {
  if (parts.length === 0) throw new TemplateError(source, at, `${name} wants at least one value`);
  let value: TemplateValue;
  for (const part of parts) {
    value = part();
    if (isTrue(value) === (name === 'or')) return value;
  }
  return value;
}

/** The error for a name that the template may not use here. */
export function unknownField(
  name: string,
  at: number,
  source: TemplateSource,
  allowed: readonly string[],
): TemplateError {
  const names = [...allowed].sort();
  return new TemplateError(
    source,
    at,
    `unknown variable ".${name}"${didYouMean(name, names)}`,
    names.length === 0 ? 'no variables are allowed here' : `allowed here: ${names.join(', ')}`,
  );
}

export function unknownTemplate(
  name: string,
  at: number,
  source: TemplateSource,
  templates: ReadonlyMap<string, TemplateBody>,
): TemplateError {
  const names = [...templates.keys()].sort();
  return new TemplateError(
    source,
    at,
    `no template "${name}"${didYouMean(name, names)}`,
    names.length === 0 ? 'no templates are defined' : `defined: ${names.join(', ')}`,
  );
}
