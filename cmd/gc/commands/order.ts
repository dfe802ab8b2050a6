import type { City } from '../../../internal/config/city.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { shownPosition } from '../../../internal/config/document/source-document.ts';
import type { Order } from '../../../internal/config/order/order.ts';
import { readOrders } from '../../../internal/config/order/read-orders.ts';
import { durationText } from '../../../internal/config/schema/duration-text.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked, problemText } from '../city/load-city.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { plainText } from '../output/plain.ts';
import { renderTable } from '../output/table.ts';

export const runOrderList: CommandRun = async (context, input) => {
  const { city, orders } = await ordersHere(context);
  const rig = input.text('rig');
  if (rig !== undefined) refuseUnknownRig(city, rig);
  const shown = rig === undefined ? orders : orders.filter((order) => order.rig === rig);
  if (context.json) context.out.write(`${JSON.stringify(shown.map(orderJson), null, 2)}\n`);
  else if (shown.length === 0) context.out.write('No orders found.\n');
  else context.out.write(orderTable(shown));
  return 0;
};

export const runOrderShow: CommandRun = async (context, input) => {
  const { city, orders } = await ordersHere(context);
  const order = orderNamed(city, orders, input.arg('name'), input.text('rig'));
  context.out.write(
    context.json ? `${JSON.stringify(orderJson(order), null, 2)}\n` : orderText(order, city.root),
  );
  return 0;
};

/** All orders that are in force; wrong ones are said on stderr and left out. */
async function ordersHere(
  context: Context,
): Promise<{ readonly city: City; readonly orders: readonly Order[] }> {
  const city = await loadChecked(context, await cityRoot(context));
  const { orders, problems, texts } = await readOrders(city);
  context.err.write(problemText(context.err, city.root, problems, texts));
  return { city, orders };
}

function refuseUnknownRig(city: City, rig: string): void {
  const names = city.rigs.map(({ name }) => name);
  if (names.includes(rig)) return;
  throw new UsageError(`rig "${rig}" not found in the city file${didYouMean(rig, names)}`, 'gc rig list');
}

/** By scoped name, else by a name that only one scope has; the city's goes first. @throws GcError `unknown-order` */
function orderNamed(city: City, orders: readonly Order[], word: string, rig: string | undefined): Order {
  if (rig !== undefined) refuseUnknownRig(city, rig);
  const scoped = orders.find(
    (order) => order.scopedName === word && (rig === undefined || order.rig === rig),
  );
  if (scoped) return scoped;
  const named = orders.filter((order) => order.name === word && (rig === undefined || order.rig === rig));
  const [only, other] = named;
  if (only && !other) return only;
  if (only) {
    const names = named.map(({ scopedName }) => scopedName).join(', ');
    throw new GcError('ambiguous-order', `order "${word}" is in several rigs: ${names}`, {
      next: `gc order show ${only.scopedName}`,
    });
  }
  const meant = didYouMean(
    word,
    orders.map(({ name }) => name),
  );
  throw new GcError('unknown-order', `order "${word}" not found${meant}`, { next: 'gc order list' });
}

const NONE = '-';

const typeOf = ({ formula }: Order): 'formula' | 'exec' => (formula === '' ? 'exec' : 'formula');

function whenOf({ gate, intervalMs, schedule, check, on }: Order): string {
  switch (gate) {
    case 'cooldown':
      return durationText(intervalMs ?? 0);
    case 'cron':
      return schedule;
    case 'condition':
      return check;
    case 'event':
      return on;
    case 'manual':
      return NONE;
  }
}

/** Source of the columns: Gas City `gc order list`. */
function orderTable(orders: readonly Order[]): string {
  const hasRigs = orders.some(({ rig }) => rig !== '');
  const header = ['NAME', 'TYPE', 'GATE', 'INTERVAL/SCHED', ...(hasRigs ? ['RIG'] : []), 'TARGET'];
  const rows = orders.map((order) => [
    order.name,
    typeOf(order),
    order.gate,
    whenOf(order),
    ...(hasRigs ? [order.rig || NONE] : []),
    order.pool || NONE,
  ]);
  return plainText(renderTable(header, rows));
}

function orderText(order: Order, baseDir: string): string {
  const { scopedName, description, formula, exec, gate, intervalMs, schedule, check, on, pool } = order;
  const lines: readonly (readonly [string, string])[] = [
    ['Order', scopedName],
    ['Description', description],
    ['Rig', order.rig],
    ['Formula', formula],
    ['Exec', exec],
    ['Gate', gate],
    ['Interval', intervalMs === undefined ? '' : durationText(intervalMs)],
    ['Schedule', schedule],
    ['Check', check],
    ['On', on],
    ['Target', pool],
    ['Timeout', durationText(order.timeoutMs)],
    ['Source', shownPosition(baseDir, order.source)],
  ];
  const told = lines.filter(([, value]) => value !== '');
  const width = Math.max(...told.map(([label]) => label.length)) + 1;
  return plainText(told.map(([label, value]) => `${`${label}:`.padEnd(width)}  ${value}\n`).join(''));
}

/** Source of the keys: Gas City `GET /v0/orders`. */
function orderJson(order: Order) {
  const { name, scopedName, description, gate, intervalMs, schedule, check, on, formula, exec, pool } = order;
  const texts = { schedule, check, on, formula, exec, pool, rig: order.rig };
  return {
    name,
    scoped_name: scopedName,
    description,
    type: typeOf(order),
    gate,
    ...(intervalMs === undefined ? {} : { interval: durationText(intervalMs) }),
    ...Object.fromEntries(Object.entries(texts).filter(([, value]) => value !== '')),
    timeout: durationText(order.timeoutMs),
    timeout_ms: order.timeoutMs,
    enabled: true,
    path: order.source.file,
  };
}
