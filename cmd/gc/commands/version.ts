import { buildInfo } from '../build-info.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runVersion: CommandRun = async (context, input) => {
  const { version, commit, built } = buildInfo;
  if (context.json) context.out.write(`${JSON.stringify({ version, commit, built }, null, 2)}\n`);
  else if (input.flag('long')) context.out.write(`${version} (commit: ${commit}, built: ${built})\n`);
  else context.out.write(`${version}\n`);
  return 0;
};
