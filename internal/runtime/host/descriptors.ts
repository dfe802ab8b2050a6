import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';

/**
 * What keeps our descriptors out of agents. Node opens its own so that children do not get them; three kinds are not
 * covered: what the host itself inherited, the terminals that node-pty opens, and both when its clean-up in the child
 * stops at the first unused number.
 */
const CLOSE_ON_EXEC = 0o2000000;
const FIRST_BEYOND_STANDARD = 3;

/** Descriptors that a child started by Node would inherit. */
const inheritable = new Set<number>();

/** Closes what the starter of this process left open in it. Only where `/proc` tells; elsewhere nothing is left open. */
export function closeInherited(): void {
  for (const [fd, closesOnExec] of ownDescriptors()) {
    if (!closesOnExec && fd >= FIRST_BEYOND_STANDARD) closeSync(fd);
  }
}

export const noteInheritable = (fd: number): void => {
  inheritable.add(fd);
};
export const forgetInheritable = (fd: number): void => {
  inheritable.delete(fd);
};

/** Runs a fork of node-pty's with no unused number below the inheritable ones: its child closes them up to the first gap. */
export function withoutGaps<T>(fork: () => T): T {
  const highest = Math.max(0, ...inheritable);
  const fillers: number[] = [];
  try {
    for (let fd = 0; fd <= highest; ) {
      fd = openSync('/dev/null', 'r');
      fillers.push(fd);
    }
    return fork();
  } finally {
    for (const fd of fillers) closeSync(fd);
  }
}

/**
 * The command that closes what it would inherit before it becomes the given one: Node has no way to do that in a
 * child. Perl leaves the environment as it is, a shell may add to it; one of them is on every Linux.
 */
export function closingCommand(argv: readonly string[]): readonly string[] {
  if (inheritable.size === 0 || process.platform !== 'linux') return argv;
  const numbers = [...inheritable].join(',');
  if (PERL !== undefined) return [PERL, '-e', PERL_SCRIPT, numbers, ...argv];
  return [SHELL, '-c', SHELL_SCRIPT, SHELL, numbers, ...argv];
}

const PERL_SCRIPT =
  'use POSIX (); POSIX::close($_) for split /,/, shift; exec { $ARGV[0] } @ARGV; print STDERR "$ARGV[0]: $!\\n"; exit 127';
const SHELL_SCRIPT =
  'IFS=,; for n in $1; do eval "exec $n>&-"; done; shift; unset IFS SHLVL OLDPWD; exec "$@"';
const PERL = ['/usr/bin/perl', '/bin/perl', '/usr/local/bin/perl'].find((file) => existsSync(file));
const SHELL = ['/bin/bash', '/usr/bin/bash'].find((file) => existsSync(file)) ?? '/bin/sh';

function ownDescriptors(): readonly (readonly [number, boolean])[] {
  try {
    return readdirSync('/proc/self/fd').flatMap((name) => {
      const flags = /^flags:\s+(\d+)$/m.exec(readInfo(name) ?? '')?.[1];
      return flags === undefined
        ? []
        : [[Number(name), (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0] as const];
    });
  } catch {
    return []; // no /proc on this platform
  }
}

function readInfo(fd: string): string | undefined {
  try {
    return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  } catch {
    return undefined; // the descriptor of the listing itself
  }
}
