import { agentSchema, namedSessionSchema, SCOPES } from './schema-agent.ts';
import { text, texts, tombstone } from './schema-common.ts';
import { importsSchema } from './schema-import.ts';
import { patchesSchema } from './schema-patch.ts';
import { providerSchema } from './schema-provider.ts';
import { agentDefaultsSchema, formulasSchema } from './schema-sections.ts';
import { serviceSchema } from './schema-service.ts';
import { z } from './zod.ts';

export const MAX_PACK_SCHEMA = 2;

/** `[pack]`. The numbers of `schema` are judged by the loader, which has better words for them. */
export const packMetaSchema = z
  .strictObject({
    name: text().optional(),
    version: text().optional(),
    schema: z.int().optional(),
    description: text().optional(),
    requires_gc: text().optional(),
    includes: texts().optional(),
    requires: z
      .array(z.strictObject({ scope: z.enum(SCOPES).optional(), agent: text().optional() }))
      .optional(),
  })
  .meta({ id: 'Pack' });

export const commandSchema = z.strictObject({
  name: text(),
  description: text().optional(),
  long_description: text().optional(),
  script: text(),
});

export const doctorSchema = z.strictObject({
  name: text(),
  script: text(),
  description: text().optional(),
});

/** `commands/<words>/command.toml` */
export const commandManifestSchema = z.strictObject({
  command: texts().optional(),
  description: text().optional(),
  run: text().optional(),
});

/** `doctor/<name>/doctor.toml` */
export const doctorManifestSchema = z.strictObject({
  description: text().optional(),
  run: text().optional(),
});

/** As the loader checks it: what a requirement must say, the loader has better words for. */
const looseMetaSchema = packMetaSchema.extend({
  requires: z.array(z.strictObject({ scope: text().optional(), agent: text().optional() })).optional(),
});

/** The tables of a pack manifest besides its agents, sessions and providers. */
export const PACK_TABLES = {
  pack: looseMetaSchema,
  imports: importsSchema,
  agent_defaults: agentDefaultsSchema,
  formulas: formulasSchema,
  patches: patchesSchema,
  global: z.strictObject({ session_live: texts().optional() }),
} as const;

export const PACK_LISTS = {
  agents: agentSchema,
  named_sessions: namedSessionSchema,
  services: serviceSchema,
  commands: commandSchema,
  doctors: doctorSchema,
} as const;

/** A whole pack manifest, as an editor should check it. */
export const packManifestSchema = z.strictObject({
  pack: packMetaSchema,
  imports: importsSchema.optional(),
  agent_defaults: agentDefaultsSchema.optional(),
  agents: z.union([z.array(agentSchema), agentDefaultsSchema]).optional(),
  agent: z.array(agentSchema).optional(),
  named_sessions: z.array(namedSessionSchema).optional(),
  named_session: z.array(namedSessionSchema).optional(),
  services: z.array(serviceSchema).optional(),
  service: z.array(serviceSchema).optional(),
  providers: z.record(z.string(), providerSchema).optional(),
  formulas: formulasSchema.optional(),
  patches: patchesSchema.optional(),
  doctor: z.array(doctorSchema).optional(),
  commands: z.array(commandSchema).optional(),
  global: PACK_TABLES.global.optional(),
  mcp: tombstone().optional(),
});

export type RawPackMeta = z.infer<typeof looseMetaSchema>;
export type RawCommand = z.infer<typeof commandSchema>;
export type RawDoctor = z.infer<typeof doctorSchema>;
