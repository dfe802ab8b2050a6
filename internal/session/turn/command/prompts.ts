import {
  type Event,
  EventKind,
  type Message,
  type Part,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { JsonObject } from '../../../protocol/protobuf.ts';
import { CommandError } from './errors.ts';
import { type KnownCall, textOfParts } from './recorded.ts';

/** Of one argument list or result in a text that tells what was done. */
const TOLD_CHARS = 600;
/** Calls that such a text tells of, the newest. */
const TOLD_CALLS = 40;
/** Of an earlier conversation that is carried on as text; its newest part. */
const CARRIED_CHARS = 200_000;

/** The turn's inputs as one text. @throws CommandError `command-unsupported-input` */
export function promptOf(inputs: readonly Message[], harness: string): string {
  return inputs
    .map((input) => input.parts.map((part) => inputText(part, harness)).join('\n'))
    .filter((text) => text !== '')
    .join('\n\n');
}

function inputText({ part }: Part, harness: string): string {
  switch (part.case) {
    case 'text':
      return part.value.text;
    case 'data':
      return JSON.stringify(part.value.data ?? {});
    default:
      throw new CommandError(
        'unsupported-input',
        `harness ${harness} takes texts and data, not a part of kind ${part.case ?? 'none'}`,
        { next: 'put the content into the work directory and name the file in a text' },
      );
  }
}

/** What a program is told when its turn was cut: it must go on, and do nothing twice. */
export function continuationPrompt(calls: Iterable<KnownCall>, original: string | undefined): string {
  const all = [...calls];
  const told = all.slice(-TOLD_CALLS);
  const line = ({ tool, args, result }: KnownCall): string => {
    const how = result ? `${result.isError ? 'failed' : 'done'}: ${short(result.text)}` : '';
    return `- ${tool} ${short(JSON.stringify(args))}${how === '' ? '' : `\n  ${how}`}`;
  };
  const done = told.filter((call) => call.result !== undefined);
  const open = told.filter((call) => call.result === undefined);
  return [
    original === undefined
      ? 'You were interrupted while you worked on my last message. Go on from where you were.'
      : `You were interrupted while you worked on this message. Go on from where you were.\n\n${original}`,
    ...(told.length < all.length ? [`You have made ${all.length} tool calls; these are the last.`] : []),
    ...(done.length === 0 ? [] : [`Done already; do not do it again:\n${done.map(line).join('\n')}`]),
    ...(open.length === 0
      ? []
      : [
          `Begun, and nobody knows how it came out; look before you do it again:\n${open.map(line).join('\n')}`,
        ]),
  ].join('\n\n');
}

/** The conversation so far as a text, for a program that knows nothing of it; '' when there is none. */
export function carriedConversation(history: readonly Event[]): string {
  const told = history.flatMap(toldEvent).join('\n');
  if (told === '') return '';
  const cut = told.length > CARRIED_CHARS;
  const text = cut ? told.slice(-CARRIED_CHARS) : told;
  const head = cut ? 'The end of our conversation so far:' : 'Our conversation so far:';
  return `${head}\n\n${text}\n\nMy next message:\n\n`;
}

function toldEvent({ kind, body }: Event): readonly string[] {
  switch (body.case) {
    case 'message': {
      const text = textOfParts(body.value.parts);
      if (kind === EventKind.EVENT_INPUT) return [`I said: ${text}`];
      return kind === EventKind.EVENT_OUTPUT ? [`You said: ${text}`] : [];
    }
    case 'tool':
      return [`You called ${body.value.tool} ${short(JSON.stringify(argsOf(body.value.args)))}`];
    case 'result':
      return [`It ${body.value.isError ? 'failed' : 'answered'}: ${short(textOfParts(body.value.content))}`];
    default:
      return [];
  }
}

const argsOf = (args: JsonObject | undefined): JsonObject => args ?? {};

function short(text: string): string {
  return text.length <= TOLD_CHARS ? text : `${text.slice(0, TOLD_CHARS)} ... (${text.length} characters)`;
}
