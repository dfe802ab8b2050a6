import type { Token } from './template-lexer.ts';

/** Reads the tokens of one action in order. */
export class TokenReader {
  readonly #tokens: readonly Token[];
  readonly #end: number;
  #next = 0;

  constructor(tokens: readonly Token[], offset: number) {
    this.#tokens = tokens;
    this.#end = tokens.at(-1)?.at ?? offset;
  }

  /** Offset of the next token, else of the last one. */
  get at(): number {
    return this.peek()?.at ?? this.#end;
  }

  peek(ahead = 0): Token | undefined {
    return this.#tokens[this.#next + ahead];
  }

  take(): Token | undefined {
    const token = this.#tokens[this.#next];
    if (token) this.#next += 1;
    return token;
  }

  drop(count: number): void {
    this.#next += count;
  }

  skip(mark: '|' | ')'): boolean {
    const token = this.peek();
    if (!token || !isMark(token, mark)) return false;
    this.#next += 1;
    return true;
  }

  /** Takes a leading keyword, if there is one. */
  keyword(): string | undefined {
    const token = this.peek();
    if (token?.kind !== 'word' || !KEYWORDS.has(token.name)) return undefined;
    this.#next += 1;
    return token.name;
  }
}

const KEYWORDS = new Set([
  'if',
  'with',
  'range',
  'else',
  'end',
  'template',
  'block',
  'define',
  'break',
  'continue',
]);

export function isMark(token: Token, mark: string): boolean {
  return token.kind === 'mark' && token.mark === mark;
}
