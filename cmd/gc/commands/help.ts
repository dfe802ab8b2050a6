import { UsageError } from '../cli/input.ts';
import { helpText } from '../cli/parser.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runHelp: CommandRun = async (context, input) => {
  const words = input.rest('command');
  const style = { columns: Math.min(context.out.columns, 100), title: context.out.style.bold };
  const text = helpText(context.commands, words, style);
  if (text === undefined) throw new UsageError(`no command "${words.join(' ')}"`, 'gc help');
  context.out.write(text);
  return 0;
};
