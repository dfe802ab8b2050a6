/** Signals the process group that a child of ours leads; one that has ended in between is fine. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // the group ended by itself in between
  }
}
