import { textMessage } from '../../../protocol/events.ts';
import { Resumability } from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { Harness } from '../harness.ts';
import { harnessOf } from './turn-rig.ts';

/** Says how many turns it has seen, from its memory alone. Source: agentsessions.v1 counter harness. */
export function counterHarness(): Harness {
  let turns = 0;
  return harnessOf(
    async (_, sink) => {
      turns += 1;
      await sink.output(textMessage('assistant', `turn ${turns}`));
    },
    { resumability: Resumability.REQUIRES_MEMORY_SNAPSHOT },
  );
}
