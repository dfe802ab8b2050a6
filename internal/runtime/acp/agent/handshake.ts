import { fieldsOf } from '../../../platform/fields.ts';
import { type AcpConnection, answeredError, SPOKEN_VERSION } from './connection.ts';
import {
  badAnswer,
  cannotResume,
  conversationLost,
  loginNeeded,
  otherVersion,
  type Phase,
  provesConversationLost,
  RefusedError,
  wrongFolder,
} from './failures.ts';
import { AUTH_REQUIRED } from './rpc-codes.ts';

/** A longer id of a conversation is a mistake. */
const MAX_ID_CHARS = 1_024;
const NAME_CHARS = 200;
const MAX_METHODS = 10;
/** Pages of an agent's list that are looked through for one conversation. */
const MAX_LIST_PAGES = 5;
const CLIENT_NAME = 'gc';

export interface HandshakeWish {
  readonly cwd: string;
  /** `''`: a new one. */
  readonly conversation: string;
  readonly clientVersion: string;
  /** Where our own notes say that the conversation was held. */
  readonly heldIn: string | undefined;
  readonly sameFolder: (one: string, other: string) => boolean;
  /** Whether the agent was given this variable. */
  readonly hasVariable: (name: string) => boolean;
  /** Told before each step. */
  readonly onPhase: (phase: Phase) => void;
  readonly onAgent: (agent: string, resumes: boolean) => void;
}

export interface Opened {
  readonly conversation: string;
  readonly how: 'new' | 'loaded' | 'resumed';
}

interface Agent {
  readonly name: string;
  readonly loads: boolean;
  readonly resumes: boolean;
  readonly lists: boolean;
  readonly logins: readonly Login[];
}

interface Login {
  readonly id: string;
  readonly title: string;
  /** Variables that make it work without a person; none: a person is needed. */
  readonly variables: readonly string[];
}

/** What an agent's own list tells of a conversation. */
type Listed = 'yes' | 'no' | 'unknown';

/** Greets the agent and opens a conversation. @throws GcError of failures.ts; whatever ends the connection */
export async function shakeHands(connection: AcpConnection, wish: HandshakeWish): Promise<Opened> {
  const agent = await greet(connection, wish);
  wish.onAgent(agent.name, agent.loads || agent.resumes);
  if (wish.conversation === '') return openNew(connection, wish, agent);
  return reopen(connection, wish, agent);
}

async function greet(connection: AcpConnection, wish: HandshakeWish): Promise<Agent> {
  const answer = await ask(connection, wish, 'initialize', {
    protocolVersion: SPOKEN_VERSION,
    clientInfo: { name: CLIENT_NAME, title: 'Gas City', version: wish.clientVersion },
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
  });
  const { protocolVersion, agentCapabilities, agentInfo, authMethods } = fieldsOf(answer);
  if (protocolVersion === undefined) throw badAnswer('initialize', 'a protocolVersion');
  if (protocolVersion !== SPOKEN_VERSION) throw otherVersion(protocolVersion, SPOKEN_VERSION);
  const capabilities = fieldsOf(agentCapabilities);
  const session = fieldsOf(capabilities['sessionCapabilities']);
  return {
    name: nameOf(fieldsOf(agentInfo)),
    loads: capabilities['loadSession'] === true,
    resumes: isPresent(session['resume']),
    lists: isPresent(session['list']),
    logins: loginsOf(authMethods),
  };
}

async function openNew(connection: AcpConnection, wish: HandshakeWish, agent: Agent): Promise<Opened> {
  const params = { cwd: wish.cwd, mcpServers: [] };
  const { sessionId } = fieldsOf(await ask(connection, wish, 'session/new', params, agent));
  if (typeof sessionId !== 'string' || sessionId === '' || sessionId.length > MAX_ID_CHARS) {
    throw badAnswer('session/new', `a sessionId (1 to ${MAX_ID_CHARS} characters)`);
  }
  return { conversation: sessionId, how: 'new' };
}

/** Resuming is cheaper than loading, which sends the whole conversation again. */
async function reopen(connection: AcpConnection, wish: HandshakeWish, agent: Agent): Promise<Opened> {
  const { cwd, conversation } = wish;
  if (!agent.loads && !agent.resumes) throw cannotResume(agent.name || 'the agent', conversation);
  if (wish.heldIn !== undefined) checkFolder(wish, wish.heldIn);
  const listed = agent.lists ? await lookUp(connection, wish) : 'unknown';
  const phase = agent.resumes ? 'session/resume' : 'session/load';
  const params = { sessionId: conversation, cwd, mcpServers: [] };
  try {
    await ask(connection, wish, phase, params, agent);
  } catch (error) {
    const answered = error instanceof RefusedError ? error.answered : undefined;
    if (answered && (listed === 'no' || provesConversationLost(answered))) {
      throw conversationLost(conversation, answered);
    }
    throw error;
  }
  return { conversation, how: agent.resumes ? 'resumed' : 'loaded' };
}

/** Some agents load a conversation of another folder without a word. */
function checkFolder(wish: HandshakeWish, folder: string): void {
  if (!wish.sameFolder(folder, wish.cwd)) throw wrongFolder(wish.conversation, folder, wish.cwd);
}

/** `no` only when the whole list was seen. */
async function lookUp(connection: AcpConnection, wish: HandshakeWish): Promise<Listed> {
  wish.onPhase('session/list');
  let cursor: unknown;
  for (let page = 0; page < MAX_LIST_PAGES; page += 1) {
    const params = typeof cursor === 'string' ? { cursor } : {};
    const answer = await connection.request('session/list', params).catch((error: unknown) => {
      if (answeredError(error)) return undefined;
      throw error;
    });
    const { sessions, nextCursor } = fieldsOf(answer);
    if (!Array.isArray(sessions)) return 'unknown';
    const found = sessions.map(fieldsOf).find(({ sessionId }) => sessionId === wish.conversation);
    if (typeof found?.['cwd'] === 'string') checkFolder(wish, found['cwd']);
    if (found) return 'yes';
    if (typeof nextCursor !== 'string' || nextCursor === '') return 'no';
    cursor = nextCursor;
  }
  return 'unknown';
}

/** Asks; an agent that wants a login gets one when its environment alone is enough for it. */
async function ask(
  connection: AcpConnection,
  wish: HandshakeWish,
  phase: Phase,
  params: object,
  agent?: Agent,
): Promise<unknown> {
  wish.onPhase(phase);
  try {
    return await connection.request(phase, params);
  } catch (error) {
    const answered = answeredError(error);
    if (!answered) throw error;
    if (answered.code !== AUTH_REQUIRED) throw new RefusedError(phase, answered);
    const logins = agent?.logins ?? [];
    const login = logins.find(({ variables }) => variables.length > 0 && variables.every(wish.hasVariable));
    if (!login)
      throw loginNeeded(
        answered,
        logins.map(({ title }) => title),
      );
    await ask(connection, wish, 'authenticate', { methodId: login.id });
    // Without the logins: one that does not help is not tried again.
    return ask(connection, wish, phase, params, agent && { ...agent, logins: [] });
  }
}

function nameOf({ name, title, version }: Readonly<Record<string, unknown>>): string {
  const words = [typeof name === 'string' ? name : title, version].filter((word) => typeof word === 'string');
  return words.join(' ').slice(0, NAME_CHARS);
}

function loginsOf(methods: unknown): readonly Login[] {
  if (!Array.isArray(methods)) return [];
  return methods.slice(0, MAX_METHODS).flatMap((method) => {
    const { type, name, id, description, vars } = fieldsOf(method);
    if (typeof id !== 'string') return [];
    const more = typeof description === 'string' && description !== '' ? ` (${description})` : '';
    const title = `${typeof name === 'string' ? name : id}${more}`.slice(0, NAME_CHARS);
    const named = type === 'env_var' && Array.isArray(vars) ? vars.map((one) => fieldsOf(one)['name']) : [];
    return [{ id, title, variables: named.filter((variable) => typeof variable === 'string') }];
  });
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null && value !== false;
