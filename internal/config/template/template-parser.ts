import { didYouMean } from '../document/nearest.ts';
import type {
  Command,
  Operand,
  ParsedTemplate,
  Pipeline,
  TemplateBody,
  TemplateNode,
} from './template-ast.ts';
import { TemplateError, type TemplateSource } from './template-error.ts';
import { lexTemplate, type Segment } from './template-lexer.ts';
import { isMark, TokenReader } from './template-tokens.ts';

/** Deeper nesting than this is an accident. */
const MAX_DEPTH = 100;

/** Parses a Go text/template. Throws `TemplateError` and nothing else. */
export function parseTemplate(source: TemplateSource, functions: ReadonlySet<string>): ParsedTemplate {
  return new Parser(source, functions).parse();
}

const BLOCKS = ['if', 'with', 'range'] as const;
type BlockKind = (typeof BLOCKS)[number];

/** How a list of nodes ended. */
type Ending =
  | { readonly kind: 'eof'; readonly at: number }
  | { readonly kind: 'end'; readonly at: number }
  | { readonly kind: 'else'; readonly at: number; readonly rest: TokenReader };

class Parser {
  readonly #source: TemplateSource;
  readonly #functions: ReadonlySet<string>;
  readonly #segments: readonly Segment[];
  readonly #defines = new Map<string, TemplateBody>();
  #next = 0;
  #depth = 0;
  #ranges = 0;
  /** Variables in scope, innermost last. */
  #variables: string[] = ['$'];

  constructor(source: TemplateSource, functions: ReadonlySet<string>) {
    this.#source = source;
    this.#functions = functions;
    this.#segments = lexTemplate(source);
  }

  parse(): ParsedTemplate {
    const { nodes, ending } = this.#list(true);
    if (ending.kind !== 'eof') throw this.#error(ending.at, `{{${ending.kind}}} without a block to close`);
    return { source: this.#source, body: nodes, defines: this.#defines };
  }

  #error(at: number, reason: string, next?: string): TemplateError {
    return new TemplateError(this.#source, at, reason, next);
  }

  #list(top = false): { nodes: TemplateNode[]; ending: Ending } {
    this.#depth += 1;
    const nodes: TemplateNode[] = [];
    for (;;) {
      const segment = this.#segments[this.#next];
      if (!segment) {
        this.#depth -= 1;
        return { nodes, ending: { kind: 'eof', at: this.#source.text.length } };
      }
      if (this.#depth > MAX_DEPTH) throw this.#error(segment.offset, 'too many blocks inside each other');
      this.#next += 1;
      if (segment.kind === 'text') {
        nodes.push({ kind: 'text', text: segment.text, at: segment.offset });
        continue;
      }
      const reader = new TokenReader(segment.tokens, segment.offset);
      const word = reader.keyword();
      if (word === 'end' || word === 'else') {
        this.#depth -= 1;
        if (word === 'end') {
          this.#finish(reader);
          return { nodes, ending: { kind: 'end', at: segment.offset } };
        }
        return { nodes, ending: { kind: 'else', at: segment.offset, rest: reader } };
      }
      const node = this.#action(word, reader, segment.offset, top);
      if (node) nodes.push(node);
    }
  }

  #action(word: string | undefined, reader: TokenReader, at: number, top: boolean): TemplateNode | undefined {
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        return this.#block(word, reader, at);
      case 'template':
        return this.#call(reader, at);
      case 'block':
        return this.#blockDefinition(reader, at);
      case 'define':
        if (!top) throw this.#error(at, '{{define}} must stand at the top level, not inside a block');
        this.#definition(reader, at);
        return undefined;
      case 'break':
      case 'continue':
        if (this.#ranges === 0) throw this.#error(at, `{{${word}}} outside of {{range}}`);
        this.#finish(reader);
        return { kind: word, at };
      default:
        return { kind: 'action', pipe: this.#wholePipeline(reader, 'action'), at };
    }
  }

  #block(kind: BlockKind, reader: TokenReader, at: number): TemplateNode {
    const scope = this.#variables.length;
    const pipe = this.#wholePipeline(reader, kind);
    if (kind === 'range') this.#ranges += 1;
    const { nodes: body, ending } = this.#list();
    if (kind === 'range') this.#ranges -= 1;
    let otherwise: readonly TemplateNode[] = [];
    if (ending.kind === 'else') otherwise = this.#otherwise(kind, ending, at);
    else if (ending.kind === 'eof') throw this.#error(at, `{{${kind}}} without {{end}}`);
    this.#variables.length = scope;
    return { kind, pipe, body, otherwise, at };
  }

  #otherwise(
    kind: BlockKind,
    ending: Extract<Ending, { kind: 'else' }>,
    opened: number,
  ): readonly TemplateNode[] {
    const word = ending.rest.keyword();
    if (word !== undefined) {
      if (word !== kind || kind === 'range')
        throw this.#error(ending.at, `{{else ${word}}} does not fit {{${kind}}}`);
      this.#depth += 1;
      if (this.#depth > MAX_DEPTH) throw this.#error(ending.at, 'too many branches');
      const nested = this.#block(kind, ending.rest, ending.at);
      this.#depth -= 1;
      return [nested];
    }
    this.#finish(ending.rest);
    const { nodes, ending: last } = this.#list();
    if (last.kind === 'eof') throw this.#error(opened, `{{${kind}}} without {{end}}`);
    if (last.kind === 'else') throw this.#error(last.at, 'a second {{else}} in one block');
    return nodes;
  }

  #call(reader: TokenReader, at: number): TemplateNode {
    const name = this.#name(reader, 'template');
    const pipe = reader.peek() ? this.#wholePipeline(reader, 'template') : undefined;
    return { kind: 'template', name, pipe, at };
  }

  #blockDefinition(reader: TokenReader, at: number): TemplateNode {
    const name = this.#name(reader, 'block');
    const pipe = this.#wholePipeline(reader, 'block');
    this.#defineBody(name, 'block', at);
    return { kind: 'template', name, pipe, at };
  }

  #definition(reader: TokenReader, at: number): void {
    const name = this.#name(reader, 'define');
    this.#finish(reader);
    this.#defineBody(name, 'define', at);
  }

  #defineBody(name: string, word: string, at: number): void {
    const outer = { variables: this.#variables, ranges: this.#ranges };
    this.#variables = ['$'];
    this.#ranges = 0;
    const { nodes, ending } = this.#list();
    this.#variables = outer.variables;
    this.#ranges = outer.ranges;
    if (ending.kind !== 'end')
      throw this.#error(ending.kind === 'eof' ? at : ending.at, `{{${word} "${name}"}} without {{end}}`);
    if (isBlank(nodes) && this.#defines.has(name)) return;
    this.#defines.set(name, { source: this.#source, body: nodes });
  }

  #name(reader: TokenReader, word: string): string {
    const token = reader.take();
    if (token?.kind === 'literal' && typeof token.value === 'string') return token.value;
    throw this.#error(token?.at ?? reader.at, `{{${word}}} needs a name in quotes`);
  }

  #wholePipeline(reader: TokenReader, context: string): Pipeline {
    const pipe = this.#pipeline(reader, context);
    this.#finish(reader);
    return pipe;
  }

  #finish(reader: TokenReader): void {
    const extra = reader.peek();
    if (extra) throw this.#error(extra.at, 'unexpected text in the action');
  }

  #pipeline(reader: TokenReader, context: string): Pipeline {
    const at = reader.at;
    const head = this.#assignment(reader, context);
    const commands: Command[] = [];
    do {
      const start = reader.at;
      const operands: Operand[] = [];
      for (
        let token = reader.peek();
        token && !isMark(token, '|') && !isMark(token, ')');
        token = reader.peek()
      ) {
        operands.push(this.#operand(reader));
      }
      const [first, ...rest] = operands;
      if (!first)
        throw this.#error(
          start,
          commands.length > 0 ? 'nothing after "|"' : 'missing value: the action is empty',
        );
      commands.push({ operands: [first, ...rest], at: start });
    } while (reader.skip('|'));
    for (const name of head.declares ? head.variables : []) this.#variables.push(name);
    return { ...head, commands, at };
  }

  #assignment(reader: TokenReader, context: string): { variables: readonly string[]; declares: boolean } {
    const none = { variables: [], declares: false };
    const first = reader.peek();
    if (first?.kind !== 'variable' || first.name === '$') return none;
    const mark = reader.peek(1);
    if (mark && isMark(mark, ',') && context === 'range') {
      const second = reader.peek(2);
      const assign = reader.peek(3);
      if (second?.kind !== 'variable' || !assign)
        throw this.#error(mark.at, 'expected a second variable after ","');
      const declares = isMark(assign, ':=');
      if (!declares && !isMark(assign, '=')) throw this.#error(assign.at, 'expected ":=" or "="');
      reader.drop(4);
      return { variables: [first.name, second.name], declares };
    }
    if (!mark || !(isMark(mark, ':=') || isMark(mark, '='))) return none;
    const declares = isMark(mark, ':=');
    if (!declares && !this.#variables.includes(first.name))
      throw this.#undefinedVariable(first.name, first.at);
    reader.drop(2);
    return { variables: [first.name], declares };
  }

  #undefinedVariable(name: string, at: number): TemplateError {
    return this.#error(at, `undefined variable "${name}"${didYouMean(name, this.#variables)}`);
  }

  #operand(reader: TokenReader): Operand {
    let operand = this.#term(reader);
    for (let token = reader.peek(); token?.kind === 'field' && token.glued; token = reader.peek()) {
      if (operand.kind === 'literal' || operand.kind === 'nil' || operand.kind === 'function') {
        throw this.#error(token.at, 'this has no fields; put a space or parentheses before the dot');
      }
      reader.take();
      operand = { kind: 'field', of: operand, name: token.name, at: token.at };
    }
    const after = reader.peek();
    if (after?.glued && !isMark(after, ')') && !isMark(after, '|') && !isMark(after, '(')) {
      throw this.#error(after.at, 'a space is missing here');
    }
    return operand;
  }

  #term(reader: TokenReader): Operand {
    const token = reader.take();
    if (!token) throw this.#error(reader.at, 'missing value');
    const { at } = token;
    switch (token.kind) {
      case 'field':
        return { kind: 'field', of: { kind: 'dot', at }, name: token.name, at };
      case 'literal':
        return { kind: 'literal', value: token.value, at };
      case 'variable':
        if (!this.#variables.includes(token.name)) throw this.#undefinedVariable(token.name, at);
        return { kind: 'variable', name: token.name, at };
      case 'word':
        return this.#word(token.name, at);
      case 'mark':
        if (token.mark === '.') return { kind: 'dot', at };
        if (token.mark === '(') return this.#parenthesis(reader, at);
        throw this.#error(at, `unexpected "${token.mark}"`);
    }
  }

  #word(name: string, at: number): Operand {
    if (name === 'true' || name === 'false') return { kind: 'literal', value: name === 'true', at };
    if (name === 'nil') return { kind: 'nil', at };
    if (this.#functions.has(name)) return { kind: 'function', name, at };
    throw this.#error(
      at,
      `unknown function "${name}"${didYouMean(name, this.#functions)}`,
      `a value is written with a dot (.${name}); functions here: ${[...this.#functions].sort().join(', ')}`,
    );
  }

  #parenthesis(reader: TokenReader, at: number): Operand {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#error(at, 'too many parentheses inside each other');
    const pipe = this.#pipeline(reader, 'parenthesis');
    this.#depth -= 1;
    if (!reader.skip(')')) throw this.#error(at, '"(" without ")"');
    return { kind: 'pipeline', pipe, at };
  }
}

/** Nothing but white space. Source: Go keeps an earlier definition rather than replace it by an empty one. */
export function isBlank(nodes: readonly TemplateNode[]): boolean {
  return nodes.every((node) => node.kind === 'text' && node.text.trim() === '');
}
