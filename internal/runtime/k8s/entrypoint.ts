import { StartFailedError } from '../errors.ts';
import { quoteShell } from '../terminal/launch.ts';
import { WORKSPACE } from './path-map.ts';

/** Exists once everything was brought into the workspace. Source: Gas City `k8s` provider. */
export const WORKSPACE_READY = `${WORKSPACE}/.gc-workspace-ready`;
/** Told by the controller: the terminal is being watched, the agent may begin. */
export const GO_FILE = '/tmp/.gc-go';
/** Told by the entrypoint: the agent begins now. */
export const BEGUN_FILE = '/tmp/.gc-begun';
/** Told by the entrypoint: why it will never begin. */
export const FAILED_FILE = '/tmp/.gc-failed';
/** The exit code of an entrypoint that did not come to its agent. */
export const NOT_BEGUN_CODE = 78;

/** A pod whose controller never came back ends by itself. */
const GIVE_UP_SECONDS = 1_800;
const POLL_SECONDS = 0.1;
/** `$SHELL` where the pod has one. */
const DEFAULT_SHELL = '[ -z "$SHELL" ] || exec "$SHELL"; exec /bin/sh';
const USER = /^[a-z_][a-z0-9_-]{0,31}$/i;
/** A single argument of a program is at most 128 KiB, and base64 makes a third more of it. */
export const COMMAND_LIMIT_BYTES = 80_000;

export interface Entrypoint {
  /** The session's name, for commands that ask for it. */
  readonly session: string;
  /** A line of sh; `''`: a shell. */
  readonly commandLine: string;
  /** Run one after the other before the agent; the first that fails ends the pod. */
  readonly preStart: readonly string[];
  /** Each of them may take this long, milliseconds. */
  readonly preStartTimeoutMs: number;
  readonly unset: readonly string[];
  readonly podWorkDir: string;
  /** The image holds the workspace: nothing is waited for. */
  readonly prebaked: boolean;
  /** Run as this user instead of the image's; `''`: as the image says. */
  readonly linuxUser: string;
}

/**
 * What the agent's container runs: it prepares, waits for the word to begin, and becomes the agent, so that the
 * agent's end is the container's. User text is carried in base64, so that no quoting can break.
 * @throws StartFailedError `bad-environment`, `command-too-long`
 */
export function entrypointScript(entry: Entrypoint): string {
  const { linuxUser } = entry;
  if (linuxUser !== '' && !USER.test(linuxUser)) {
    throw new StartFailedError(
      'bad-environment',
      `LINUX_USERNAME ${JSON.stringify(linuxUser)} is no user name`,
    );
  }
  if (Buffer.byteLength(entry.commandLine) > COMMAND_LIMIT_BYTES) {
    throw new StartFailedError(
      'command-too-long',
      `the command is longer than ${COMMAND_LIMIT_BYTES} bytes`,
      {
        next: 'put it into a script in the work dir',
      },
    );
  }
  return [
    `fail() { printf '%s\\n' "$1" > ${FAILED_FILE}; printf '%s\\n' "$1" > /dev/termination-log 2>/dev/null; exit ${NOT_BEGUN_CODE}; }`,
    ...(linuxUser === '' ? [] : userSetup(linuxUser, entry.podWorkDir)),
    'mkdir -p "$HOME/.claude" 2>/dev/null && cp -rL /tmp/claude-secret/. "$HOME/.claude/" 2>/dev/null',
    "git config --global --add safe.directory '*' 2>/dev/null",
    ...(entry.prebaked ? [] : [waitFor(WORKSPACE_READY)]),
    waitFor(GO_FILE),
    `mkdir -p ${quoteShell(entry.podWorkDir)} && cd ${quoteShell(entry.podWorkDir)} || fail ${quoteShell(`the work dir ${entry.podWorkDir} cannot be entered`)}`,
    ...entry.preStart.map((command, index) => preStartStep(entry, command, index)),
    `gc_line=$(printf %s ${base64(entry.commandLine === '' ? DEFAULT_SHELL : entry.commandLine)} | base64 -d)`,
    `: > ${BEGUN_FILE}`,
    ...(entry.unset.length === 0 ? [] : [`unset ${entry.unset.join(' ')}`]),
    linuxUser === '' ? 'exec /bin/sh -c "$gc_line"' : `exec su -s /bin/sh -c "$gc_line" ${linuxUser}`,
  ].join('\n');
}

function waitFor(file: string): string {
  const rounds = Math.round(GIVE_UP_SECONDS / POLL_SECONDS);
  return `gc_n=0; while [ ! -e ${file} ]; do gc_n=$((gc_n+1)); [ $gc_n -lt ${rounds} ] || fail 'nobody came to start the agent'; sleep ${POLL_SECONDS}; done; unset gc_n`;
}

/** A command with everything that it said to stderr, and a watchdog. */
function preStartStep(entry: Entrypoint, command: string, index: number): string {
  const seconds = Math.max(1, Math.ceil(entry.preStartTimeoutMs / 1_000));
  const stderr = '/tmp/.gc-stderr';
  return [
    `printf %s ${base64(command)} | base64 -d > /tmp/.gc-step`,
    `GC_SESSION=${quoteShell(entry.session)} /bin/sh /tmp/.gc-step </dev/null >/dev/null 2>${stderr} & gc_p=$!`,
    `( gc_n=0; while [ $gc_n -lt ${seconds} ]; do sleep 1; gc_n=$((gc_n+1)); done; : > /tmp/.gc-late; kill -9 $gc_p ) >/dev/null 2>&1 & gc_w=$!`,
    'wait $gc_p; gc_code=$?; kill $gc_w 2>/dev/null; wait $gc_w 2>/dev/null',
    `[ ! -e /tmp/.gc-late ] || fail "pre_start[${index}]: no end within ${seconds} s, killed: $(tail -c 1500 ${stderr})"`,
    `[ $gc_code -eq 0 ] || fail "pre_start[${index}]: exit $gc_code: $(tail -c 1500 ${stderr})"`,
    `rm -f /tmp/.gc-step ${stderr}; unset gc_p gc_w gc_code`,
  ].join('\n');
}

function userSetup(user: string, podWorkDir: string): readonly string[] {
  const dir = quoteShell(podWorkDir);
  return [
    `id ${user} >/dev/null 2>&1 || useradd -m -s /bin/bash ${user} || fail 'the user ${user} cannot be made'`,
    `mkdir -p /etc/sudoers.d && printf '%s ALL=(ALL) NOPASSWD:ALL\\n' ${user} > /etc/sudoers.d/${user} && chmod 0440 /etc/sudoers.d/${user}`,
    `mkdir -p ${dir} && chown -R ${user} ${dir}`,
    `export HOME=/home/${user}`,
  ];
}

/** What the controller runs beside the entrypoint: gives the word, and waits until the agent begins or never will. */
export function beginScript(prebaked: boolean, timeoutMs: number): string {
  const rounds = Math.max(1, Math.ceil(timeoutMs / (POLL_SECONDS * 500)));
  return [
    ...(prebaked ? [] : [`: > ${WORKSPACE_READY}`]),
    `: > ${GO_FILE}`,
    'n=0',
    `while [ $n -lt ${rounds} ]; do`,
    `  [ -e ${BEGUN_FILE} ] && exit 0`,
    `  [ -e ${FAILED_FILE} ] && { cat ${FAILED_FILE}; exit ${NOT_BEGUN_CODE}; }`,
    `  n=$((n+1)); sleep ${POLL_SECONDS / 2}`,
    'done',
    "echo 'the agent did not begin in time'; exit 1",
  ].join('\n');
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
