import type { RuntimeConfig } from '../runtime-config.ts';
import type { Launch } from '../terminal/backend.ts';

/**
 * A config as `start` reads it from stdin: compact JSON, the keys in this order, none of them with an empty value,
 * environment variables sorted by name. Source: Gas City exec protocol.
 */
export function startJson(config: RuntimeConfig): string {
  return compact({
    work_dir: config.workDir,
    command: config.command,
    env: sorted(config.env),
    process_names: config.processNames,
    nudge: config.nudge,
    ready_prompt_prefix: config.readyPromptPrefix,
    ready_delay_ms: config.readyDelayMs,
    pre_start: config.preStart,
    session_setup: config.sessionSetup,
    session_setup_script: config.sessionSetupScript,
    session_live: config.sessionLive,
    pack_overlay_dirs: config.packOverlayDirs,
    overlay_dir: config.overlayDir,
    copy_files: config.copyFiles.map(({ src, relDst }) =>
      relDst === '' ? { src } : { src, rel_dst: relDst },
    ),
  });
}

/** What `start` of a script gets that leaves everything but the terminal to us. An empty variable is to be unset. */
export function launchJson(launch: Launch, preStart: readonly string[]): string {
  const unset = launch.unsetEnv.map((key) => [key, '']);
  return compact({
    work_dir: launch.cwd,
    command: commandOf(launch.argv),
    env: sorted({ ...launch.env, ...Object.fromEntries(unset) }),
    pre_start: preStart,
    columns: launch.columns,
    rows: launch.rows,
  });
}

function commandOf(argv: readonly string[]): string {
  const [shell, option, line] = argv;
  if (argv.length === 3 && shell === '/bin/sh' && option === '-c' && line !== undefined) return line;
  return `exec ${argv.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ')}`;
}

function sorted(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function compact(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value))));
}

function isEmpty(value: unknown): boolean {
  if (value === '' || value === 0) return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
