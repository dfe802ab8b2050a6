import type { AgentRequests } from './connection.ts';
import { refusal } from './connection.ts';
import type { QuestionBook } from './questions.ts';
import type { Terminals } from './terminals.ts';
import type { TextFiles } from './text-files.ts';

export interface ServedBy {
  readonly questions: QuestionBook;
  readonly files: TextFiles;
  readonly terminals: Terminals;
  /** The turn that a new terminal belongs to. */
  readonly turn: () => number;
}

/** What an agent asks of its client, given to those who do it. */
export function agentRequests({ questions, files, terminals, turn }: ServedBy): AgentRequests {
  return {
    permission: async (params) => {
      const asked = questions.ask(params);
      if ('code' in asked) throw refusal(asked.code, asked.message);
      return { option: await asked };
    },
    readTextFile: ({ path, line, limit }) => files.read(path, line ?? undefined, limit ?? undefined),
    writeTextFile: ({ path, content }) => files.write(path, content),
    createTerminal: (params) => terminals.create(params, turn()),
    terminalOutput: (id) => terminals.output(id),
    terminalExit: (id) => terminals.exit(id),
    killTerminal: (id) => terminals.kill(id),
    releaseTerminal: (id) => terminals.release(id),
  };
}
