import { flag, text } from './schema-common.ts';
import { z } from './zod.ts';

/** `[imports.<binding>]`. Source: Gas City Import. */
export const importSchema = z
  .strictObject({
    source: text().min(1, { error: 'must not be empty' }).describe('A folder or a remote source.'),
    version: text().optional().describe('A version constraint, or sha:<hex>.'),
    export: flag().optional().describe("What comes through it carries the importing pack's name outside."),
    transitive: flag().optional().describe('false: without what the pack itself imports.'),
    shadow: z.enum(['', 'warn', 'silent']).optional(),
  })
  .meta({ id: 'Import' });

/** `[packs.<name>]`: a named remote source. */
export const packSourceSchema = z
  .strictObject({
    source: text().min(1, { error: 'must not be empty' }),
    ref: text().optional(),
    path: text().optional(),
  })
  .meta({ id: 'PackSource' });

export const importsSchema = z.record(z.string(), importSchema);

export type RawImport = z.infer<typeof importSchema>;
export type RawPackSource = z.infer<typeof packSourceSchema>;
