import type { Clock } from '../platform/clock.ts';
import { FakeProvider } from './fake.ts';

/** The double that always fails (`GC_SESSION=fail`): calls throw `session unavailable`, probes are `unknown`. */
export function failProvider(clock: Clock): FakeProvider {
  const provider = new FakeProvider(clock, 'fail');
  provider.broken = true;
  return provider;
}
