import { serveHarness } from '../../../internal/api/grpc/serve-harness.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { addressText, isLoopback } from '../../../internal/platform/network-address.ts';
import { chatHarness } from '../../../internal/session/turn/builtin/chat-harness.ts';
import { echoHarness } from '../../../internal/session/turn/builtin/echo-harness.ts';
import type { Harness } from '../../../internal/session/turn/harness.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { openServeLog, untilTold } from './serve-sessions.ts';
import { commands, listenAddress } from './serve-sessions-plan.ts';

const DEFAULT_ADDRESS = '127.0.0.1:8082';

export const runServeHarness: CommandRun = async (context, input) => {
  const harness = harnessOf(context, input);
  const listen = listenAddress(input.text('addr') ?? DEFAULT_ADDRESS, context.cwd);
  if (listen.kind === 'tcp' && !isLoopback(listen.host) && !input.flag('allow-wider')) {
    throw new GcError(
      'harness-exposed',
      `whoever reaches ${addressText(listen)} could drive the harness: the protocol knows no token`,
      { next: 'listen on 127.0.0.1 or on a socket; or add --allow-wider' },
    );
  }
  const log = openServeLog(context);
  try {
    const server = await serveHarness({ clock: context.clock, ids: systemIds, log, harness, listen });
    const address = addressText(server.address);
    if (context.json) context.out.write(`${JSON.stringify({ harness: input.arg('harness'), address })}\n`);
    else {
      const name = input.arg('harness');
      context.out.write(
        `harness ${name}   ${address}\n\n  ${context.gc} serve --model MODEL --harness my-${name}=${address}\n`,
      );
    }
    await untilTold(context);
    await server.close();
    return 0;
  } finally {
    log.close();
  }
};

function harnessOf(context: Context, input: Input): Harness {
  const name = input.arg('harness');
  const found = commands(context, input).find(([each]) => each === name)?.[1];
  if (found) return found;
  if (name === 'echo') return echoHarness;
  if (name !== 'chat') {
    throw new UsageError(
      `no harness ${JSON.stringify(name)}`,
      `echo, chat, or --command ${name}=claude:claude`,
    );
  }
  const model = input.text('model');
  if (model === undefined) throw new UsageError('the chat harness asks a model', 'add --model with its id');
  return chatHarness({ model });
}
