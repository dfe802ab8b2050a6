import { duration, flag, text } from '../schema/schema-common.ts';
import { z } from '../schema/zod.ts';
import { GATES } from './order.ts';

const orderTableSchema = z.strictObject({
  description: text().optional(),
  formula: text().optional(),
  exec: text().optional(),
  gate: z.enum(GATES),
  interval: duration().optional(),
  schedule: text().optional(),
  check: text().optional(),
  on: text().optional(),
  pool: text().optional(),
  timeout: duration().optional(),
  enabled: flag().optional(),
});

/** An order file. Source: Gas City orders. */
export const orderSchema = z.strictObject({ order: orderTableSchema });

export type RawOrder = z.infer<typeof orderTableSchema>;
