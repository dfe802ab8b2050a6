import type { CommandRun } from '../cli/spec.ts';
import { runSupervisorProcess } from '../serve.ts';

export const runSupervisorRun: CommandRun = (context, input) =>
  runSupervisorProcess(context, { exitWhenEmpty: input.flag('exit-when-empty') });
