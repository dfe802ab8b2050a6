import { BD_OPTIONS, VERBS } from '../bd/verbs.ts';
import type { CommandSpec, GroupSpec } from '../cli/spec.ts';

const verbLines = VERBS.map(({ usage, summary }) => `    ${usage.padEnd(38)}${summary}`);

const bd: CommandSpec = {
  path: 'bd',
  summary: 'Read and change the work of a city, in the words of bd.',
  details: [
    'The part of the public bd command line that agents and packs use, on the store of the city:',
    '',
    ...verbLines,
    '',
    'Work belongs to the city or to one rig, by the prefix of its id. An id works from anywhere.',
  ].join('\n'),
  args: [
    {
      name: 'verb',
      summary: 'what to do',
      optional: true,
      completes: VERBS.map(({ name }) => name),
    },
    { name: 'words', summary: 'ids, or a title', optional: true, variadic: true },
  ],
  options: BD_OPTIONS,
  examples: [
    { command: 'gc bd create "Parse dates" -t bug -p 1', explains: 'new work; prints its id' },
    { command: 'gc bd ready --unassigned --json', explains: 'what can be taken, as an array' },
    { command: 'gc bd update fe-12 --claim', explains: 'take it, unless somebody was faster' },
    { command: 'gc bd --rig frontend list', explains: 'the work of one rig' },
  ],
  city: true,
  load: async () => (await import('../commands/bd.ts')).runBd,
};

export const workGroup: GroupSpec = {
  word: '',
  heading: 'Work',
  summary: '',
  bare: 'help',
  commands: [bd],
};
