/** Small programs that tests run as agents. */

export const sleeper: readonly string[] = ['sleep', '300'];

/** Raw mode, bracketed paste, a prompt, and every byte that it gets in a file. */
export function recorder(logFile: string): readonly string[] {
  return script(`stty raw -echo; printf '\\033[?2004hREADY> '; exec cat > '${logFile}'`);
}

/** The same on the alternate screen. */
export function fullScreenAgent(): readonly string[] {
  return script(`printf 'before\\n'; printf '\\033[?1049h\\033[2J\\033[HFULL> '; exec sleep 300`);
}

/** Ignores everything that can be ignored. */
export const stubborn: readonly string[] = script(
  `trap '' TERM INT HUP; printf 'READY> '; while :; do sleep 1; done`,
);

/** A child that ignores TERM in its own group, and one that left the session; both are written down. */
export function forker(pidFile: string): readonly string[] {
  const inner = `trap "" TERM HUP; echo $$ >> "${pidFile}"; while :; do sleep 1; done`;
  return script(`sh -c '${inner}' & setsid sh -c '${inner}' & printf 'READY> '; wait`);
}

export function script(text: string): readonly string[] {
  return ['/bin/sh', '-c', text];
}
