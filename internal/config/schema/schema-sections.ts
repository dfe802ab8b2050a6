import { BEAD_PROVIDERS } from '../bead-provider.ts';
import { WAKE_MODES } from './schema-agent.ts';
import {
  backEnd,
  byteSize,
  count,
  duration,
  durationOrOff,
  envNames,
  flag,
  MAX_NAME_LENGTH,
  name,
  port,
  tcpAddress,
  text,
  texts,
  tombstone,
} from './schema-common.ts';
import { importsSchema } from './schema-import.ts';
import { agentOverrideSchema } from './schema-patch.ts';
import { z } from './zod.ts';

export const SESSION_PROVIDERS = ['tmux', 'subprocess', 'acp', 'k8s', 'hybrid', 'fake', 'fail'] as const;

const maxSessions = () => z.int().min(-1, { error: 'must be -1 (unlimited), 0 or more' });

export const workspaceSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[^/\x00-\x1f\x7f]*$/, { error: 'must not hold "/" or control characters' })
      .max(MAX_NAME_LENGTH, { error: `is longer than ${MAX_NAME_LENGTH} characters` })
      .optional()
      .describe("The city's name; by default its folder's."),
    prefix: text().optional(),
    provider: text().optional().describe('Agent program of every agent that names none.'),
    start_command: text().optional(),
    suspended: flag().optional(),
    max_active_sessions: maxSessions().optional(),
    session_template: text().optional().describe('Template: City, Agent, Dir, Name.'),
    install_agent_hooks: texts().optional(),
    global_fragments: texts().optional().describe('Prompt fragments appended to every prompt.'),
    includes: texts().optional().describe('Packs of the city: folders or remote sources.'),
    default_rig_includes: texts().optional().describe('Packs that gc rig add gives to a rig.'),
  })
  .meta({ id: 'Workspace' });

export const sessionSchema = z
  .strictObject({
    provider: backEnd('session provider', SESSION_PROVIDERS).optional().describe('What hosts the sessions.'),
    setup_timeout: duration().optional(),
    nudge_ready_timeout: duration().optional(),
    nudge_retry_interval: duration().optional(),
    nudge_lock_timeout: duration().optional(),
    debounce_ms: count().optional(),
    display_ms: count().optional(),
    startup_timeout: duration().optional(),
    socket: text().optional().describe("The tmux socket; by default the city's name."),
    remote_match: text().optional(),
    k8s: z
      .strictObject({
        namespace: text().optional(),
        image: text().optional(),
        context: text().optional(),
        cpu_request: text().optional(),
        mem_request: text().optional(),
        cpu_limit: text().optional(),
        mem_limit: text().optional(),
        prebaked: flag().optional(),
        service_account: text().optional().describe('The service account of the pods.'),
      })
      .optional(),
    acp: z
      .strictObject({
        handshake_timeout: duration().optional(),
        nudge_busy_timeout: duration().optional(),
        output_buffer_lines: count().optional(),
      })
      .optional(),
  })
  .meta({ id: 'Session' });

export const daemonSchema = z
  .strictObject({
    formula_v2: flag().optional(),
    graph_workflows: flag().optional().meta({ deprecated: true }),
    patrol_interval: duration().optional(),
    max_restarts: count().optional().describe('0: unlimited.'),
    restart_window: duration().optional(),
    shutdown_timeout: duration().optional(),
    wisp_gc_interval: duration().optional(),
    wisp_ttl: duration().optional(),
    drift_drain_timeout: duration().optional(),
    answer_timeout: duration()
      .optional()
      .describe('What agents ask people is answered by itself after this. 0: never.'),
    on_answer_timeout: z.enum(['deny', 'cancel']).optional().describe('How. Default: deny.'),
    observe_paths: texts().optional(),
    probe_concurrency: z.int().optional(),
    max_wakes_per_tick: z.int().optional(),
    max_load_per_core: z
      .number()
      .min(0, { error: 'must not be negative' })
      .optional()
      .describe('Starts wait while more processes than this per core want to run. 0: no limit.'),
    min_free_memory: byteSize().optional().describe('Starts wait when less than this would stay free.'),
    memory_per_session: byteSize().optional().describe('What a starting session is taken to need.'),
  })
  .meta({ id: 'Daemon' });

export const sessionSleepSchema = z
  .strictObject({
    interactive_resume: durationOrOff().optional(),
    interactive_fresh: durationOrOff().optional(),
    noninteractive: durationOrOff().optional(),
  })
  .meta({ id: 'SessionSleep' });

export const agentDefaultsSchema = z
  .strictObject({
    model: text().optional(),
    wake_mode: z.enum(WAKE_MODES).optional(),
    default_sling_formula: text().optional(),
    allow_overlay: texts().optional(),
    allow_env_override: envNames().optional(),
    append_fragments: texts().optional(),
    skills: tombstone().optional(),
    mcp: tombstone().optional(),
  })
  .meta({ id: 'AgentDefaults' });

export const rigSchema = z
  .strictObject({
    name: name(),
    path: z.string().min(1, { error: 'must not be empty' }),
    prefix: text().optional(),
    suspended: flag().optional(),
    formulas_dir: text().optional(),
    max_active_sessions: maxSessions().optional(),
    default_sling_target: text().optional(),
    session_sleep: sessionSleepSchema.optional(),
    dolt_host: text().optional(),
    dolt_port: text().optional(),
    includes: texts().optional().describe('Packs of the rig: folders or remote sources.'),
    imports: importsSchema.optional(),
    overrides: z
      .array(agentOverrideSchema)
      .optional()
      .describe("Changes of the agents that the rig's packs bring."),
    patches: z.array(agentOverrideSchema).optional().describe('Like overrides; applied after them.'),
  })
  .meta({ id: 'Rig', description: 'A project folder of the city.' });

const orderOverrideSchema = z
  .strictObject({
    name: z.string().min(1, { error: 'must not be empty' }),
    rig: text().optional(),
    enabled: flag().optional(),
    gate: text().optional(),
    interval: duration().optional(),
    schedule: text().optional(),
    check: text().optional(),
    on: text().optional(),
    pool: text().optional(),
    timeout: duration().optional(),
  })
  .meta({ id: 'OrderOverride' });

export const ordersSchema = z
  .strictObject({
    skip: texts().optional(),
    max_timeout: duration().optional(),
    overrides: z.array(orderOverrideSchema).optional(),
  })
  .meta({ id: 'Orders' });

export const beadsSchema = z.strictObject({
  provider: backEnd('bead provider', BEAD_PROVIDERS).optional().describe('Where work beads live.'),
});
export const mailSchema = z.strictObject({ provider: backEnd('mail provider', ['fake', 'fail']).optional() });
export const eventsSchema = z.strictObject({
  provider: backEnd('event provider', ['fake', 'fail']).optional(),
});
export const doltSchema = z.strictObject({ port: port().optional(), host: text().optional() });
export const formulasSchema = z.strictObject({ dir: text().optional() });
export const chatSessionsSchema = z.strictObject({ idle_timeout: duration().optional() });
export const convergenceSchema = z.strictObject({
  max_per_agent: z.int().optional(),
  max_total: z.int().optional(),
});
export const apiSchema = z.strictObject({
  port: port().optional(),
  bind: text().optional(),
  allow_mutations: flag().optional(),
  grpc: tcpAddress()
    .optional()
    .describe('Where the Sessions service listens besides the socket in .gc: host:port.'),
  registry: tcpAddress()
    .optional()
    .describe('Where operators of this machine register harnesses: a loopback IP and port.'),
  token_file: text()
    .optional()
    .describe('File, from the city folder, whose first line callers of grpc must show.'),
});

export type RawSession = z.infer<typeof sessionSchema>;
export type RawSessionSleep = z.infer<typeof sessionSleepSchema>;
export type RawRig = z.infer<typeof rigSchema>;
export type RawOrders = z.infer<typeof ordersSchema>;
