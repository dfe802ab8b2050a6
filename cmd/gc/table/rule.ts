import { type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const OPTIONS: readonly OptionSpec[] = [
  { name: 'tool', value: 'tool', summary: 'as `gc pending` names it: Bash, Shell, execute ...; * means any' },
  {
    name: 'input',
    value: 'pattern',
    summary: 'the command or file; * is any run of characters (in a permission: within one simple command)',
  },
  { name: 'agent', value: 'agent', summary: 'only of this agent', completes: 'template' },
  { name: 'rig', value: 'rig', summary: 'only of agents of this rig' },
  { name: 'session', value: 'session', summary: 'only of this session', completes: 'session' },
  { name: 'project', value: 'folder', summary: 'only for work in this folder; kept with your own rules' },
  {
    name: 'scope',
    value: 'scope',
    summary: 'session: its conversation of now; project; city (default); always: your other cities, too',
    completes: ['session', 'project', 'city', 'always'],
  },
  JSON_OPTION,
];

const DETAILS =
  'Denials count before permissions, and of several rules the most exact one is named. Rules are kept in the city or, those ' +
  'of a project and of always, in your own folder: never where agents work. What a rule answers stands in the log like any answer.';

const list: CommandSpec = {
  path: 'rule list',
  summary: 'Show the standing answers to what agents ask.',
  options: [JSON_OPTION],
  examples: [{ command: 'gc rule list', explains: 'what needs no person' }],
  city: true,
  load: async () => (await import('../commands/rule.ts')).runRuleList,
};

const allow: CommandSpec = {
  path: 'rule allow',
  summary: 'Allow agents something once and for all, so that nobody has to be there.',
  details: DETAILS,
  options: OPTIONS,
  examples: [
    {
      command: "gc rule allow --agent worker --tool Bash --input 'git status*'",
      explains: 'for one agent, in this city',
    },
    { command: 'gc rule allow --tool Read --scope always', explains: 'in all your cities' },
  ],
  city: true,
  load: async () => (await import('../commands/rule.ts')).runRuleAllow,
};

const deny: CommandSpec = {
  path: 'rule deny',
  summary: 'Deny agents something, whatever else allows it.',
  details: DETAILS,
  options: OPTIONS,
  examples: [{ command: "gc rule deny --tool Bash --input '*git push*'", explains: 'nobody pushes' }],
  city: true,
  load: async () => (await import('../commands/rule.ts')).runRuleDeny,
};

const remove: CommandSpec = {
  path: 'rule remove',
  summary: 'Take a standing answer back.',
  args: [{ name: 'rule', summary: 'its id, as `gc rule list` shows it' }],
  options: [JSON_OPTION],
  examples: [{ command: 'gc rule remove r3', explains: 'a person is asked again' }],
  city: true,
  load: async () => (await import('../commands/rule.ts')).runRuleRemove,
};

export const ruleGroup: GroupSpec = {
  word: 'rule',
  heading: 'Agents at work',
  summary: 'Standing answers to what agents ask: nobody has to be there for them.',
  bare: 'error',
  commands: [list, allow, deny, remove],
};
