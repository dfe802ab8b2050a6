import { agentSchema } from './schema-agent.ts';
import { count, duration, flag, text, textMap, texts, tombstone } from './schema-common.ts';
import { providerSchema } from './schema-provider.ts';
import { z } from './zod.ts';

const { name: _name, dir: _dir, fallback: _fallback, depends_on: dependsOn, ...values } = agentSchema.shape;

/** What a patch or an override may say about an agent: its values, lists that are added to, and the old pool table. */
const agentChanges = {
  ...values,
  depends_on: dependsOn,
  env_remove: texts().optional(),
  pre_start_append: texts().optional(),
  session_setup_append: texts().optional(),
  session_live_append: texts().optional(),
  install_agent_hooks_append: texts().optional(),
  inject_fragments_append: texts().optional(),
  skills_append: tombstone().optional(),
  mcp_append: tombstone().optional(),
  pool: z
    .strictObject({
      min: z.int().optional(),
      max: z.int().optional(),
      check: text().optional(),
      drain_timeout: duration().optional(),
      on_death: text().optional(),
      on_boot: text().optional(),
    })
    .optional(),
} as const;

/** `[[patches.agent]]`. Source: Gas City AgentPatch. */
export const agentPatchSchema = z
  .strictObject({ dir: text().optional(), name: text(), ...agentChanges })
  .meta({ id: 'AgentPatch' });

/** `[[rigs.overrides]]`, `[[rigs.patches]]`. Source: Gas City AgentOverride. */
export const agentOverrideSchema = z
  .strictObject({ agent: text(), dir: text().optional(), ...agentChanges })
  .meta({ id: 'AgentOverride' });

export const rigPatchSchema = z
  .strictObject({
    name: text(),
    path: text().optional(),
    prefix: text().optional(),
    suspended: flag().optional(),
  })
  .meta({ id: 'RigPatch' });

export const providerPatchSchema = z
  .strictObject({
    name: text(),
    command: text().optional(),
    args: providerSchema.shape.args,
    prompt_mode: providerSchema.shape.prompt_mode,
    prompt_flag: text().optional(),
    ready_delay_ms: count().optional(),
    env: textMap().optional(),
    env_remove: texts().optional(),
    _replace: flag().optional(),
  })
  .meta({ id: 'ProviderPatch' });

export const patchesSchema = z
  .strictObject({
    agent: z.array(agentPatchSchema).optional(),
    agents: z.array(agentPatchSchema).optional(),
    rigs: z.array(rigPatchSchema).optional(),
    providers: z.array(providerPatchSchema).optional(),
  })
  .meta({ id: 'Patches' });

export type RawAgentChanges = Omit<z.infer<typeof agentPatchSchema>, 'name' | 'dir'>;
export type RawAgentPatch = z.infer<typeof agentPatchSchema>;
export type RawAgentOverride = z.infer<typeof agentOverrideSchema>;
export type RawRigPatch = z.infer<typeof rigPatchSchema>;
export type RawProviderPatch = z.infer<typeof providerPatchSchema>;
