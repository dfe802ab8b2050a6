import { type Desk, withDesk } from '../bd/desk.ts';
import { comments, list, ready, show } from '../bd/read-verbs.ts';
import { verbOf } from '../bd/request.ts';
import { close, comment, create, dep, gate, label, remove, reopen, update } from '../bd/write-verbs.ts';
import { buildInfo } from '../build-info.ts';
import { helpText } from '../cli/parser.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

const ON_THE_STORE: Readonly<Record<string, (desk: Desk) => Promise<void>>> = {
  create,
  show,
  list,
  ready,
  update,
  close,
  reopen,
  delete: remove,
  dep,
  label,
  comment,
  comments,
  gate,
};

export const runBd: CommandRun = async (context, input) => {
  const word = input.optionalArg('verb') ?? 'help';
  const { name } = verbOf(input, word);
  const run = ON_THE_STORE[name];
  if (run) await withDesk(context, input, run);
  else context.out.write(said(context, name));
  return 0;
};

/** What needs no city. */
function said(context: Context, verb: string): string {
  switch (verb) {
    case 'version':
      return context.json
        ? `${JSON.stringify({ version: buildInfo.version, built_into: 'gc' }, null, 2)}\n`
        : `bd, built into gc ${buildInfo.version}: the words that "gc bd help" lists\n`;
    case 'init':
      return context.json ? '{}\n' : 'Nothing to set up: work is kept in the store of the city.\n';
    default:
      return helpText(context.commands, ['bd']) ?? '';
  }
}
