import { spawnSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, isAbsolute, join, relative, sep } from 'node:path';

/**
 * The root folder of one container: its own folders (`/tmp`, `/home`, ...), the machine's programs read-only, and the
 * pod's volumes where the manifest wants them. Everything is mounted in a namespace of the container, so nothing is
 * left of it when its last process is gone.
 */
export interface Mount {
  /** On this machine. */
  readonly from: string;
  /** In the container. */
  readonly at: string;
  readonly readOnly: boolean;
}

export interface RootOptions {
  readonly root: string;
  readonly mounts: readonly Mount[];
  /** A copy of `/etc` that the container may change. */
  readonly ownEtc: boolean;
}

/** The machine's own that every container sees. */
const PROGRAMS = ['usr', 'etc', 'opt', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];
const OWN = ['proc', 'sys', 'dev/pts', 'dev/shm', 'tmp', 'home', 'root', 'run', 'var/tmp', 'var/log'];
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
const LINKS: readonly (readonly [string, string])[] = [
  ['dev/ptmx', 'pts/ptmx'],
  ['dev/fd', '/proc/self/fd'],
  ['dev/stdin', '/proc/self/fd/0'],
  ['dev/stdout', '/proc/self/fd/1'],
  ['dev/stderr', '/proc/self/fd/2'],
];
const SHARED = ['tmp', 'var/tmp', 'dev/shm'];
const STICKY = 0o1777;

/** The folder that this machine's Node lives in, when it is not one of the programs' folders. */
const nodePrefix = dirname(dirname(process.execPath));
export const nodeFolder = dirname(process.execPath);

/** Makes the folder and answers the text of its mount table. @throws Error when a mount point cannot be made */
export function prepareRoot(options: RootOptions): string {
  const { root } = options;
  for (const folder of OWN) mkdirSync(join(root, folder), { recursive: true });
  for (const folder of SHARED) chmodSync(join(root, folder), STICKY);
  const lines = [`proc ${escaped(join(root, 'proc'))} proc nosuid 0 0`];
  const bind = (from: string, at: string, flags: string) =>
    lines.push(`${escaped(from)} ${escaped(join(root, at))} none ${flags} 0 0`);
  for (const name of PROGRAMS) {
    const path = `/${name}`;
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink()) symlinkSync(readlinkSync(path), join(root, name));
    else if (name === 'etc' && options.ownEtc) copyEtc(join(root, name));
    else if (entry) {
      mkdirSync(join(root, name));
      bind(path, name, 'bind,ro');
    }
  }
  for (const name of DEVICES) {
    writeFileSync(join(root, 'dev', name), '');
    bind(`/dev/${name}`, `dev/${name}`, 'bind');
  }
  bind('/dev/pts', 'dev/pts', 'bind');
  for (const [at, to] of LINKS) symlinkSync(to, join(root, at));
  const node = isUnderPrograms(nodePrefix) ? [] : [{ from: nodePrefix, at: nodePrefix, readOnly: true }];
  const all = [...node, ...options.mounts].sort((a, b) => a.at.length - b.at.length);
  for (const mount of all) {
    makeMountPoint(root, mount, all);
    bind(mount.from, mount.at, mount.readOnly ? 'bind,ro' : 'bind');
  }
  return `${lines.join('\n')}\n`;
}

/** What only root may read stays out for anybody else. */
function copyEtc(to: string): void {
  const readable = (path: string) => {
    try {
      accessSync(path, constants.R_OK);
      return true;
    } catch {
      return lstatSync(path).isSymbolicLink();
    }
  };
  cpSync('/etc', to, { recursive: true, verbatimSymlinks: true, filter: readable });
}

function makeMountPoint(root: string, mount: Mount, all: readonly Mount[]): void {
  // Inside of another mount, the point is made in what is mounted there.
  const outer = all.filter((other) => other !== mount && isInside(mount.at, other.at)).at(-1);
  const path = outer ? join(outer.from, relative(outer.at, mount.at)) : join(root, mount.at);
  if (!outer && isUnderPrograms(mount.at) && !existsSync(mount.at)) {
    throw new Error(`mountPath ${mount.at}: the image's folder is read-only and has no such folder`);
  }
  if (!outer && isUnderPrograms(mount.at)) return;
  if (lstatSync(mount.from).isDirectory()) mkdirSync(path, { recursive: true });
  else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '', { flag: 'a' });
  }
}

export const isInside = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);

const isUnderPrograms = (path: string): boolean => PROGRAMS.some((name) => isInside(path, `/${name}`));

/** The file on this machine behind a path in the container. */
export function hostPath(root: string, mounts: readonly Mount[], path: string): string {
  const mount = mounts
    .filter((one) => isInside(path, one.at))
    .sort((a, b) => b.at.length - a.at.length)
    .at(0);
  if (mount) return join(mount.from, relative(mount.at, path));
  const ownEtc = isInside(path, '/etc') && existsSync(join(root, 'etc', 'passwd'));
  return isUnderPrograms(path) && !ownEtc ? path : join(root, path);
}

/** As the C library's `fstab` wants it. */
const escaped = (path: string): string =>
  path.replace(/[\s\\]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, '0')}`);

export interface EnterOptions {
  readonly id: string;
  readonly root: string;
  readonly table: string;
  readonly reportTo: string;
  readonly hostName: string;
  readonly workingDir: string;
  readonly tty: boolean;
  readonly user: number | undefined;
  readonly group: number | undefined;
  readonly argv: readonly string[];
}

const tool = (name: string): string => {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? name;
};
const TOOLS = {
  setpriv: tool('setpriv'),
  unshare: tool('unshare'),
  nsenter: tool('nsenter'),
  setsid: tool('setsid'),
  mount: tool('mount'),
};
const isRoot = process.getuid?.() === 0;
/** Nothing outlives the server, however it ends. */
const DIE_WITH_SERVER = [TOOLS.setpriv, '--pdeathsig', 'KILL'];

/**
 * Waits for the namespaces' first process and ends with its code. `unshare --fork` would do the same, but the one of
 * util-linux 2.38 says something of its own and ends with 1 when that process was killed.
 */
const WAIT = 'exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); exit $?';

/**
 * Runs as the first process of the namespaces: learns its number on the machine (the machine's `/proc` is still there),
 * mounts, and goes on into the container's root.
 */
const ENTER = `id=$1 report=$2 table=$3 name=$4 mount=$5; shift 5
IFS=' ' read -r pid rest </proc/self/stat
{ echo "$name" >/proc/sys/kernel/hostname; } 2>/dev/null || hostname "$name"
"$mount" -a -T "$table" || exit 125
exec 3>"$report"
KUBE_REPORT="$id $pid" exec "$@"`;

/** Inside of that root: tells the number, and becomes the container's command. Before this, nobody may enter. */
const REPORT = 'echo "$KUBE_REPORT" >&3; exec 3>&-; unset KUBE_REPORT PWD OLDPWD SHLVL; exec "$@"';

/** The command line that makes a container's namespaces and runs its command as their process 1. */
export function enterArgv(options: EnterOptions): readonly string[] {
  const { id, root, table, reportTo, hostName, workingDir, tty, user, group, argv } = options;
  const namespaces = ['--mount', '--pid', '--uts', ...(isRoot ? [] : ['--map-root-user'])];
  const change = [
    TOOLS.unshare,
    `--root=${root}`,
    `--wd=${workingDir}`,
    ...(group === undefined ? [] : [`--setgid=${group}`]),
    ...(user === undefined ? [] : [`--setuid=${user}`]),
  ];
  const wait = ['/bin/sh', '-c', WAIT, 'wait', ...DIE_WITH_SERVER];
  const script = ['/bin/sh', '-c', ENTER, 'container', id, reportTo, table, hostName, TOOLS.mount];
  const report = ['/bin/sh', '-c', REPORT, 'report'];
  const inside = [...script, ...ownSession(tty), ...change, ...report, ...argv];
  return [...DIE_WITH_SERVER, TOOLS.unshare, ...namespaces, ...wait, ...inside];
}

/** The command line that runs one more command in a container, beside its process 1. */
export function joinArgv(
  pid: number,
  workingDir: string,
  tty: boolean,
  argv: readonly string[],
): readonly string[] {
  const user = isRoot ? [] : ['--user', '--preserve-credentials'];
  const spaces = ['--mount', '--pid', '--uts', '--root', ...user];
  const join = ['--target', String(pid), ...spaces, `--wdns=${workingDir}`];
  return [...DIE_WITH_SERVER, TOOLS.nsenter, ...join, ...ownSession(tty), ...argv];
}

/** The command leads a session of its own; taking the terminal over from the one outside needs root. */
const ownSession = (tty: boolean): readonly string[] => {
  if (tty) return isRoot ? [TOOLS.setsid, '--ctty'] : [];
  return [TOOLS.setsid];
};

/** Why pods cannot be run on this machine; `undefined` when they can. */
export function whyNoPods(): string | undefined {
  const missing = Object.entries(TOOLS).find(([, file]) => !isAbsolute(file));
  if (missing) return `${missing[0]} is not installed`;
  const namespaces = ['--mount', '--pid', '--uts', ...(isRoot ? [] : ['--map-root-user'])];
  const tried = spawnSync(TOOLS.unshare, [...namespaces, TOOLS.mount, '--version']);
  return tried.status === 0 ? undefined : `namespaces cannot be made: ${String(tried.stderr).trim()}`;
}

/** Where a container's PATH finds a program; `undefined` for nowhere. */
export function findProgram(
  name: string,
  path: string,
  toHost: (path: string) => string,
  cwd: string,
): string | undefined {
  const candidates = name.includes('/')
    ? [isAbsolute(name) ? name : join(cwd, name)]
    : path.split(':').map((folder) => join(folder, name));
  return candidates.find((file) => lstatSync(toHost(file), { throwIfNoEntry: false }) !== undefined);
}

/** Is a process still the direct child that it was when its number was told? */
export function isChildOf(pid: number, parent: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
  } catch {
    return false;
  }
}
