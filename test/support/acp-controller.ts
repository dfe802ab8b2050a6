import { systemClock } from '../../internal/platform/clock.ts';
import { systemIds } from '../../internal/platform/ids.ts';
import { acpProviderAt } from '../../internal/runtime/acp/testing/acp-fixture.ts';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import { HostBackend } from '../../internal/runtime/subprocess/host-backend.ts';
import { hostCommand } from '../../internal/runtime/subprocess/host-fixture.ts';

/**
 * What a controller is to one agent, as a process that a test can kill: `acp-controller.ts DIR NAME CONFIG MESSAGE`
 * starts the agent, tells it the message, prints `told`, and stays.
 */
const [dir = '', name = '', config = '', message = ''] = process.argv.slice(2);
const backend = new HostBackend({
  dir,
  cityId: 'test-city',
  hostCommand,
  env: { PATH: process.env['PATH'] ?? '' },
  clock: systemClock,
  ids: systemIds,
});
const provider = acpProviderAt(dir, { backend });
await provider.start(name, JSON.parse(config) as RuntimeConfig, { signal: AbortSignal.timeout(30_000) });
const outcome = await provider.nudge(name, [{ type: 'text', text: message }]);
console.log(outcome.kind === 'delivered' ? 'told' : JSON.stringify(outcome));
setInterval(() => undefined, 60_000);
