import { parseHookInput } from '../../../internal/agent/hooks/work-answer.ts';
import type { Message } from '../../../internal/beads/message.ts';
import { cityRuntimeDir, clearTurnFlag } from '../../../internal/controller/turn-flags.ts';
import { quickStdin } from '../city/agent-words.ts';
import { cityInForce } from '../city/city-in-force.ts';
import type { Context } from '../context.ts';
import type { MailRoom } from './mail-room.ts';
import type { Mailbox } from './mailbox.ts';
import { mailReminder } from './text.ts';

/** The city's own state under which it is remembered what a session was told. */
const TOLD_KEY = 'mail.told.';

/** `life`: the conversation that was told; another one knows nothing of it. */
interface Told {
  readonly life: string;
  readonly ids: readonly string[];
}

/**
 * Tells the agent whose turn it is of its unread mail, each message once per conversation, and takes its flag down when
 * there is none. `session`: whose turn it is, `''` when nobody's: then everything is told.
 */
export async function tellMail(room: MailRoom, box: Mailbox, session: string): Promise<void> {
  const { context } = room;
  const unread = await room.messages.unread(box.names);
  if (unread.length === 0) return session === '' ? undefined : settle(room, box, session);
  const hook = parseHookInput(await quickStdin(context));
  const life = `${context.env['GC_INSTANCE_TOKEN'] ?? ''} ${hook?.sessionId ?? ''}`;
  if (session !== '' && knows(await told(room, session), life, unread)) return;
  if (await isCitySuspended(context)) return;
  if (hook?.event !== 'Stop') context.out.write(mailReminder(unread));
  else if (hook.continued) return;
  else context.out.write(`${JSON.stringify({ decision: 'block', reason: mailReminder(unread) })}\n`);
  if (session !== '') await remember(room, session, { life, ids: unread.map(({ id }) => id) });
}

/** In the configuration, or by the environment. */
export async function isCitySuspended(context: Context): Promise<boolean> {
  if (context.env['GC_SUSPENDED'] === '1') return true;
  return (await cityInForce(context))?.workspace.suspended === true;
}

async function settle(room: MailRoom, box: Mailbox, session: string): Promise<void> {
  const runtimeDir = room.context.env['GC_CITY_RUNTIME_DIR'] || cityRuntimeDir(room.store.root);
  await clearTurnFlag(runtimeDir, session, 'mail');
  // What was sent after the look raised the flag before it was taken down.
  if ((await room.messages.unread(box.names)).length > 0) await room.raise({ ...box, sessionName: session });
  if (await told(room, session)) await remember(room, session, undefined);
}

function knows(before: Told | undefined, life: string, unread: readonly Message[]): boolean {
  return before?.life === life && unread.every(({ id }) => before.ids.includes(id));
}

async function told({ store }: MailRoom, session: string): Promise<Told | undefined> {
  const text = await store.db.state(TOLD_KEY + session);
  return text === '' ? undefined : (JSON.parse(text) as Told);
}

async function remember({ store }: MailRoom, session: string, told: Told | undefined): Promise<void> {
  await store.db.commit({ state: { [TOLD_KEY + session]: told ? JSON.stringify(told) : '' } });
}
