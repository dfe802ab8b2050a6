import { GcError } from '../../platform/errors.ts';
import type { WireAcpQuestion } from '../host/protocol.ts';
import type { InteractionResponse, PendingInteraction } from '../provider.ts';

/** What an agent asks, in the words of the contract. Options are named as the agent names them. */
export function interactionOf(question: WireAcpQuestion, alsoOpen: number): PendingInteraction {
  const { id, kind, title, detail, options, tool, input } = question;
  return {
    request_id: id,
    kind: kind === 'permission' ? 'approval' : kind,
    prompt: detail === '' ? title : `${title}\n${detail}`,
    options: options.map((option) => option.name),
    metadata: {
      source: 'acp',
      tool_name: tool ?? title,
      tool_input: input ?? title,
      ...(input === undefined ? { tool_input_cut: 'true' } : {}),
      option_kinds: options.map((option) => option.kind).join(','),
      asked_at: new Date(question.askedAt).toISOString(),
      ...(alsoOpen > 0 ? { also_open: String(alsoOpen) } : {}),
    },
  };
}

/** An answer for the host: without an option it is taken back. */
export interface Choice {
  readonly option: string | undefined;
}

/**
 * The answer that an action means: `approve`, `approve_always` (and `approve_accept_edits`), `deny`, `cancel`, an
 * option's number, id or name. `approve` never allows more than this once; a denial that is not offered takes the
 * question back. @throws GcError `unknown-action`
 */
export function choiceFor(question: WireAcpQuestion, action: string): Choice {
  const { options } = question;
  const ofKind = (kind: string) => options.find((option) => option.kind === kind);
  const named = (): Choice => {
    const option =
      options[Number(action) - 1] ??
      options.find(({ id }) => id === action) ??
      options.find(({ name }) => name === action) ??
      options.find(({ name }) => name.toLowerCase() === action.trim().toLowerCase());
    if (option) return { option: option.id };
    const choices = options.map(({ name }, index) => `${index + 1} ${name}`).join(', ');
    throw new GcError('unknown-action', `unknown action "${action}"`, { next: `answer one of: ${choices}` });
  };
  switch (action) {
    case 'approve': {
      const once = ofKind('allow_once');
      return once ? { option: once.id } : named();
    }
    case 'approve_always':
    case 'approve_accept_edits': {
      const always = ofKind('allow_always');
      return always ? { option: always.id } : named();
    }
    case 'deny':
      return { option: (ofKind('reject_once') ?? ofKind('reject_always'))?.id };
    case 'cancel':
      return { option: undefined };
    default:
      return named();
  }
}

/** The open question that a response is for: the one it names, else the oldest. */
export function questionFor(
  open: readonly WireAcpQuestion[],
  response: InteractionResponse,
): WireAcpQuestion | undefined {
  return response.request_id ? open.find(({ id }) => id === response.request_id) : open[0];
}
