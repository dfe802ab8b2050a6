/** What a template computes with. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly TemplateValue[]
  | { readonly [key: string]: TemplateValue };

/** A function of templates; it throws a plain `Error` whose message says what is wrong with the arguments. */
export type TemplateFunction = (...args: readonly TemplateValue[]) => TemplateValue;

type ValueMap = { readonly [key: string]: TemplateValue };

export function isValueMap(value: TemplateValue): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** False, zero, empty and nil are false. Source: Go text/template. */
export function isTrue(value: TemplateValue): boolean {
  if (value === null || value === undefined || value === false || value === 0 || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value === 'object' ? Object.keys(value).length > 0 : true;
}

/** The text of a value as Go prints it with `%v`. */
export function textOf(value: TemplateValue): string {
  if (value === null || value === undefined) return '<no value>';
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`;
  if (typeof value === 'object') {
    const pairs = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `map[${pairs.map(([key, inner]) => `${key}:${textOf(inner)}`).join(' ')}]`;
  }
  return String(value);
}

function kindOf(value: TemplateValue): string {
  if (value === null || value === undefined) return 'nil';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

function wanted(count: string, args: readonly TemplateValue[]): Error {
  return new Error(`wants ${count}, got ${args.length}`);
}

function equal(a: TemplateValue, b: TemplateValue): boolean {
  const isNil = (value: TemplateValue) => value === null || value === undefined;
  if (isNil(a) || isNil(b)) return isNil(a) && isNil(b);
  if (typeof a === 'object' || typeof b === 'object')
    throw new Error(`cannot compare ${kindOf(a)} with ${kindOf(b)}`);
  if (typeof a !== typeof b) throw new Error(`cannot compare ${kindOf(a)} with ${kindOf(b)}`);
  return a === b;
}

function order(args: readonly TemplateValue[]): number {
  const [a, b] = args;
  if (args.length !== 2) throw wanted('two values', args);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0;
  throw new Error(`cannot order ${kindOf(a)} and ${kindOf(b)}`);
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (Array.isArray(value)) return value.length;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length;
  throw new Error(`${kindOf(value)} has no length`);
}

function indexInto(args: readonly TemplateValue[]): TemplateValue {
  const [start, ...keys] = args;
  if (args.length === 0) throw wanted('a list or map and its keys', args);
  let current = start;
  for (const key of keys) {
    if (Array.isArray(current)) {
      if (typeof key !== 'number' || !Number.isInteger(key))
        throw new Error(`${kindOf(key)} is no index of a list`);
      if (key < 0 || key >= current.length) throw new Error(`index ${key} of a list of ${current.length}`);
      current = current[key];
    } else if (isValueMap(current)) {
      if (typeof key !== 'string') throw new Error(`${kindOf(key)} is no key of a map`);
      current = Object.hasOwn(current, key) ? current[key] : '';
    } else throw new Error(`cannot index ${kindOf(current)}`);
  }
  return current;
}

/** Operands side by side; a space only where neither is a string. Source: Go `fmt.Sprint`. */
function print(args: readonly TemplateValue[]): string {
  let out = '';
  args.forEach((value, index) => {
    const previous = args[index - 1];
    if (index > 0 && typeof value !== 'string' && typeof previous !== 'string') out += ' ';
    out += textOf(value);
  });
  return out;
}

const VERB = /%(?<flags>[-0]*)(?<width>\d{0,4})(?:\.(?<precision>\d{1,3}))?(?<verb>.?)/gsu;

function printf(args: readonly TemplateValue[]): string {
  const [format, ...values] = args;
  if (typeof format !== 'string') throw new Error('wants a format string first');
  let used = 0;
  const text = format.replace(VERB, (whole: string, ...rest: unknown[]) => {
    const groups = rest.at(-1) as { flags: string; width: string; precision?: string; verb: string };
    if (groups.verb === '%') return '%';
    if (used >= values.length) throw new Error(`has no value for ${whole}`);
    const shown = formatOne(groups.verb, values[used], groups.precision, whole);
    used += 1;
    return pad(shown, groups.flags, Number(groups.width));
  });
  if (used < values.length) throw new Error(`has ${values.length - used} more values than the format uses`);
  return text;
}

function formatOne(verb: string, value: TemplateValue, precision: string | undefined, whole: string): string {
  switch (verb) {
    case 'v':
      return textOf(value);
    case 's':
      if (typeof value === 'number' || typeof value === 'boolean') break;
      return precision === undefined
        ? textOf(value)
        : [...textOf(value)].slice(0, Number(precision)).join('');
    case 'q':
      return JSON.stringify(textOf(value));
    case 'd':
      if (typeof value === 'number' && Number.isInteger(value)) return String(value);
      break;
    case 'x':
      if (typeof value === 'number' && Number.isInteger(value)) return value.toString(16);
      if (typeof value === 'string') return Buffer.from(value).toString('hex');
      break;
    case 'f':
      if (typeof value === 'number') return value.toFixed(Math.min(Number(precision ?? 6), 100));
      break;
    case 't':
      if (typeof value === 'boolean') return String(value);
      break;
    default:
      throw new Error(`does not know ${whole}; use %s %q %d %x %f %t %v`);
  }
  throw new Error(`cannot print ${kindOf(value)} with ${whole}`);
}

function pad(text: string, flags: string, width: number): string {
  if (flags.includes('-')) return text.padEnd(width);
  if (!flags.includes('0')) return text.padStart(width);
  const sign = text.startsWith('-') ? '-' : '';
  return sign + text.slice(sign.length).padStart(width - sign.length, '0');
}

/** `and` and `or` are not here: they stop early, so the renderer knows them. */
export const BUILTIN_FUNCTIONS: Readonly<Record<string, TemplateFunction>> = {
  eq: (...args) => {
    const [first, ...rest] = args;
    if (rest.length === 0) throw wanted('at least two values', args);
    return rest.some((other) => equal(first, other));
  },
  ne: (...args) => {
    if (args.length !== 2) throw wanted('two values', args);
    return !equal(args[0], args[1]);
  },
  lt: (...args) => order(args) < 0,
  le: (...args) => order(args) <= 0,
  gt: (...args) => order(args) > 0,
  ge: (...args) => order(args) >= 0,
  not: (...args) => {
    if (args.length !== 1) throw wanted('one value', args);
    return !isTrue(args[0]);
  },
  len: (...args) => {
    if (args.length !== 1) throw wanted('one value', args);
    return lengthOf(args[0]);
  },
  index: (...args) => indexInto(args),
  print: (...args) => print(args),
  println: (...args) => `${args.map(textOf).join(' ')}\n`,
  printf: (...args) => printf(args),
};

export const SHORT_CIRCUIT_FUNCTIONS: ReadonlySet<string> = new Set(['and', 'or']);
