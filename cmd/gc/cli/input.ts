import { parseDuration } from '../../../internal/platform/duration.ts';
import { GcError } from '../../../internal/platform/errors.ts';

export type RawValue = string | boolean | readonly string[] | undefined;

export class UsageError extends GcError {
  constructor(message: string, next?: string) {
    super('usage', message, next === undefined ? {} : { next });
  }
}

/** The parsed words of one command line, by the names in its spec. */
export class Input {
  readonly #args: Readonly<Record<string, RawValue>>;
  readonly #options: Readonly<Record<string, RawValue>>;

  constructor(args: Readonly<Record<string, RawValue>>, options: Readonly<Record<string, RawValue>>) {
    this.#args = args;
    this.#options = options;
  }

  /** A required argument. @throws UsageError when it is empty */
  arg(name: string): string {
    const value = this.#args[name];
    if (typeof value === 'string' && value !== '') return value;
    throw new UsageError(`missing ${name}`);
  }

  optionalArg(name: string): string | undefined {
    const value = this.#args[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  }

  /** A variadic argument. */
  rest(name: string): readonly string[] {
    const value = this.#args[name];
    return Array.isArray(value) ? value : [];
  }

  flag(name: string): boolean {
    return this.#options[name] === true;
  }

  text(name: string): string | undefined {
    const value = this.#options[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** The values of a repeatable option. */
  texts(name: string): readonly string[] {
    const value = this.#options[name];
    return Array.isArray(value) ? value : [];
  }

  /** A whole number of at least `least`. @throws UsageError */
  count(name: string, least = 0): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    if (/^\d+$/.test(value) && Number(value) >= least && Number.isSafeInteger(Number(value))) {
      return Number(value);
    }
    throw new UsageError(`--${name} must be a whole number of at least ${least}, not "${value}"`);
  }

  /** Milliseconds of a duration (`30s`, `1h30m`, `7d`). @throws UsageError */
  duration(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined) return undefined;
    const days = /^(\d+)d$/.exec(value);
    const ms = days ? Number(days[1]) * 86_400_000 : parseDuration(value);
    if (ms !== undefined && ms >= 0) return ms;
    throw new UsageError(`--${name} must be a duration such as 30s, 10m or 2h, not "${value}"`);
  }
}
