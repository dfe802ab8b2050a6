const PRIME_LINE = '\n\nRun `gc prime` to initialize your context.';

/**
 * The line that makes a session findable in an agent's own list of past conversations:
 * `[CITY] AGENT • 2026-01-31T09:05:00`, in local time. `prime` is for agents without hooks.
 * `startedAt` (milliseconds since the epoch) is taken once per controller: a time that moves would change the command.
 * Source: Gas City startup beacon.
 */
export function formatBeacon(city: string, agent: string, startedAt: number, prime = false): string {
  return `${beaconStart(city, agent)}${localTime(new Date(startedAt))}${prime ? PRIME_LINE : ''}`;
}

/** What every beacon of the agent begins with. */
export function beaconStart(city: string, agent: string): string {
  return `[${city}] ${agent} • `;
}

/** The beacon, a blank line and the rendered prompt; the beacon alone when there is no prompt. */
export function beaconPrompt(beacon: string, prompt: string): string {
  return prompt === '' ? beacon : `${beacon}\n\n${prompt}`;
}

function localTime(at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
