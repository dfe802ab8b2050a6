import { GcError } from '../../platform/errors.ts';

/** Reads an unknown value as a `T`, or throws naming the place that is wrong. */
export type Shape<T> = (value: unknown, at: string) => T;
export type ShapeOf<S> = S extends Shape<infer T> ? T : never;

type Fields = Readonly<Record<string, Shape<unknown>>>;
type Simplify<T> = { readonly [K in keyof T]: T[K] };
type OptionalKeys<F extends Fields> = {
  [K in keyof F]: undefined extends ShapeOf<F[K]> ? K : never;
}[keyof F];
export type ObjectOf<F extends Fields> = Simplify<
  { [K in Exclude<keyof F, OptionalKeys<F>>]: ShapeOf<F[K]> } & {
    [K in OptionalKeys<F>]?: Exclude<ShapeOf<F[K]>, undefined>;
  }
>;

/** A message of the session host's protocol that does not have its form. */
export class BadMessageError extends GcError {
  constructor(at: string, wanted: string) {
    super('bad-message', `malformed message: ${at} must be ${wanted}`);
  }
}

export const text: Shape<string> = (value, at) => {
  if (typeof value !== 'string') throw new BadMessageError(at, 'a string');
  return value;
};

export const flag: Shape<boolean> = (value, at) => {
  if (typeof value !== 'boolean') throw new BadMessageError(at, 'true or false');
  return value;
};

export const integer =
  (low: number, high: number): Shape<number> =>
  (value, at) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= low && value <= high) return value;
    throw new BadMessageError(at, `a whole number from ${low} to ${high}`);
  };

export const optional =
  <T>(inner: Shape<T>): Shape<T | undefined> =>
  (value, at) =>
    value === undefined ? undefined : inner(value, at);

export const listOf =
  <T>(inner: Shape<T>): Shape<readonly T[]> =>
  (value, at) => {
    if (!Array.isArray(value)) throw new BadMessageError(at, 'a list');
    return value.map((item, i) => inner(item, `${at}[${i}]`));
  };

export const mapOf =
  <T>(inner: Shape<T>): Shape<Readonly<Record<string, T>>> =>
  (value, at) =>
    Object.fromEntries(Object.entries(asRecord(value, at)).map(([k, v]) => [k, inner(v, `${at}.${k}`)]));

export const literal =
  <const T extends string | boolean>(...wanted: readonly T[]): Shape<T> =>
  (value, at) => {
    const found = wanted.find((w) => w === value);
    if (found === undefined) throw new BadMessageError(at, `one of ${wanted.join(', ')}`);
    return found;
  };

/** Further keys are ignored: a newer peer may send them. */
export const object =
  <F extends Fields>(fields: F): Shape<ObjectOf<F>> =>
  (value, at) => {
    const record = asRecord(value, at);
    const read: Record<string, unknown> = {};
    for (const [key, shape] of Object.entries(fields)) {
      const field = shape(record[key], `${at}.${key}`);
      if (field !== undefined) read[key] = field;
    }
    return read as ObjectOf<F>;
  };

/** One of several objects, told apart by the value of `tag`. */
export const union =
  <K extends string, C extends Readonly<Record<string, Shape<unknown>>>>(
    tag: K,
    cases: C,
  ): Shape<{ [N in keyof C & string]: Simplify<{ [T in K]: N } & ShapeOf<C[N]>> }[keyof C & string]> =>
  (value, at) => {
    const name = asRecord(value, at)[tag];
    const inner = typeof name === 'string' && Object.hasOwn(cases, name) ? cases[name] : undefined;
    if (!inner) throw new BadMessageError(`${at}.${tag}`, `one of ${Object.keys(cases).join(', ')}`);
    const body = inner(value, at);
    return { ...(body as object), [tag]: name } as never;
  };

function asRecord(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BadMessageError(at, 'an object');
  }
  return value as Readonly<Record<string, unknown>>;
}
