import { parseDuration } from '../../platform/duration.ts';
import type { City, ConfigProblem, OrderOverride } from '../city.ts';
import { didYouMean } from '../document/nearest.ts';
import { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import { GATES, type Gate, type Order } from './order.ts';
import { cityOrderRoots, type OrderFile, orderFiles, rigOrderRoots } from './order-files.ts';
import { orderSchema, type RawOrder } from './schema-order.ts';

/** Source: Gas City. */
const EXEC_TIMEOUT_MS = 300_000;
const FORMULA_TIMEOUT_MS = 30_000;
const CRON_FIELDS = 5;

export interface ReadOrders {
  /** In force: enabled and not skipped, the city's first, by name. */
  readonly orders: readonly Order[];
  /** Orders that are wrong are left out. */
  readonly problems: readonly ConfigProblem[];
  readonly texts: ReadonlyMap<string, string>;
}

/** Every order of a city and its rigs, changed by `orders.overrides`. Never throws for what a person wrote. */
export async function readOrders(city: City): Promise<ReadOrders> {
  const problems = new ProblemList();
  const texts = new Map<string, string>();
  const found: FoundOrder[] = [];
  const scopes = [
    { rig: '', roots: cityOrderRoots(city) },
    ...city.rigs.map((rig) => ({ rig: rig.name, roots: rigOrderRoots(city, rig) })),
  ];
  for (const { rig, roots } of scopes) {
    for (const [name, file] of await orderFiles(roots)) {
      const written = await readOrder(name, rig, file, problems, texts);
      if (written) found.push(written);
    }
  }
  reportOverrides(city, found, problems);
  const orders = found
    .map((written) => ({ written, changed: overridden(written, city.orders.overrides) }))
    .filter(({ written, changed }) => changed.enabled && !isSkipped(written, city.orders.skip))
    .flatMap(({ changed }) => builtOrder(changed, city, problems) ?? []);
  return { orders, problems: problems.sorted(), texts };
}

/** An order as it is written or overridden, before it is judged. */
interface FoundOrder {
  readonly name: string;
  readonly rig: string;
  readonly raw: Omit<RawOrder, 'gate' | 'interval' | 'timeout'>;
  readonly gate: string;
  readonly intervalMs: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly enabled: boolean;
  readonly file: OrderFile;
  readonly document: SourceDocument;
}

async function readOrder(
  name: string,
  rig: string,
  file: OrderFile,
  problems: ProblemList,
  texts: Map<string, string>,
): Promise<FoundOrder | undefined> {
  const { parsed, text } = await readDocument(file.file);
  texts.set(file.file, text);
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return undefined;
  }
  const { document } = parsed;
  const place = { document, path: [], rootLabel: `order "${name}"`, unknownKeys: 'warning' as const };
  const raw = checkSchema(orderSchema, document.data ?? {}, place, problems)?.order;
  if (!raw) return undefined;
  const { gate, interval, timeout, ...rest } = raw;
  return {
    name,
    rig,
    raw: rest,
    gate,
    intervalMs: interval === undefined ? undefined : parseDuration(interval),
    timeoutMs: timeout === undefined ? undefined : parseDuration(timeout),
    enabled: raw.enabled ?? true,
    file,
    document,
  };
}

const matches = (override: OrderOverride, order: Pick<FoundOrder, 'name' | 'rig'>): boolean =>
  override.name === order.name && override.rig === order.rig;

function overridden(order: FoundOrder, overrides: readonly OrderOverride[]): FoundOrder {
  let changed = order;
  for (const override of overrides) {
    if (!matches(override, order)) continue;
    const { enabled, gate, intervalMs, timeoutMs, schedule, check, on, pool } = override;
    const { raw } = changed;
    changed = {
      ...changed,
      enabled: enabled ?? changed.enabled,
      gate: gate ?? changed.gate,
      intervalMs: intervalMs ?? changed.intervalMs,
      timeoutMs: timeoutMs ?? changed.timeoutMs,
      raw: {
        ...raw,
        schedule: schedule ?? raw.schedule,
        check: check ?? raw.check,
        on: on ?? raw.on,
        pool: pool ?? raw.pool,
      },
    };
  }
  return changed;
}

function reportOverrides(city: City, found: readonly FoundOrder[], problems: ProblemList): void {
  city.orders.overrides.forEach((override, index) => {
    if (found.some((order) => matches(override, order))) return;
    const there = found.filter(({ rig }) => rig === override.rig).map(({ name }) => name);
    const scope = override.rig === '' ? 'the city' : `rig "${override.rig}"`;
    problems.warning(
      'unknown-order',
      `orders.overrides[${index}]: ${scope} has no order "${override.name}"${didYouMean(override.name, there)}`,
      city.provenance.positionOf(`orders.overrides[${index}]`),
    );
  });
}

function isSkipped({ name, rig }: FoundOrder, skip: readonly string[]): boolean {
  return skip.includes(name) || skip.includes(scopedName(name, rig));
}

function scopedName(name: string, rig: string): string {
  return rig === '' ? name : `${name}:rig:${rig}`;
}

function builtOrder(written: FoundOrder, city: City, problems: ProblemList): Order | undefined {
  const { name, rig, raw, file, document, intervalMs } = written;
  const { formula = '', exec = '', pool = '' } = raw;
  const wrong = orderProblem(written);
  if (wrong) {
    problems.error(
      'bad-order',
      `order "${scopedName(name, rig)}": ${wrong.message}`,
      placeOf(document, wrong.key),
    );
    return undefined;
  }
  const timeoutMs = written.timeoutMs ?? (exec === '' ? FORMULA_TIMEOUT_MS : EXEC_TIMEOUT_MS);
  return {
    name,
    rig,
    scopedName: scopedName(name, rig),
    description: raw.description ?? '',
    formula,
    exec,
    gate: isGate(written.gate) ? written.gate : 'manual',
    intervalMs,
    schedule: raw.schedule ?? '',
    check: raw.check ?? '',
    on: raw.on ?? '',
    pool: pool === '' || rig === '' || pool.includes('/') ? pool : `${rig}/${pool}`,
    timeoutMs: Math.min(timeoutMs, city.orders.maxTimeoutMs ?? timeoutMs),
    dir: file.dir,
    packDir: file.packDir,
    source: placeOf(document),
  };
}

function placeOf(document: SourceDocument, key?: string) {
  return locate(document, key === undefined ? ['order'] : ['order', key]);
}

const isGate = (word: string): word is Gate => GATES.some((gate) => gate === word);

interface OrderProblem {
  readonly message: string;
  readonly key: string;
}

/** What keeps an order from being one. Source: Gas City order validation. */
function orderProblem({ raw, gate, intervalMs }: FoundOrder): OrderProblem | undefined {
  const { formula = '', exec = '', pool = '', schedule = '', check = '', on = '' } = raw;
  if (formula === '' && exec === '') return { message: 'it needs a formula or an exec', key: 'formula' };
  if (formula !== '' && exec !== '') return { message: 'formula and exec exclude each other', key: 'exec' };
  if (exec !== '' && pool !== '') return { message: 'an exec runs by itself: it has no pool', key: 'pool' };
  const missing = (key: string) => ({ message: `the gate "${gate}" needs ${key}`, key: 'gate' });
  switch (gate) {
    case 'cooldown':
      return intervalMs === undefined ? missing('interval') : undefined;
    case 'cron':
      return schedule === '' ? missing('schedule') : cronProblem(schedule);
    case 'condition':
      return check === '' ? missing('check') : undefined;
    case 'event':
      return on === '' ? missing('on') : undefined;
    case 'manual':
      return undefined;
    default:
      return { message: `"${gate}" is no gate${didYouMean(gate, GATES)} (${GATES.join(', ')})`, key: 'gate' };
  }
}

/** Five fields of `*`, numbers and lists of numbers. */
function cronProblem(schedule: string): OrderProblem | undefined {
  const fields = schedule.trim().split(/\s+/);
  if (fields.length === CRON_FIELDS && fields.every((field) => /^(\*|\d+(,\d+)*)$/.test(field)))
    return undefined;
  return {
    message: `"${schedule}" is no schedule: five fields, each *, a number or numbers with commas`,
    key: 'schedule',
  };
}
