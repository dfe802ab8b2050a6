/** A time as a clock on the wall shows it; months from 0. */
export interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

/** `(Europe/Berlin)`, `(UTC)`, as programs name it; abbreviations such as `PST` mean several zones and count as none. */
export function zoneIn(text: string): string | undefined {
  const name = /\((UTC|GMT|[A-Z][A-Za-z]+(?:\/[A-Z][A-Za-z_+\-0-9]*){1,2})\)/.exec(text)?.[1];
  return name !== undefined && formatOf(name) ? name : undefined;
}

/** @param zone `undefined`: the machine's own */
export function zonedParts(at: number, zone: string | undefined): WallTime {
  const format = zone === undefined ? undefined : formatOf(zone);
  if (!format) {
    const local = new Date(at);
    return {
      year: local.getFullYear(),
      month: local.getMonth(),
      day: local.getDate(),
      hour: local.getHours(),
      minute: local.getMinutes(),
    };
  }
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]));
  const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  return {
    year: of('year'),
    month: of('month') - 1,
    day: of('day'),
    hour: of('hour') % 24,
    minute: of('minute'),
  };
}

/** When a clock in that zone shows this, milliseconds since the epoch. Days beyond the month's end are those of the next one. */
export function zonedTime(wall: WallTime, zone: string | undefined): number {
  const { year, month, day, hour, minute } = wall;
  if (zone === undefined) return new Date(year, month, day, hour, minute).getTime();
  const wanted = Date.UTC(year, month, day, hour, minute);
  let at = wanted;
  // The second step is for a zone that changes its offset in between.
  for (let step = 0; step < 2; step += 1) {
    const seen = zonedParts(at, zone);
    at += wanted - Date.UTC(seen.year, seen.month, seen.day, seen.hour, seen.minute);
  }
  return at;
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
  } catch {
    return undefined; // no zone of that name
  }
}
