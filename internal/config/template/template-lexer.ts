import { TemplateError, type TemplateSource } from './template-error.ts';

/** A piece of text between actions, or the inside of one action. */
export type Segment =
  | { readonly kind: 'text'; readonly text: string; readonly offset: number }
  | { readonly kind: 'action'; readonly tokens: readonly Token[]; readonly offset: number };

export type Token =
  | { readonly kind: 'field'; readonly name: string; readonly at: number; readonly glued: boolean }
  | { readonly kind: 'variable'; readonly name: string; readonly at: number; readonly glued: boolean }
  | { readonly kind: 'word'; readonly name: string; readonly at: number; readonly glued: boolean }
  | {
      readonly kind: 'literal';
      readonly value: string | number;
      readonly at: number;
      readonly glued: boolean;
    }
  | {
      readonly kind: 'mark';
      readonly mark: '.' | '|' | '(' | ')' | ':=' | '=' | ',';
      readonly at: number;
      readonly glued: boolean;
    };

const OPEN = '{{';
const CLOSE = '}}';
const LEADING_SPACE = /^[ \t\r\n]+/;
const TRAILING_SPACE = /[ \t\r\n]+$/;

/** Splits a Go text/template into texts and tokenised actions; trim markers and comments are resolved here. */
export function lexTemplate(source: TemplateSource): readonly Segment[] {
  const { text } = source;
  const segments: Segment[] = [];
  let at = 0;
  let trimNext = false;
  for (;;) {
    const open = text.indexOf(OPEN, at);
    let piece = text.slice(at, open === -1 ? text.length : open);
    if (trimNext) piece = piece.replace(LEADING_SPACE, '');
    if (open === -1) {
      if (piece !== '') segments.push({ kind: 'text', text: piece, offset: at });
      return segments;
    }
    let inside = open + OPEN.length;
    if (/^-[ \t\r\n]/.test(text.slice(inside, inside + 2))) {
      piece = piece.replace(TRAILING_SPACE, '');
      inside += 1;
    }
    if (piece !== '') segments.push({ kind: 'text', text: piece, offset: at });
    const comment = /^[ \t\r\n]*\/\*/.exec(text.slice(inside, inside + 200));
    const end = comment ? endOfComment(source, open, inside) : undefined;
    if (end) {
      at = end.at;
      trimNext = end.trim;
      continue;
    }
    const action = lexAction(source, open, inside);
    segments.push({ kind: 'action', tokens: action.tokens, offset: open });
    at = action.at;
    trimNext = action.trim;
  }
}

interface ActionEnd {
  readonly at: number;
  readonly trim: boolean;
}

function endOfComment(source: TemplateSource, open: number, inside: number): ActionEnd {
  const close = source.text.indexOf('*/', inside);
  if (close === -1) throw new TemplateError(source, open, 'unclosed comment');
  const end = /^(\s+-)?\s*\}\}/.exec(source.text.slice(close + 2, close + 202));
  if (!end) throw new TemplateError(source, open, 'a comment must fill its action: {{/* ... */}}');
  return { at: close + 2 + end[0].length, trim: end[1] !== undefined };
}

const TOKEN =
  /(?<space>[ \t\r\n]+)|(?<field>\.[\p{L}_][\p{L}\p{Nd}_]*)|(?<variable>\$[\p{L}\p{Nd}_]*)|(?<number>[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))|(?<word>[\p{L}_][\p{L}\p{Nd}_]*)|(?<raw>`[^`]*`)|(?<quoted>"(?:[^"\\\n]|\\.)*")|(?<rune>'(?:[^'\\\n]|\\.)+')|(?<mark>:=|[.|()=,])/uy;

function lexAction(
  source: TemplateSource,
  open: number,
  inside: number,
): ActionEnd & { readonly tokens: readonly Token[] } {
  const { text } = source;
  const tokens: Token[] = [];
  let at = inside;
  let glued = false;
  for (;;) {
    const trimmed = /^-\}\}/.test(text.slice(at, at + 3)) && !glued;
    if (trimmed) return { tokens, at: at + 3, trim: true };
    if (text.startsWith(CLOSE, at)) return { tokens, at: at + CLOSE.length, trim: false };
    if (at >= text.length) throw new TemplateError(source, open, 'unclosed action: "{{" without "}}"');
    TOKEN.lastIndex = at;
    const groups = TOKEN.exec(text)?.groups;
    if (!groups) throw new TemplateError(source, at, badCharacter(text, at));
    const length = TOKEN.lastIndex - at;
    if (groups['space'] !== undefined) glued = false;
    else {
      tokens.push(toToken(source, groups, at, glued));
      glued = true;
    }
    at += length;
  }
}

function badCharacter(text: string, at: number): string {
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (character === '"' || character === '`' || character === "'") return 'unterminated string';
  return `unexpected ${JSON.stringify(character)} in an action`;
}

function toToken(
  source: TemplateSource,
  groups: Readonly<Record<string, string | undefined>>,
  at: number,
  glued: boolean,
): Token {
  const { field, variable, number, word, raw, quoted, rune, mark } = groups;
  if (field !== undefined) return { kind: 'field', name: field.slice(1), at, glued };
  if (variable !== undefined) return { kind: 'variable', name: variable, at, glued };
  if (number !== undefined) return { kind: 'literal', value: Number(number), at, glued };
  if (word !== undefined) return { kind: 'word', name: word, at, glued };
  if (raw !== undefined) return { kind: 'literal', value: raw.slice(1, -1), at, glued };
  if (quoted !== undefined) return { kind: 'literal', value: unquote(source, quoted, at), at, glued };
  if (rune !== undefined) {
    const characters = [...unquote(source, rune, at)];
    if (characters.length !== 1)
      throw new TemplateError(source, at, 'a character constant holds one character');
    return { kind: 'literal', value: characters[0]?.codePointAt(0) ?? 0, at, glued };
  }
  switch (mark) {
    case '.':
    case '|':
    case '(':
    case ')':
    case ':=':
    case '=':
    case ',':
      return { kind: 'mark', mark, at, glued };
    default:
      throw new TemplateError(source, at, 'unexpected character in an action');
  }
}

const SIMPLE_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};
const MAX_CODE_POINT = 0x10ffff;

function unquote(source: TemplateSource, quoted: string, at: number): string {
  const escapes = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.))/gsu;
  return quoted.slice(1, -1).replace(escapes, (whole, hex, short, long, octal, simple) => {
    const digits = hex ?? short ?? long;
    if (digits !== undefined || octal !== undefined) {
      const code = digits === undefined ? Number.parseInt(octal, 8) : Number.parseInt(digits, 16);
      if (code > MAX_CODE_POINT) throw new TemplateError(source, at, `no such character: ${whole}`);
      return String.fromCodePoint(code);
    }
    const character = SIMPLE_ESCAPES[simple];
    if (character === undefined) throw new TemplateError(source, at, `unknown escape ${whole} in a string`);
    return character;
  });
}
