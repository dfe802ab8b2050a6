import { runIn } from '../../../cmd/gc/testing/fake-city.ts';
import type { Run } from './stage.ts';

/** The program in this process: that costs next to nothing, so that it can always be asked. */
export const inProcess: Run = async (args, { cwd, env }) => {
  const { code, out, err } = await runIn(args, { cwd, env });
  return { code, out, err, all: out + err };
};
