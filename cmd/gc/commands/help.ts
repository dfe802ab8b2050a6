import { UsageError } from '../cli/input.ts';
import { packGroupsText } from '../cli/pack-help.ts';
import { packHelp } from '../cli/pack-words.ts';
import { helpText } from '../cli/parser.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runHelp: CommandRun = async (context, input) => {
  const words = input.rest('command');
  const style = { columns: Math.min(context.out.columns, 100), title: context.out.style.bold };
  const text = helpText(context.commands, words, style);
  const [binding, ...path] = words;
  if (binding !== undefined && text !== undefined) {
    context.out.write(text);
    return 0;
  }
  // Help that needs no city must not wait for the loader of one.
  const { cityInForce } = await import('../city/city-in-force.ts');
  const commands = (await cityInForce(context))?.commands ?? [];
  if (binding === undefined) {
    context.out.write((text ?? '') + packGroupsText(commands, style.title));
    return 0;
  }
  const call = packHelp(commands, binding, path);
  if (call.kind === 'none') throw new UsageError(`no command "${words.join(' ')}"`, 'gc help');
  const { packCallText } = await import('./pack-command.ts');
  if (call.kind !== 'run') context.out.write(packCallText(call, binding));
  return 0;
};
