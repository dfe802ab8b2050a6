import { parseBytes } from '../../platform/bytes.ts';
import type { City, SessionSleep } from '../city.ts';
import type { ProviderSpec } from '../preset/provider-spec.ts';
import { deriveBeadPrefix } from '../qualified-name.ts';
import { durationMs, sleepText, written } from '../schema/raw-values.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { RawOrders, RawSession, RawSessionSleep } from '../schema/schema-sections.ts';
import type { Draft, RawSections } from './draft.ts';

/** Defaults that the configuration reference gives. Source: Gas City. */
const DEFAULTS = {
  setupTimeoutMs: 10_000,
  nudgeReadyTimeoutMs: 10_000,
  nudgeRetryIntervalMs: 500,
  nudgeLockTimeoutMs: 30_000,
  debounceMs: 500,
  displayMs: 5_000,
  startupTimeoutMs: 60_000,
  acpHandshakeTimeoutMs: 30_000,
  acpNudgeBusyTimeoutMs: 60_000,
  acpOutputBufferLines: 1_000,
  patrolIntervalMs: 30_000,
  maxRestarts: 5,
  restartWindowMs: 3_600_000,
  shutdownTimeoutMs: 5_000,
  driftDrainTimeoutMs: 120_000,
  probeConcurrency: 8,
  maxWakesPerTick: 5,
  convergenceMaxPerAgent: 2,
  convergenceMaxTotal: 10,
} as const;

type SectionsOfCity = Omit<
  City,
  | 'root'
  | 'file'
  | 'agents'
  | 'namedSessions'
  | 'rigs'
  | 'providers'
  | 'services'
  | 'packs'
  | 'commands'
  | 'doctors'
  | 'layers'
  | 'skillsDir'
  | 'mcpDir'
  | 'sources'
  | 'revision'
  | 'provenance'
  | 'warnings'
  | 'notes'
>;

/** The tables of the city file with their defaults. `folderName` names a city that has no name of its own. */
export function buildSections(draft: Draft, folderName: string): SectionsOfCity {
  const sections = valuesOf(draft.sections);
  const { workspace, daemon, agent_defaults: defaults } = sections;
  const name = workspace.name || folderName;
  return {
    workspace: {
      name,
      prefix: workspace.prefix || deriveBeadPrefix(name),
      provider: workspace.provider ?? '',
      startCommand: workspace.start_command ?? '',
      suspended: workspace.suspended ?? false,
      maxActiveSessions: workspace.max_active_sessions,
      sessionTemplate: workspace.session_template ?? '',
      installAgentHooks: workspace.install_agent_hooks ?? [],
      globalFragments: workspace.global_fragments ?? [],
      includes: workspace.includes ?? [],
      defaultRigIncludes: workspace.default_rig_includes ?? [],
    },
    session: buildSession(sections.session),
    daemon: {
      patrolIntervalMs: durationMs(daemon.patrol_interval) ?? DEFAULTS.patrolIntervalMs,
      maxRestarts: daemon.max_restarts ?? DEFAULTS.maxRestarts,
      restartWindowMs: durationMs(daemon.restart_window) ?? DEFAULTS.restartWindowMs,
      shutdownTimeoutMs: durationMs(daemon.shutdown_timeout) ?? DEFAULTS.shutdownTimeoutMs,
      driftDrainTimeoutMs: durationMs(daemon.drift_drain_timeout) ?? DEFAULTS.driftDrainTimeoutMs,
      answerTimeoutMs: durationMs(daemon.answer_timeout) ?? 0,
      onAnswerTimeout: daemon.on_answer_timeout ?? 'deny',
      probeConcurrency: Math.max(1, daemon.probe_concurrency ?? DEFAULTS.probeConcurrency),
      maxWakesPerTick: positive(daemon.max_wakes_per_tick, DEFAULTS.maxWakesPerTick),
      maxLoadPerCore: daemon.max_load_per_core ?? 0,
      minFreeMemory: parseBytes(daemon.min_free_memory ?? '') ?? 0,
      memoryPerSession: parseBytes(daemon.memory_per_session ?? '') ?? 0,
      observePaths: daemon.observe_paths ?? [],
      formulaV2: (daemon.formula_v2 ?? false) || (daemon.graph_workflows ?? false),
      wispGcIntervalMs: durationMs(daemon.wisp_gc_interval),
      wispTtlMs: durationMs(daemon.wisp_ttl),
    },
    beads: { provider: sections.beads.provider || 'sqlite' },
    events: { provider: sections.events.provider ?? '' },
    mail: { provider: sections.mail.provider ?? '' },
    api: {
      port: sections.api.port ?? 0,
      bind: sections.api.bind || '127.0.0.1',
      allowMutations: sections.api.allow_mutations ?? false,
      ...(sections.api.grpc ? { grpc: sections.api.grpc } : {}),
      ...(sections.api.registry ? { registry: sections.api.registry } : {}),
      ...(sections.api.token_file ? { tokenFile: sections.api.token_file } : {}),
    },
    chatSessions: { idleTimeoutMs: durationMs(sections.chat_sessions.idle_timeout) ?? 0 },
    orders: buildOrders(sections.orders),
    dolt: { port: sections.dolt.port ?? 0, host: sections.dolt.host || 'localhost' },
    formulas: { dir: sections.formulas.dir || 'formulas' },
    convergence: {
      maxPerAgent: positive(sections.convergence.max_per_agent, DEFAULTS.convergenceMaxPerAgent),
      maxTotal: positive(sections.convergence.max_total, DEFAULTS.convergenceMaxTotal),
    },
    sessionSleep: buildSleep(sections.session_sleep),
    agentDefaults: {
      model: defaults.model ?? '',
      wakeMode: defaults.wake_mode ?? '',
      defaultSlingFormula: defaults.default_sling_formula ?? '',
      allowOverlay: defaults.allow_overlay ?? [],
      allowEnvOverride: defaults.allow_env_override ?? [],
      appendFragments: defaults.append_fragments ?? [],
    },
  };
}

/** The tables without where they stand. */
function valuesOf(sections: Draft['sections']): RawSections {
  const values = Object.entries(sections).map(([name, entry]) => [name, entry.value]);
  // The same names with the values of their own entries.
  return Object.fromEntries(values) as RawSections;
}

function positive(value: number | undefined, otherwise: number): number {
  return value !== undefined && value > 0 ? value : otherwise;
}

function buildSession(session: RawSession): City['session'] {
  const { k8s = {}, acp = {} } = session;
  return {
    provider: session.provider ?? '',
    setupTimeoutMs: durationMs(session.setup_timeout) ?? DEFAULTS.setupTimeoutMs,
    nudgeReadyTimeoutMs: durationMs(session.nudge_ready_timeout) ?? DEFAULTS.nudgeReadyTimeoutMs,
    nudgeRetryIntervalMs: durationMs(session.nudge_retry_interval) ?? DEFAULTS.nudgeRetryIntervalMs,
    nudgeLockTimeoutMs: durationMs(session.nudge_lock_timeout) ?? DEFAULTS.nudgeLockTimeoutMs,
    debounceMs: session.debounce_ms ?? DEFAULTS.debounceMs,
    displayMs: session.display_ms ?? DEFAULTS.displayMs,
    startupTimeoutMs: durationMs(session.startup_timeout) ?? DEFAULTS.startupTimeoutMs,
    socket: session.socket ?? '',
    remoteMatch: session.remote_match ?? '',
    k8s: {
      namespace: k8s.namespace || 'gc',
      image: k8s.image ?? '',
      context: k8s.context ?? '',
      cpuRequest: k8s.cpu_request || '500m',
      memRequest: k8s.mem_request || '1Gi',
      cpuLimit: k8s.cpu_limit || '2',
      memLimit: k8s.mem_limit || '4Gi',
      prebaked: k8s.prebaked ?? false,
      serviceAccount: k8s.service_account ?? '',
    },
    acp: {
      handshakeTimeoutMs: durationMs(acp.handshake_timeout) ?? DEFAULTS.acpHandshakeTimeoutMs,
      nudgeBusyTimeoutMs: durationMs(acp.nudge_busy_timeout) ?? DEFAULTS.acpNudgeBusyTimeoutMs,
      outputBufferLines: positive(acp.output_buffer_lines, DEFAULTS.acpOutputBufferLines),
    },
  };
}

function buildOrders(orders: RawOrders): City['orders'] {
  return {
    skip: orders.skip ?? [],
    maxTimeoutMs: durationMs(orders.max_timeout),
    overrides: (orders.overrides ?? []).map((item) =>
      written({
        name: item.name,
        rig: item.rig ?? '',
        enabled: item.enabled,
        gate: item.gate,
        intervalMs: durationMs(item.interval),
        schedule: item.schedule,
        check: item.check,
        on: item.on,
        pool: item.pool,
        timeoutMs: durationMs(item.timeout),
      }),
    ),
  };
}

export function buildSleep(sleep: RawSessionSleep | undefined): SessionSleep {
  return {
    interactiveResume: sleepText(sleep?.interactive_resume),
    interactiveFresh: sleepText(sleep?.interactive_fresh),
    noninteractive: sleepText(sleep?.noninteractive),
  };
}

/** A provider of the file; what it does not say stays absent. */
export function buildProvider(raw: RawProvider): ProviderSpec {
  return written({
    displayName: raw.display_name,
    command: raw.command,
    args: raw.args,
    promptMode: raw.prompt_mode,
    promptFlag: raw.prompt_flag,
    readyDelayMs: raw.ready_delay_ms,
    readyPromptPrefix: raw.ready_prompt_prefix,
    processNames: raw.process_names,
    emitsPermissionWarning: raw.emits_permission_warning,
    env: raw.env,
    pathCheck: raw.path_check,
    supportsAcp: raw.supports_acp,
    acpCommand: raw.acp_command,
    acpArgs: raw.acp_args,
    supportsHooks: raw.supports_hooks,
    instructionsFile: raw.instructions_file,
    resumeFlag: raw.resume_flag,
    resumeStyle: raw.resume_style,
    resumeCommand: raw.resume_command,
    sessionIdFlag: raw.session_id_flag,
    permissionModes: raw.permission_modes,
    optionDefaults: raw.option_defaults,
    optionsSchema: raw.options_schema?.map((option) => ({
      key: option.key,
      label: option.label ?? option.key,
      type: option.type ?? 'select',
      default: option.default ?? '',
      choices: (option.choices ?? []).map((choice) => ({
        value: choice.value,
        label: choice.label ?? choice.value,
        flagArgs: choice.flag_args ?? [],
      })),
    })),
    printArgs: raw.print_args,
    titleModel: raw.title_model,
  });
}
