import {
  PROGRAM_ABILITIES,
  type ProgramAbilities,
} from '../../../internal/config/preset/program-abilities.ts';

const BEGIN = '<!-- abilities: made by npm run docs -->';
const END = '<!-- abilities end -->';

const COLUMNS: readonly (readonly [head: string, cell: (abilities: ProgramAbilities) => string])[] = [
  [
    'started with a prompt',
    ({ start }) => (start === 'argument' ? 'as an argument' : 'typed when it is ready'),
  ],
  ['nudged', ({ nudge }) => yesNo(nudge)],
  ['asks, is answered', ({ asks }) => (asks ? 'yes' : 'it never asks')],
  ['`gc session logs`', ({ transcript }) => yesNo(transcript)],
  ['sleeps', ({ sleep }) => yesNo(sleep)],
  ['goes on with its conversation', ({ resume }) => RESUMES[resume]],
  ['tokens', ({ tokens }) => yesNo(tokens)],
  ['usage limits are seen', ({ limits }) => `in its ${limits}`],
];

const RESUMES: Readonly<Record<ProgramAbilities['resume'], string>> = {
  'given-key': 'by the key that it is given',
  'own-key': 'by the name that it gives it',
  no: 'no',
};

const yesNo = (is: boolean): string => (is ? 'yes' : 'no');

/** The page with its table of programs as the code has it. @throws Error when the page has no place for it */
export function withAbilities(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`the page lacks "${BEGIN}" and "${END}"`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${renderAbilities()}\n${page.slice(end)}`;
}

function renderAbilities(): string {
  const rows = Object.entries(PROGRAM_ABILITIES).map(([name, abilities]) => [
    `\`${name}\``,
    ...COLUMNS.map(([, cell]) => cell(abilities)),
  ]);
  const head = ['program', ...COLUMNS.map(([title]) => title)];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
