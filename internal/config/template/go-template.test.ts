import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderTemplate, TemplateSet } from './go-template.ts';
import { TemplateError } from './template-error.ts';
import type { TemplateValue } from './template-functions.ts';

const DATA: TemplateValue = {
  Name: 'ada',
  Empty: '',
  Zero: 0,
  Three: 3,
  Yes: true,
  List: ['a', 'b', 'c'],
  Nested: { Deep: { X: 'found' }, n: 1 },
  Map: { k2: 'v2', k1: 'v1' },
};

const render = (text: string) => renderTemplate(text, DATA, 't');

function errorOf(text: string): TemplateError {
  try {
    render(text);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error(`rendered: ${text}`);
}

describe('rendering, as Go does', () => {
  it.each([
    ['plain { text } }}', 'plain { text } }}'],
    ['{{.Name}} {{ .Name }}', 'ada ada'],
    ['{{$.Name}} {{.Nested.Deep.X}} {{(.Nested).n}}', 'ada found 1'],
    ['{{"{{requester}}"}} {{`raw "x"`}} {{"a\\tb\\u00e9\\x41"}}', '{{requester}} raw "x" a\tbéA'],
    ["{{42}} {{-1.5}} {{0x10}} {{true}} {{'a'}}", '42 -1.5 16 true 97'],
    ['a {{- " b " -}} c', 'a b c'],
    ['a{{/* note */}}b {{- /* trims */ -}} c', 'abc'],
    ['{{if .Empty}}x{{else if .Zero}}y{{else if .Yes}}z{{else}}w{{end}}', 'z'],
    ['{{if .List}}some{{end}}{{if not .Name}}none{{end}}', 'some'],
    ['{{with .Nested.Deep}}{{.X}}{{$.Name}}{{else}}no{{end}}', 'foundada'],
    ['{{with .Empty}}a{{else with .Name}}{{.}}{{end}}', 'ada'],
    ['{{range .List}}[{{.}}]{{end}}', '[a][b][c]'],
    ['{{range $i, $e := .List}}{{$i}}{{$e}} {{end}}', '0a 1b 2c '],
    ['{{range $k, $v := .Map}}{{$k}}={{$v}};{{end}}', 'k1=v1;k2=v2;'],
    ['{{range $e := .List}}{{if eq $e "b"}}{{continue}}{{end}}{{$e}}{{end}}', 'ac'],
    ['{{range .List}}{{if eq . "b"}}{{break}}{{end}}{{.}}{{end}}', 'a'],
    ['{{range .Empty2}}x{{else}}none{{end}}'.replace('Empty2', 'Nested.n'), '0'.replace('0', 'x')],
    ['{{range 3}}{{.}}{{end}}', '012'],
    ['{{$x := 1}}{{if true}}{{$x = 2}}{{end}}{{$x}}', '2'],
    ['{{$x := "o"}}{{with .Name}}{{$x := .}}{{$x}}{{end}}{{$x}}', 'adao'],
    ['{{define "t"}}<{{.}}>{{end}}{{template "t" .Name}}{{template "t" .Three}}', '<ada><3>'],
    ['{{block "b" .Name}}({{.}}){{end}}', '(ada)'],
    ['{{template "later"}}{{define "later"}}ok{{end}}', 'ok'],
    ['{{.Name | printf "%s-%d" | len}}'.replace('%s-%d', '%5s'), '5'],
    [
      '{{printf "%q %d %v %t %x %05d|%-4s|%.2f%%" .Name .Three .List .Yes 255 7 "a" 1.5}}',
      '"ada" 3 [a b c] true ff 00007|a   |1.50%',
    ],
    ['{{print 1 2 "a" "b" 3 4}} {{println "x" 1}}', '1 2ab3 4 x 1\n'],
    [
      '{{eq .Three 3}} {{eq .Name "x" "ada"}} {{ne 1 2}} {{lt 1 2}} {{ge "b" "a"}}',
      'true true true true true',
    ],
    [
      '{{and .Name .Three}} {{or .Empty "d"}} {{and .Empty .Nope}}'.replace('.Nope', '(index .List 9)'),
      '3 d ',
    ],
    [
      '{{index .List 1}} {{index .Map "k2"}} {{index .Nested "Deep" "X"}} {{index .Map "no"}}|',
      'b v2 found |',
    ],
    ['{{len .List}} {{len "é"}} {{len .Map}}', '3 2 2'],
    ['{{.Map}} {{nil}}', 'map[k1:v1 k2:v2] <no value>'],
    ['{{eq nil .Name}}', 'false'],
    ['{{ .Name\n}}', 'ada'],
  ])('%s', (text, expected) => {
    expect(render(text)).toBe(expected);
  });

  it('functions of the caller', () => {
    const set = new TemplateSet({
      cmd: () => 'gc',
      basename: (value) => String(value).split('/').at(-1) ?? '',
    });
    const template = set.add({
      name: 'm',
      text: '{{ cmd }} {{ basename "a/b" }} {{"x/y" | basename}}',
      file: 'f',
    });
    expect(set.render(template, {})).toBe('gc b y');
  });

  it('later definitions win; an empty one does not', () => {
    const set = new TemplateSet();
    set.add({ name: '1', text: '{{define "a"}}one{{end}}{{define "b"}}keep{{end}}', file: '1' });
    set.add({ name: '2', text: '{{define "a"}}two{{end}}{{define "b"}} {{end}}', file: '2' });
    const main = set.add({ name: 'm', text: '{{template "a"}}{{template "b"}}', file: 'm' });
    expect(set.render(main, {})).toBe('twokeep');
  });
});

describe('errors', () => {
  it('an unknown name has file, line, column and the names that are allowed', () => {
    const error = errorOf('one\n  {{ .Nmae }}');
    expect(error).toMatchObject({
      code: 'template-error',
      file: 't',
      line: 2,
      column: 6,
      message: 't:2:6: unknown variable ".Nmae"; did you mean "Name"?',
      next: 'allowed here: Empty, List, Map, Name, Nested, Three, Yes, Zero',
    });
    expect(errorOf('{{.Nested.Deep.Y}}').column).toBe(15);
  });

  it.each([
    ['{{', 'unclosed action: "{{" without "}}"'],
    ['{{ .A', 'unclosed action: "{{" without "}}"'],
    ['{{}}', 'missing value: the action is empty'],
    ['{{/* x', 'unclosed comment'],
    ['{{/* x */ .A}}', 'a comment must fill its action: {{/* ... */}}'],
    ['{{if .Name}}x', '{{if}} without {{end}}'],
    ['{{if .Name}}x{{else}}y{{else}}z{{end}}', 'a second {{else}} in one block'],
    ['{{end}}', '{{end}} without a block to close'],
    ['{{else}}', '{{else}} without a block to close'],
    ['{{range .List}}{{else with .Name}}{{end}}', '{{else with}} does not fit {{range}}'],
    ['{{define "x"}}', '{{define "x"}} without {{end}}'],
    ['{{if true}}{{define "x"}}{{end}}{{end}}', '{{define}} must stand at the top level, not inside a block'],
    ['{{template x}}', '{{template}} needs a name in quotes'],
    ['{{template "x"}}', 'no template "x"'],
    ['{{break}}', '{{break}} outside of {{range}}'],
    ['{{prnt 1}}', 'unknown function "prnt"; did you mean "print"?'],
    ['{{$x}}', 'undefined variable "$x"'],
    ['{{$x = 1}}', 'undefined variable "$x"'],
    ['{{if $x := 1}}{{end}}{{$x}}', 'undefined variable "$x"'],
    ['{{"abc}}', 'unterminated string'],
    ['{{"\\z"}}', 'unknown escape \\z in a string'],
    ['{{"\\UFFFFFFFF"}}', 'no such character: \\UFFFFFFFF'],
    ["{{'ab'}}", 'a character constant holds one character'],
    ['{{.Name ^}}', 'unexpected "^" in an action'],
    ['{{(.Name}}', '"(" without ")"'],
    ['{{.Name)}}', 'unexpected text in the action'],
    ['{{.Name |}}', 'nothing after "|"'],
    ['{{.Name .Three}}', 'this is a value, not a function: it takes no arguments'],
    ['{{1 | .Name}}', 'this is a value, not a function: it takes no arguments'],
    ['{{"a"b}}', 'a space is missing here'],
    ['{{"a".B}}', 'this has no fields; put a space or parentheses before the dot'],
    ['{{.Name.X}}', '".X" of ada: only a map has fields'],
    ['{{range .Name}}{{end}}', '{{range}} cannot go over "ada"'],
    ['{{index .List 3}}', 'index index 3 of a list of 3'],
    ['{{len 3}}', 'len a number has no length'],
    ['{{eq 1 "a"}}', 'eq cannot compare a number with a string'],
    ['{{eq 1}}', 'eq wants at least two values, got 1'],
    ['{{printf "%d" "a"}}', 'printf cannot print a string with %d'],
    ['{{printf "%s"}}', 'printf has no value for %s'],
    ['{{printf "x" 1}}', 'printf has 1 more values than the format uses'],
    ['{{printf "%z" 1}}', 'printf does not know %z; use %s %q %d %x %f %t %v'],
    ['{{and}}', 'and wants at least one value'],
    ['{{define "r"}}{{template "r"}}{{end}}{{template "r"}}', 'template "r" calls itself without end'],
    ['{{range 1000000}}{{end}}', '{{range}} cannot go over 1000000'],
    ['{{range 1000}}{{range 1000}}x{{end}}{{end}}', 'the template does not come to an end'],
  ])('%s', (text, reason) => {
    expect(errorOf(text).reason).toBe(reason);
  });

  it('nesting has an end before the stack has', () => {
    expect(errorOf(`{{${'('.repeat(50_000)}`).reason).toBe('unclosed action: "{{" without "}}"');
    expect(errorOf(`{{${'('.repeat(50_000)}1${')'.repeat(50_000)}}}`).reason).toBe(
      'too many parentheses inside each other',
    );
    expect(errorOf('{{if 1}}'.repeat(50_000)).reason).toBe('too many blocks inside each other');
    const branches = `{{if .Zero}}${'{{else if .Zero}}'.repeat(50_000)}{{end}}`;
    expect(errorOf(branches).reason).toBe('too many blocks inside each other');
    const deep = `{{define "a"}}${'{{if true}}'.repeat(90)}{{template "a"}}${'{{end}}'.repeat(90)}{{end}}{{template "a"}}`;
    expect(errorOf(deep).reason).toBe('the template does not come to an end');
  });
});

describe('properties', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{{',
      '}}',
      '{{-',
      '-}}',
      '{{/*',
      '*/',
      'if',
      'else',
      'end',
      'range',
      'with',
      'define',
      'template',
      'block',
      'break',
      '"t"',
      '.',
      '$',
      '$x',
      ':=',
      '=',
      ',',
      '|',
      '(',
      ')',
      '.Name',
      '.List',
      '.Nope',
      ' ',
      '\n',
      '1',
      'eq',
      'printf',
      'index',
      'len',
      'not',
      'and',
      'nil',
      '`',
      "'",
      '\\',
      'true',
    ),
    fc.string({ maxLength: 3 }),
  );
  const action = fc.array(piece, { maxLength: 6 }).map((parts) => `{{${parts.join(' ')}}}`);

  it('whatever the text, only a TemplateError is thrown', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(piece, action), { maxLength: 12 }).map((parts) => parts.join('')),
        (text) => {
          try {
            expect(typeof render(text)).toBe('string');
          } catch (error) {
            if (!(error instanceof TemplateError)) throw error;
            expect(error.line).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('text without actions comes back as it is', () => {
    fc.assert(
      fc.property(
        fc.string().filter((text) => !text.includes('{{')),
        (text) => {
          const set = new TemplateSet();
          expect(set.render(set.add({ name: 'x', text, file: 'x' }), {})).toBe(text);
        },
      ),
    );
  });

  it('a quoted string comes back as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(render(`{{${JSON.stringify(text)}}}`)).toBe(text);
      }),
    );
  });
});
