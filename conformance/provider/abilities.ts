/**
 * What a provider may offer beyond running, stopping, listing and keeping metadata, one sentence each for people.
 * A case names what it needs; a provider that does not offer it is not judged by it.
 */
export const ABILITIES = {
  commands: 'runs the command of a config as a program that can write files into its work dir',
  local: 'its programs are processes of this machine, seen by pid, in work dirs of this machine',
  'exact-env': 'a program has the given environment and nothing else; an empty value means unset',
  arguments: 'the first prompt reaches the program as one argument',
  'set-up': 'pre_start, session_setup and session_live commands run in their order',
  overlay: 'the overlay folder is copied into the work dir',
  copy: 'a file can be handed to a running agent',
  'exit-status': 'tells how an agent ended: exit code and last lines',
  'drains-output': 'keeps every byte of a program that prints and ends at once',
  messages: 'a nudge reaches the agent as one message, whole',
  'multi-line': 'a nudge of several lines is one message',
  keys: 'single keys reach the agent',
  interrupts: 'the agent feels an interrupt',
  screen: 'the last lines that an agent showed can be read',
  unwrapped: 'long lines are read as they were printed, not as they were wrapped',
  scrollback: 'what scrolled away can be read',
  terminal: 'the agent has a terminal',
  dialogs: 'known start-up questions are answered',
  questions: 'what an agent asks is told, and an answer reaches it once',
  continues: 'a start that stopped in the middle goes on, what is done is not done again',
  activity: 'tells when an agent last showed something',
  idle: 'can wait until an agent is idle',
  observe: 'tells about every session in one call',
  watch: 'tells deaths as they happen',
  usage: 'tells what each session takes of its machine',
  attach: 'a person can sit down at the agent',
  'env-as-meta': 'the environment of the start can be read as metadata',
  shared: 'another process sees and reaches the same sessions',
} as const satisfies Readonly<Record<string, string>>;

export type Ability = keyof typeof ABILITIES;

/** Every ability, in the order in which people read them. */
export const ALL_ABILITIES: readonly Ability[] = Object.keys(ABILITIES).filter((each): each is Ability =>
  Object.hasOwn(ABILITIES, each),
);
