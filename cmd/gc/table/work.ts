import { BD_OPTIONS, VERBS } from '../bd/verbs.ts';
import { type CommandSpec, type GroupSpec, JSON_OPTION } from '../cli/spec.ts';
import { graph } from './city-parts.ts';

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

const sling: CommandSpec = {
  path: 'sling',
  summary: 'Hand work to an agent.',
  details:
    'The bead says then which agent it is for, and the controller starts a session where one is needed. A text becomes a new ' +
    'bead, of the rig of the agent. A named session gets the bead as its own; of a pool whoever is free takes it.',
  args: [
    {
      name: 'words',
      summary: 'the agent, then a bead or a text; a bead alone goes to the default_sling_target of its rig',
      optional: true,
      variadic: true,
      completes: 'agent',
    },
  ],
  options: [
    { name: 'dry-run', short: 'n', summary: 'only say what would happen' },
    { name: 'stdin', summary: 'read the text from stdin: its first line is the title' },
    { name: 'title', short: 't', value: 'title', summary: 'title of the new bead; the text describes it' },
    { name: 'nudge', summary: 'also nudge a session of the agent, when one is idle' },
    { name: 'force', summary: 'take it from whoever has it, or from another rig; no warnings' },
    {
      name: 'merge',
      value: 'how',
      summary: 'how changes go back: direct, mr or local',
      completes: ['direct', 'mr', 'local'],
    },
    // Before its opposite: the parser would take it as given otherwise.
    { name: 'formula', short: 'f', summary: 'the second word is a formula (not yet)', hidden: true },
    { name: 'no-formula', summary: "without the agent's default formula" },
    { name: 'no-convoy', summary: 'accepted: no convoy is made' },
    { name: 'on', value: 'formula', summary: 'do the bead by a formula (not yet)', hidden: true },
    { name: 'owned', summary: 'in a convoy of its own (not yet)', hidden: true },
    { name: 'var', value: 'k=v', summary: 'a variable of the formula', repeatable: true, hidden: true },
    { name: 'scope-kind', value: 'kind', summary: 'of a formula: city or rig', hidden: true },
    { name: 'scope-ref', value: 'name', summary: 'of a formula: which rig', hidden: true },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc sling app/polecat app-12', explains: 'this bead goes to that pool' },
    { command: 'gc sling mayor "Plan the release"', explains: 'makes the bead first' },
    { command: 'gc sling app/polecat app-12 --dry-run', explains: 'changes nothing' },
  ],
  city: true,
  load: async () => (await import('../commands/sling.ts')).runSling,
};

export const workGroup: GroupSpec = {
  word: '',
  heading: 'Work',
  summary: '',
  bare: 'help',
  commands: [bd, sling, graph],
};
