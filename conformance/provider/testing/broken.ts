import type { Provider } from '../../../internal/runtime/provider.ts';

/** A provider that is broken in exactly one way. */
export type Mutant = (healthy: Provider) => Provider;

type Overrides = { [K in keyof Provider]?: (...args: never[]) => unknown } & {
  observe?: unknown;
  watch?: unknown;
  waitForIdle?: unknown;
  pending?: unknown;
  respond?: unknown;
  continueStart?: unknown;
  usage?: unknown;
};

/** The healthy provider with some methods replaced. */
export function broken(healthy: Provider, overrides: Overrides): Provider {
  return new Proxy(healthy, {
    get(target, key) {
      const own = Reflect.get(overrides, key) as unknown;
      if (own !== undefined) return own;
      const value = Reflect.get(target, key, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
