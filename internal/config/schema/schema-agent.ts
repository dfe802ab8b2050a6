import {
  count,
  duration,
  durationOrOff,
  flag,
  name,
  text,
  textMap,
  texts,
  tombstone,
} from './schema-common.ts';
import { PROMPT_MODES } from './schema-provider.ts';
import { z } from './zod.ts';

const maxSessions = () => z.int().min(-1, { error: 'must be -1 (unlimited), 0 or more' });

export const WAKE_MODES = ['resume', 'fresh'] as const;
export const SCOPES = ['', 'city', 'rig'] as const;

export const worktreeSchema = z
  .strictObject({
    branch: text()
      .optional()
      .describe('Template: the fields of work_dir. Default gc/{{.AgentBase}}, with the rig in front of it.'),
    base: text().optional().describe("What a new branch starts from; by default the rig's current commit."),
    setup: texts().optional().describe('Shell commands in a new worktree, once. Templates.'),
    archive: texts().optional().describe('Shell commands in a worktree before it is removed. Templates.'),
    copy: texts().optional().describe('Untracked files of the rig that a new worktree gets: glob patterns.'),
    ports: z
      .int()
      .min(0, { error: 'must not be negative' })
      .max(1_000, { error: 'is above 1000' })
      .optional()
      .describe('Ports for each worktree alone: GC_PORT is the first, GC_PORT_COUNT how many.'),
  })
  .meta({ id: 'Worktree' });

export const agentSchema = z
  .strictObject({
    name: name(),
    description: text().optional(),
    dir: text().optional().describe('The rig this agent belongs to; else a folder of the city.'),
    work_dir: text().optional().describe('Template: Agent, AgentBase, Rig, RigRoot, CityRoot, CityName.'),
    scope: z.enum(SCOPES).optional(),
    suspended: flag().optional(),
    pre_start: texts()
      .optional()
      .describe('Shell commands before the session; a failure stops the start. Templates.'),
    prompt_template: text()
      .optional()
      .describe('File with the prompt; *.template.md is rendered, *.md taken as it is.'),
    nudge: text().optional().describe('Typed once the agent is ready.'),
    session: z.enum(['', 'acp']).optional(),
    provider: text().optional().describe('The agent program: a built-in preset or one of `providers`.'),
    start_command: text().optional().describe('A shell command instead of a preset.'),
    args: texts().optional().describe("Replaces the preset's arguments."),
    prompt_mode: z.enum(PROMPT_MODES).optional(),
    prompt_flag: text().optional(),
    ready_delay_ms: count().optional(),
    ready_prompt_prefix: text().optional(),
    process_names: texts().optional(),
    emits_permission_warning: flag().optional(),
    pty: flag()
      .optional()
      .describe('false: pipes instead of a terminal, for embedded sessions. Default true.'),
    env: textMap().optional().describe("$NAME is taken from the controller's environment."),
    option_defaults: textMap()
      .optional()
      .describe("Choices for the preset's options, such as permission_mode."),
    max_active_sessions: maxSessions().optional(),
    min_active_sessions: count().optional(),
    scale_check: text().optional().describe('Shell command that prints how many sessions are wanted.'),
    drain_timeout: duration().optional(),
    on_boot: text().optional(),
    on_death: text().optional(),
    namepool: text().optional().describe('File with one session name per line.'),
    work_query: text().optional(),
    sling_query: text().optional(),
    idle_timeout: duration().optional(),
    sleep_after_idle: durationOrOff().optional(),
    install_agent_hooks: texts().optional(),
    hooks_installed: flag().optional(),
    session_setup: texts().optional().describe('Shell commands after the session exists. Templates.'),
    session_setup_script: text().optional(),
    session_live: texts()
      .optional()
      .describe('Like session_setup; re-applied on change without a restart. Templates.'),
    overlay_dir: text().optional().describe('Folder copied into the work dir last.'),
    default_sling_formula: text().optional(),
    inject_fragments: texts().optional(),
    inject_assigned_skills: flag().optional(),
    attach: flag().optional(),
    fallback: flag().optional(),
    depends_on: texts().optional().describe('Agents that are started first.'),
    resume_command: text().optional().describe('Template: SessionKey.'),
    wake_mode: z.enum(WAKE_MODES).optional(),
    worktree: worktreeSchema.optional().describe('A git worktree of the rig for each session.'),
    skills: tombstone().optional(),
    mcp: tombstone().optional(),
  })
  .meta({ id: 'Agent', description: 'An agent template.' });

/** `agents/<name>/agent.toml`: the folder gives the name. */
export const agentManifestSchema = agentSchema
  .extend({ name: text().optional() })
  .meta({ id: 'AgentManifest' });

export const namedSessionSchema = z
  .strictObject({
    name: name().optional(),
    template: name().describe('The agent (bare name) that runs in this session.'),
    scope: z.enum(SCOPES).optional(),
    dir: text().optional().describe('The rig.'),
    mode: z.enum(['on_demand', 'always']).optional(),
  })
  .meta({ id: 'NamedSession', description: 'A reserved identity with one session.' });

export type RawAgent = z.infer<typeof agentSchema>;
export type RawNamedSession = z.infer<typeof namedSessionSchema>;
