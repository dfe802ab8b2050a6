import type { Operand, Pipeline, TemplateBody, TemplateNode } from './template-ast.ts';
import type { TemplateError, TemplateSource } from './template-error.ts';
import { unknownField, unknownTemplate } from './template-eval.ts';

/** What is provably the data of the whole template: the dot, and `$`. */
interface Roots {
  readonly dot: boolean;
  readonly dollar: boolean;
}

/**
 * Finds names that a template must not use, in every branch, without rendering it: fields of the data that do not
 * exist and templates that are not defined. Fields of values that only rendering knows are left to the renderer.
 */
export function checkTemplate(
  template: TemplateBody,
  templates: ReadonlyMap<string, TemplateBody>,
  fields: ReadonlySet<string>,
): readonly TemplateError[] {
  const check = new Check(templates, fields);
  check.visit(template, { dot: true, dollar: true });
  return check.errors;
}

class Check {
  readonly errors: TemplateError[] = [];
  readonly #templates: ReadonlyMap<string, TemplateBody>;
  readonly #fields: ReadonlySet<string>;
  readonly #seen = new Set<string>();

  constructor(templates: ReadonlyMap<string, TemplateBody>, fields: ReadonlySet<string>) {
    this.#templates = templates;
    this.#fields = fields;
  }

  visit(template: TemplateBody, roots: Roots): void {
    this.#nodes(template.body, roots, template.source);
  }

  #nodes(nodes: readonly TemplateNode[], roots: Roots, source: TemplateSource): void {
    for (const node of nodes) this.#node(node, roots, source);
  }

  #node(node: TemplateNode, roots: Roots, source: TemplateSource): void {
    switch (node.kind) {
      case 'text':
      case 'break':
      case 'continue':
        return;
      case 'action':
        this.#pipeline(node.pipe, roots, source);
        return;
      case 'template':
        this.#call(node, roots, source);
        return;
      case 'if':
      case 'with':
      case 'range':
        this.#pipeline(node.pipe, roots, source);
        this.#nodes(node.body, node.kind === 'if' ? roots : { ...roots, dot: false }, source);
        this.#nodes(node.otherwise, roots, source);
        return;
    }
  }

  #call(node: Extract<TemplateNode, { kind: 'template' }>, roots: Roots, source: TemplateSource): void {
    const target = this.#templates.get(node.name);
    if (!target) {
      this.errors.push(unknownTemplate(node.name, node.at, source, this.#templates));
      return;
    }
    if (node.pipe) this.#pipeline(node.pipe, roots, source);
    const isRoot = node.pipe !== undefined && this.#isRoot(node.pipe, roots);
    const id = `${isRoot} ${node.name}`;
    if (this.#seen.has(id)) return;
    this.#seen.add(id);
    this.visit(target, { dot: isRoot, dollar: isRoot });
  }

  #isRoot(pipe: Pipeline, roots: Roots): boolean {
    const [command, ...more] = pipe.commands;
    if (!command || more.length > 0 || command.operands.length > 1) return false;
    return this.#isRootOperand(command.operands[0], roots);
  }

  #isRootOperand(operand: Operand, roots: Roots): boolean {
    if (operand.kind === 'dot') return roots.dot;
    if (operand.kind === 'variable') return operand.name === '$' && roots.dollar;
    return operand.kind === 'pipeline' && this.#isRoot(operand.pipe, roots);
  }

  #pipeline(pipe: Pipeline, roots: Roots, source: TemplateSource): void {
    for (const command of pipe.commands) {
      for (const operand of command.operands) this.#operand(operand, roots, source);
    }
  }

  #operand(operand: Operand, roots: Roots, source: TemplateSource): void {
    if (operand.kind === 'pipeline') this.#pipeline(operand.pipe, roots, source);
    if (operand.kind !== 'field') return;
    this.#operand(operand.of, roots, source);
    if (this.#isRootOperand(operand.of, roots) && !this.#fields.has(operand.name)) {
      this.errors.push(unknownField(operand.name, operand.at, source, [...this.#fields]));
    }
  }
}
