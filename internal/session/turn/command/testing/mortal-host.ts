import { appendFileSync } from 'node:fs';
import { systemClock } from '../../../../platform/clock.ts';
import { systemIds } from '../../../../platform/ids.ts';
import { EventSchema } from '../../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { fromBinary, toBinary } from '../../../../protocol/protobuf.ts';
import { commandHarness } from '../command-harness.ts';
import type { CommandSpec } from '../command-spec.ts';
import { RecordingSink, startOf } from './recording-sink.ts';

// A host of one turn that a test kills: what it records is appended to a file, an event per line.
interface Job {
  readonly spec: CommandSpec;
  readonly work: string;
  readonly ledgerDir: string;
  readonly text: string;
  readonly execution: string;
  readonly history: readonly string[];
  readonly log: string;
}
const job = JSON.parse(process.argv[2] ?? '{}') as Job;
const { spec, work, ledgerDir, text, execution, log } = job;
const deps = { clock: systemClock, ids: systemIds, ledgerDir, workDirOf: async () => work };
const sink = new RecordingSink(execution, (event) =>
  appendFileSync(log, `${Buffer.from(toBinary(EventSchema, event)).toString('base64')}\n`),
);
const history = job.history.map((event) => fromBinary(EventSchema, Buffer.from(event, 'base64')));
await commandHarness(spec, deps).run(
  startOf(text, { executionId: execution, history }),
  sink,
  new AbortController().signal,
);
