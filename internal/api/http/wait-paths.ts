import { paths } from './wire.ts';

/** Where requests about waits go. */
export const WAIT_PATHS = {
  list: '/v0/waits',
  register: (session: string): string => paths.sessionAction(session, 'wait'),
  one: (id: string): string => `/v0/wait/${encodeURIComponent(id)}`,
  action: (id: string, action: 'cancel' | 'ready'): string => `/v0/wait/${encodeURIComponent(id)}/${action}`,
} as const;
