import { canonicalJson } from '../../../internal/protocol/canonical-json.ts';
import type {
  Message,
  Part,
  ToolCall,
  ToolResult,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { onePlainLine, plainText } from './plain.ts';

/** A message as a model gets it: who speaks, then what, texts whole. Blocks are apart by a blank line. */
export function conversationText({ role, parts }: Message): string {
  const said = parts.map(partText).filter((text) => text !== '');
  return `${onePlainLine(role)}:\n${said.join('\n')}\n`;
}

function partText({ part }: Part): string {
  switch (part.case) {
    case 'text':
      return plainText(part.value.text).trimEnd();
    case 'toolCall':
      return callText(part.value);
    case 'toolResult':
      return resultText(part.value);
    case 'file': {
      const { name, mime, source } = part.value;
      const where = source.case === 'uri' ? source.value : `${source.value?.length ?? 0} bytes`;
      return `[file ${onePlainLine([name, mime, where].filter((word) => word !== '').join(' '))}]`;
    }
    case 'data':
      return `[data ${onePlainLine(canonicalJson(part.value.data ?? {}))}]`;
    default:
      return part.case === undefined ? '' : `[${part.case}]`;
  }
}

function callText({ id, tool, args }: ToolCall): string {
  return `[call ${onePlainLine(`${id} ${tool} ${canonicalJson(args ?? {})}`)}]`;
}

function resultText({ id, isError, error, content, output, outputUri }: ToolResult): string {
  const head = `[result ${onePlainLine([id, isError ? 'failed' : 'ok', outputUri].filter((word) => word !== '').join(' '))}]`;
  const said = content.map(partText).filter((text) => text !== '');
  const why = isError && said.length === 0 && error !== '' ? [plainText(error).trimEnd()] : [];
  const data = output === undefined ? [] : [plainText(canonicalJson(output))];
  return [head, ...said, ...why, ...data].join('\n');
}
