import { byteSizeText } from '../../platform/bytes.ts';
import type { Agent, City, NamedSession, Rig, Service, SessionSleep } from '../city.ts';
import { shownPath } from '../document/source-document.ts';
import type { ProviderSpec } from '../preset/provider-spec.ts';
import { durationText } from '../schema/duration-text.ts';

/** A table of the file format: its keys in their usual order; `undefined` for what is not set. */
export type Table = Readonly<Record<string, unknown>>;

const time = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : durationText(ms);

export function agentTable(agent: Agent, root: string): Table {
  return {
    name: agent.name,
    binding: agent.binding,
    description: agent.description,
    dir: agent.dir,
    work_dir: agent.workDir,
    scope: agent.scope,
    suspended: agent.suspended,
    pre_start: agent.preStart,
    prompt_template: shownPath(root, agent.promptTemplate),
    nudge: agent.nudge,
    session: agent.session,
    provider: agent.provider,
    start_command: agent.startCommand,
    args: agent.args,
    prompt_mode: agent.promptMode,
    prompt_flag: agent.promptFlag,
    ready_delay_ms: agent.readyDelayMs,
    ready_prompt_prefix: agent.readyPromptPrefix,
    process_names: agent.processNames,
    emits_permission_warning: agent.emitsPermissionWarning,
    pty: agent.pty,
    env: agent.env,
    option_defaults: agent.optionDefaults,
    max_active_sessions: agent.maxActiveSessions,
    min_active_sessions: agent.minActiveSessions,
    scale_check: agent.scaleCheck,
    drain_timeout: time(agent.drainTimeoutMs),
    on_boot: agent.onBoot,
    on_death: agent.onDeath,
    namepool: shownPath(root, agent.namepool),
    work_query: agent.workQuery,
    sling_query: agent.slingQuery,
    idle_timeout: time(agent.idleTimeoutMs),
    sleep_after_idle: agent.sleepAfterIdle,
    install_agent_hooks: agent.installAgentHooks,
    hooks_installed: agent.hooksInstalled,
    session_setup: agent.sessionSetup,
    session_setup_script: shownPath(root, agent.sessionSetupScript),
    session_live: agent.sessionLive,
    overlay_dir: shownPath(root, agent.overlayDir),
    default_sling_formula: agent.defaultSlingFormula,
    inject_fragments: agent.injectFragments,
    inject_assigned_skills: agent.injectAssignedSkills,
    attach: agent.attach,
    fallback: agent.fallback,
    depends_on: agent.dependsOn,
    resume_command: agent.resumeCommand,
    wake_mode: agent.wakeMode,
    worktree: agent.worktree,
  };
}

/** Values that mean the same as an absent key, where that is not emptiness. */
export const AGENT_DEFAULT_VALUES: Table = {
  pty: true,
  drain_timeout: '5m',
  inject_assigned_skills: true,
  attach: true,
  wake_mode: 'resume',
};

export function namedSessionTable(session: NamedSession): Table {
  const name = session.identity.slice(session.dir === '' ? 0 : session.dir.length + 1);
  const template = session.templateQualifiedName.slice(session.dir === '' ? 0 : session.dir.length + 1);
  return {
    name: name === template ? undefined : name,
    template,
    dir: session.dir,
    mode: session.mode,
  };
}

function sleepTable(sleep: SessionSleep): Table {
  return {
    interactive_resume: sleep.interactiveResume,
    interactive_fresh: sleep.interactiveFresh,
    noninteractive: sleep.noninteractive,
  };
}

export function rigTable(rig: Rig): Table {
  return {
    name: rig.name,
    path: rig.path,
    prefix: rig.prefix,
    suspended: rig.suspended,
    formulas_dir: rig.formulasDir,
    max_active_sessions: rig.maxActiveSessions,
    default_sling_target: rig.defaultSlingTarget,
    dolt_host: rig.doltHost,
    dolt_port: rig.doltPort,
    includes: rig.includes,
    imports: Object.fromEntries(
      rig.imports.map(({ binding, source, version }) => [
        binding,
        { source, version: version === '' ? undefined : version },
      ]),
    ),
    session_sleep: sleepTable(rig.sessionSleep),
  };
}

export function serviceTable(service: Service): Table {
  const { visibility, hostname, allowWebsockets } = service.publication;
  return {
    name: service.name,
    kind: service.kind,
    publish_mode: service.publishMode,
    state_root: service.stateRoot,
    publication: { visibility, hostname, allow_websockets: allowWebsockets },
    workflow: service.workflow,
    process: { command: service.process.command, health_path: service.process.healthPath },
  };
}

export function providerTable(spec: ProviderSpec): Table {
  return {
    display_name: spec.displayName,
    command: spec.command,
    args: spec.args,
    prompt_mode: spec.promptMode,
    prompt_flag: spec.promptFlag,
    ready_delay_ms: spec.readyDelayMs,
    ready_prompt_prefix: spec.readyPromptPrefix,
    process_names: spec.processNames,
    emits_permission_warning: spec.emitsPermissionWarning,
    path_check: spec.pathCheck,
    supports_acp: spec.supportsAcp,
    acp_command: spec.acpCommand,
    acp_args: spec.acpArgs,
    supports_hooks: spec.supportsHooks,
    instructions_file: spec.instructionsFile,
    resume_flag: spec.resumeFlag,
    resume_style: spec.resumeStyle,
    resume_command: spec.resumeCommand,
    session_id_flag: spec.sessionIdFlag,
    print_args: spec.printArgs,
    title_model: spec.titleModel,
    env: spec.env,
    permission_modes: spec.permissionModes,
    option_defaults: spec.optionDefaults,
    options_schema: spec.optionsSchema?.map(({ key, label, type, default: initial, choices }) => ({
      key,
      label,
      type,
      default: initial,
      choices: choices.map(({ value, label: shown, flagArgs }) => ({
        value,
        label: shown,
        flag_args: flagArgs,
      })),
    })),
  };
}

/** The tables of a city that stand once, by section. */
export function sectionTables(city: City): Readonly<Record<string, Table>> {
  const { workspace, session, daemon, agentDefaults } = city;
  return {
    workspace: {
      name: workspace.name,
      prefix: workspace.prefix,
      provider: workspace.provider,
      start_command: workspace.startCommand,
      suspended: workspace.suspended,
      max_active_sessions: workspace.maxActiveSessions,
      session_template: workspace.sessionTemplate,
      install_agent_hooks: workspace.installAgentHooks,
      global_fragments: workspace.globalFragments,
      includes: workspace.includes,
      default_rig_includes: workspace.defaultRigIncludes,
    },
    beads: { provider: city.beads.provider },
    session: {
      provider: session.provider,
      setup_timeout: time(session.setupTimeoutMs),
      nudge_ready_timeout: time(session.nudgeReadyTimeoutMs),
      nudge_retry_interval: time(session.nudgeRetryIntervalMs),
      nudge_lock_timeout: time(session.nudgeLockTimeoutMs),
      debounce_ms: session.debounceMs,
      display_ms: session.displayMs,
      startup_timeout: time(session.startupTimeoutMs),
      socket: session.socket,
      remote_match: session.remoteMatch,
      k8s: {
        namespace: session.k8s.namespace,
        image: session.k8s.image,
        context: session.k8s.context,
        cpu_request: session.k8s.cpuRequest,
        mem_request: session.k8s.memRequest,
        cpu_limit: session.k8s.cpuLimit,
        mem_limit: session.k8s.memLimit,
        prebaked: session.k8s.prebaked,
        service_account: session.k8s.serviceAccount,
      },
      acp: {
        handshake_timeout: time(session.acp.handshakeTimeoutMs),
        nudge_busy_timeout: time(session.acp.nudgeBusyTimeoutMs),
        output_buffer_lines: session.acp.outputBufferLines,
      },
    },
    mail: { provider: city.mail.provider },
    events: { provider: city.events.provider },
    dolt: { port: city.dolt.port, host: city.dolt.host },
    formulas: { dir: city.formulas.dir },
    daemon: {
      formula_v2: daemon.formulaV2,
      patrol_interval: time(daemon.patrolIntervalMs),
      max_restarts: daemon.maxRestarts,
      restart_window: time(daemon.restartWindowMs),
      shutdown_timeout: time(daemon.shutdownTimeoutMs),
      wisp_gc_interval: time(daemon.wispGcIntervalMs),
      wisp_ttl: time(daemon.wispTtlMs),
      drift_drain_timeout: time(daemon.driftDrainTimeoutMs),
      answer_timeout: time(daemon.answerTimeoutMs),
      on_answer_timeout: daemon.onAnswerTimeout,
      observe_paths: daemon.observePaths,
      probe_concurrency: daemon.probeConcurrency,
      max_wakes_per_tick: daemon.maxWakesPerTick,
      max_load_per_core: daemon.maxLoadPerCore,
      min_free_memory: byteSizeText(daemon.minFreeMemory),
      memory_per_session: byteSizeText(daemon.memoryPerSession),
    },
    orders: {
      skip: city.orders.skip,
      max_timeout: time(city.orders.maxTimeoutMs),
      overrides: city.orders.overrides.map(({ intervalMs, timeoutMs, ...rest }) => ({
        ...rest,
        ...(intervalMs === undefined ? {} : { interval: durationText(intervalMs) }),
        ...(timeoutMs === undefined ? {} : { timeout: durationText(timeoutMs) }),
      })),
    },
    api: {
      port: city.api.port,
      bind: city.api.bind,
      allow_mutations: city.api.allowMutations,
      ...(city.api.grpc === undefined ? {} : { grpc: city.api.grpc }),
      ...(city.api.registry === undefined ? {} : { registry: city.api.registry }),
      ...(city.api.tokenFile === undefined ? {} : { token_file: city.api.tokenFile }),
    },
    chat_sessions: { idle_timeout: time(city.chatSessions.idleTimeoutMs) },
    session_sleep: sleepTable(city.sessionSleep),
    convergence: { max_per_agent: city.convergence.maxPerAgent, max_total: city.convergence.maxTotal },
    agent_defaults: {
      model: agentDefaults.model,
      wake_mode: agentDefaults.wakeMode,
      default_sling_formula: agentDefaults.defaultSlingFormula,
      allow_overlay: agentDefaults.allowOverlay,
      allow_env_override: agentDefaults.allowEnvOverride,
      append_fragments: agentDefaults.appendFragments,
    },
  };
}

/** Every table of a city but those of agents, with its path: the section, or the place in its list or map. */
export function tablesOf(city: City): readonly (readonly [string, Table])[] {
  const numbered = <T>(name: string, items: readonly T[], tableOf: (item: T) => Table) =>
    items.map((item, index) => [`${name}[${index}]`, tableOf(item)] as const);
  const providers = Object.entries(city.providers);
  return [
    ...Object.entries(sectionTables(city)),
    ...providers.map(([name, spec]) => [`providers.${name}`, providerTable(spec)] as const),
    ...numbered('named_sessions', city.namedSessions, namedSessionTable),
    ...numbered('rigs', city.rigs, rigTable),
    ...numbered('services', city.services, serviceTable),
  ];
}
