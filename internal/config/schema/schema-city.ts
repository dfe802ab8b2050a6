import { agentManifestSchema, agentSchema, namedSessionSchema } from './schema-agent.ts';
import { importSchema, importsSchema, packSourceSchema } from './schema-import.ts';
import { packManifestSchema } from './schema-pack.ts';
import { agentPatchSchema, patchesSchema, providerPatchSchema, rigPatchSchema } from './schema-patch.ts';
import { providerSchema } from './schema-provider.ts';
import {
  agentDefaultsSchema,
  apiSchema,
  beadsSchema,
  chatSessionsSchema,
  convergenceSchema,
  daemonSchema,
  doltSchema,
  eventsSchema,
  formulasSchema,
  mailSchema,
  ordersSchema,
  rigSchema,
  sessionSchema,
  sessionSleepSchema,
  workspaceSchema,
} from './schema-sections.ts';
import { serviceSchema } from './schema-service.ts';
import { z } from './zod.ts';

/** The sections that are one table each. */
export const SECTIONS = {
  workspace: workspaceSchema,
  session: sessionSchema,
  daemon: daemonSchema,
  agent_defaults: agentDefaultsSchema,
  session_sleep: sessionSleepSchema,
  chat_sessions: chatSessionsSchema,
  beads: beadsSchema,
  events: eventsSchema,
  mail: mailSchema,
  api: apiSchema,
  orders: ordersSchema,
  dolt: doltSchema,
  formulas: formulasSchema,
  convergence: convergenceSchema,
} as const;

/** Lists, by the name they have in `City`, with the schema of one item. */
export const LISTS = {
  include: z.string().min(1, { error: 'must not be empty' }),
  agents: agentSchema,
  named_sessions: namedSessionSchema,
  rigs: rigSchema,
  services: serviceSchema,
  agent_patches: agentPatchSchema,
  rig_patches: rigPatchSchema,
  provider_patches: providerPatchSchema,
} as const;

/** Maps of names, with the schema of one value. */
export const MAPS = { providers: providerSchema, imports: importSchema, packs: packSourceSchema } as const;

/** Section as it may be spelled in a file -> its own name. `agents` as a table is `agent_defaults`. */
export const SECTION_ALIASES: Readonly<Record<string, string>> = {
  agent: 'agents',
  named_session: 'named_sessions',
  rig: 'rigs',
  provider: 'providers',
  service: 'services',
};

/** The whole city file, as an editor should check it. */
const cityFileSchema = z
  .strictObject({
    include: z.array(LISTS.include).optional(),
    workspace: SECTIONS.workspace.optional(),
    imports: importsSchema.optional(),
    packs: z.record(z.string(), packSourceSchema).optional(),
    patches: patchesSchema.optional(),
    services: z.array(serviceSchema).optional(),
    service: z.array(serviceSchema).optional(),
    agents: z.union([z.array(agentSchema), agentDefaultsSchema]).optional(),
    agent: z.array(agentSchema).optional(),
    named_sessions: z.array(namedSessionSchema).optional(),
    named_session: z.array(namedSessionSchema).optional(),
    rigs: z.array(rigSchema).optional(),
    rig: z.array(rigSchema).optional(),
    providers: z.record(z.string(), providerSchema).optional(),
    provider: z.record(z.string(), providerSchema).optional(),
    session: SECTIONS.session.optional(),
    daemon: SECTIONS.daemon.optional(),
    agent_defaults: agentDefaultsSchema.optional(),
    session_sleep: SECTIONS.session_sleep.optional(),
    chat_sessions: SECTIONS.chat_sessions.optional(),
    beads: SECTIONS.beads.optional(),
    events: SECTIONS.events.optional(),
    mail: SECTIONS.mail.optional(),
    api: SECTIONS.api.optional(),
    orders: SECTIONS.orders.optional(),
    dolt: SECTIONS.dolt.optional(),
    formulas: SECTIONS.formulas.optional(),
    convergence: SECTIONS.convergence.optional(),
  })
  .meta({ title: 'Gas City city file', description: 'city.yaml, city.yml or city.toml' });

/** JSON Schema (draft 2020-12) of a city file and, under `$defs`, of an agent folder's manifest and of a pack manifest. */
export function cityJsonSchema(): Record<string, unknown> {
  const city = z.toJSONSchema(cityFileSchema, { target: 'draft-2020-12', io: 'input' });
  const manifest = z.toJSONSchema(agentManifestSchema, { target: 'draft-2020-12', io: 'input' });
  const { $schema: _schema, ...manifestBody } = manifest;
  const pack = z.toJSONSchema(packManifestSchema, { target: 'draft-2020-12', io: 'input' });
  const { $schema: _packSchema, $defs: packDefs, ...packBody } = pack;
  const defs = { ...packDefs, ...city.$defs, AgentManifest: manifestBody, PackManifest: packBody };
  return { ...city, $defs: defs };
}
