import { type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const RIG: OptionSpec = { name: 'rig', value: 'name', summary: 'those of one rig (default: $GC_RIG)' };

const formulaList: CommandSpec = {
  path: 'formula list',
  summary: 'List the formulas of the city and its packs.',
  options: [RIG, JSON_OPTION],
  examples: [{ command: 'gc formula list', explains: 'one name per line' }],
  city: true,
  load: async () => (await import('../commands/formula.ts')).runFormulaList,
};

const formulaShow: CommandSpec = {
  path: 'formula show',
  summary: 'Show the variables and steps of a formula.',
  details: 'What it extends is put in already. Nothing is made of it.',
  args: [{ name: 'name', summary: 'name of a formula' }],
  options: [
    { name: 'var', value: 'name=value', summary: 'a value for a variable', repeatable: true },
    { name: 'verbose', short: 'v', summary: 'with what each step says' },
    RIG,
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc formula show mol-do-work', explains: 'its steps, in their order' },
    { command: 'gc formula show mol-do-work --var issue=fe-12 -v', explains: 'as an agent would read them' },
  ],
  city: true,
  load: async () => (await import('../commands/formula.ts')).runFormulaShow,
};

export const formulaGroup: GroupSpec = {
  word: 'formula',
  heading: 'Work',
  summary: 'Look at formulas: ways to do a piece of work, step by step.',
  bare: 'help',
  commands: [formulaList, formulaShow],
};

const orderList: CommandSpec = {
  path: 'order list',
  summary: 'List the orders of the city and its rigs.',
  options: [{ ...RIG, summary: 'only those of one rig' }, JSON_OPTION],
  examples: [{ command: 'gc order list', explains: 'what comes by itself, when, and to whom' }],
  city: true,
  load: async () => (await import('../commands/order.ts')).runOrderList,
};

const orderShow: CommandSpec = {
  path: 'order show',
  summary: 'Show all of an order, and the file it is in.',
  args: [{ name: 'name', summary: '<name>, or <name>:rig:<rig>' }],
  options: [{ ...RIG, summary: 'the one of this rig' }, JSON_OPTION],
  examples: [
    { command: 'gc order show gate-sweep', explains: "the city's" },
    { command: 'gc order show gate-sweep --rig api', explains: "a rig's, when its packs bring it too" },
  ],
  city: true,
  load: async () => (await import('../commands/order.ts')).runOrderShow,
};

export const orderGroup: GroupSpec = {
  word: 'order',
  heading: 'Work',
  summary: 'Look at orders: work that comes by itself.',
  bare: 'error',
  commands: [orderList, orderShow],
};
