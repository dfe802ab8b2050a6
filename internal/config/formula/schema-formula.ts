import { text, texts } from '../schema/schema-common.ts';
import { z } from '../schema/zod.ts';

/** Known to the format; what they mean is the business of whoever carries a formula out. */
const other = () => z.unknown().optional();
const scalar = () => z.union([z.string(), z.number(), z.boolean()]);

const varSchema = z.strictObject({
  description: text().optional(),
  default: scalar().optional(),
  required: z.boolean().optional(),
  enum: z.array(scalar()).optional(),
  pattern: text().refine(isPattern, { error: 'is not a regular expression' }).optional(),
  type: text().optional(),
});

const stepSchema = z.strictObject({
  id: z.string().min(1, { error: 'must not be empty' }),
  title: text().optional(),
  description: text().optional(),
  needs: texts().optional(),
  depends_on: texts().optional(),
  description_file: other(),
  notes: other(),
  type: other(),
  priority: other(),
  tags: other(),
  labels: other(),
  metadata: other(),
  waits_for: other(),
  assignee: other(),
  expand: other(),
  expand_vars: other(),
  condition: other(),
  children: other(),
  gate: other(),
  loop: other(),
  on_complete: other(),
  ralph: other(),
  retry: other(),
});

/** A formula file. Source: Gas City formulas. */
export const formulaSchema = z.strictObject({
  formula: text().optional(),
  description: text().optional(),
  version: z.int().min(1, { error: 'must be at least 1' }).optional(),
  extends: texts().optional(),
  /** A text alone is the default. */
  vars: z.record(z.string(), z.union([scalar(), varSchema])).optional(),
  steps: z.array(stepSchema).optional(),
  type: other(),
  phase: other(),
  pour: other(),
  template: other(),
  compose: other(),
  advice: other(),
  aspects: other(),
  pointcuts: other(),
});

export type RawFormula = z.infer<typeof formulaSchema>;

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern);
    return true;
  } catch {
    return false; // the check says so, with the place
  }
}
