import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { GcError } from '../platform/errors.ts';
import { type Environment, gcHome } from '../platform/paths.ts';
import { supervisorLogFile } from './supervisor-client.ts';
import { ALREADY_RUNNING_EXIT_CODE } from './supervisor-start.ts';

/** Runs a service manager's program. Rejects when it fails. */
export type RunManager = (argv: readonly string[]) => Promise<void>;

export interface ServiceOptions {
  readonly platform: NodeJS.Platform;
  readonly env: Environment;
  /** Executable and first arguments of the installed program. */
  readonly self: readonly string[];
  readonly run: RunManager;
}

export const SYSTEMD_UNIT = 'gascity-supervisor.service';
export const LAUNCHD_LABEL = 'com.gascity.supervisor';

/** Seconds that a stop may take before the manager kills: the supervisor only lets go of its cities. */
const STOP_LIMIT_S = 30;
const RESTART_PAUSE_S = 2;

interface Service {
  readonly file: string;
  readonly text: string;
  readonly enable: readonly (readonly string[])[];
  readonly disable: readonly (readonly string[])[];
  /** After the file is gone. */
  readonly forget: readonly (readonly string[])[];
}

/** Writes the unit of this user's service manager and starts it. Answers the file. @throws GcError `service-unsupported`, or what the manager said */
export async function installService(options: ServiceOptions): Promise<string> {
  const service = serviceFor(options);
  mkdirSync(dirname(service.file), { recursive: true });
  await writeFileAtomic(service.file, service.text, 0o644);
  for (const argv of service.enable) await options.run(argv);
  return service.file;
}

/** Stops and removes the unit; sessions live on. `undefined` when there is none. */
export async function uninstallService(options: ServiceOptions): Promise<string | undefined> {
  const service = serviceFor(options);
  if (!existsSync(service.file)) return undefined;
  for (const argv of service.disable) await options.run(argv);
  rmSync(service.file, { force: true });
  for (const argv of service.forget) await options.run(argv);
  return service.file;
}

/** The unit's file, whether or not it exists. */
export function serviceFile(options: Pick<ServiceOptions, 'platform' | 'env'>): string | undefined {
  const user = options.env['HOME'] || homedir();
  if (options.platform === 'linux') {
    const config = options.env['XDG_CONFIG_HOME'] || join(user, '.config');
    return join(config, 'systemd', 'user', SYSTEMD_UNIT);
  }
  if (options.platform === 'darwin') return join(user, 'Library', 'LaunchAgents', `${LAUNCHD_LABEL}.plist`);
  return undefined;
}

function serviceFor(options: ServiceOptions): Service {
  const file = serviceFile(options);
  if (file === undefined) {
    throw new GcError('service-unsupported', `no service manager of ${options.platform} is known to gc`, {
      next: 'gc supervisor start, or have your service manager run: gc supervisor run',
    });
  }
  const argv = [...options.self, 'supervisor', 'run'];
  if (options.platform === 'darwin') {
    return {
      file,
      text: renderLaunchdPlist(argv, options.env),
      enable: [['launchctl', 'load', '-w', file]],
      disable: [['launchctl', 'unload', '-w', file]],
      forget: [],
    };
  }
  const systemctl = (...words: string[]) => ['systemctl', '--user', ...words];
  return {
    file,
    text: renderSystemdUnit(argv, options.env),
    enable: [systemctl('daemon-reload'), systemctl('enable', '--now', SYSTEMD_UNIT)],
    disable: [systemctl('disable', '--now', SYSTEMD_UNIT)],
    forget: [systemctl('daemon-reload')],
  };
}

/** What the service needs of the environment it was installed from. */
function serviceEnvironment(env: Environment): readonly (readonly [string, string])[] {
  const kept: [string, string][] = [];
  if (env['PATH']) kept.push(['PATH', env['PATH']]);
  if (env['GC_HOME']) kept.push(['GC_HOME', gcHome(env)]);
  return kept;
}

/**
 * `KillMode=process`: a restart of the unit ends the supervisor alone. The session host and a tmux server that it
 * started stand in the unit's control group and would otherwise be killed with every agent.
 */
export function renderSystemdUnit(argv: readonly string[], env: Environment): string {
  const environment = serviceEnvironment(env).map(
    ([key, value]) => `Environment=${systemdQuote(`${key}=${value}`)}`,
  );
  return `${[
    '[Unit]',
    'Description=Gas City supervisor',
    '',
    '[Service]',
    'Type=exec',
    `ExecStart=${argv.map(systemdArgument).join(' ')}`,
    'ExecReload=/bin/kill -HUP $MAINPID',
    ...environment,
    '# Sessions survive a restart of this unit and are adopted; gc stop is the way to end them.',
    'KillMode=process',
    `TimeoutStopSec=${STOP_LIMIT_S}`,
    'Restart=on-failure',
    `RestartSec=${RESTART_PAUSE_S}`,
    '# Another supervisor of this user runs already.',
    `RestartPreventExitStatus=${ALREADY_RUNNING_EXIT_CODE}`,
    '',
    '[Install]',
    'WantedBy=default.target',
  ].join('\n')}\n`;
}

/** One word of a unit file. `%` would be expanded. */
function systemdQuote(text: string): string {
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('\n', '\\n');
  return `"${escaped}"`;
}

/** In a command line, `$` would be expanded too. */
function systemdArgument(text: string): string {
  return systemdQuote(text).replaceAll('$', '$$$$');
}

/** `AbandonProcessGroup`: launchd ends the supervisor alone and leaves what it started. */
export function renderLaunchdPlist(argv: readonly string[], env: Environment): string {
  const log = supervisorLogFile(gcHome(env));
  const environment = serviceEnvironment(env).map(
    ([key, value]) => `    <key>${xml(key)}</key>\n    <string>${xml(value)}</string>`,
  );
  return `${[
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0">',
    '<dict>',
    `  <key>Label</key>\n  <string>${LAUNCHD_LABEL}</string>`,
    '  <key>ProgramArguments</key>',
    '  <array>',
    ...argv.map((word) => `    <string>${xml(word)}</string>`),
    '  </array>',
    '  <key>EnvironmentVariables</key>',
    '  <dict>',
    ...environment,
    '  </dict>',
    '  <key>RunAtLoad</key>\n  <true/>',
    '  <key>KeepAlive</key>',
    '  <dict>\n    <key>SuccessfulExit</key>\n    <false/>\n  </dict>',
    '  <key>AbandonProcessGroup</key>\n  <true/>',
    `  <key>ExitTimeOut</key>\n  <integer>${STOP_LIMIT_S}</integer>`,
    `  <key>StandardErrorPath</key>\n  <string>${xml(log)}</string>`,
    '</dict>',
    '</plist>',
  ].join('\n')}\n`;
}

function xml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
