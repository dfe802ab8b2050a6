import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a request carries the token. Takes the same time however much of it is right. */
export function bearsToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? '';
  return timingSafeEqual(digest(given), digest(token));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
